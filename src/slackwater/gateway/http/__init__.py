"""HTTP in front of a store, as little of it as is needed, with a limit on everything.

Enters: connections.  Leaves: events in the store, and answers that mean that they are kept there.

``head`` reads a request's head, ``body`` its body, ``connection`` the bytes of one connection,
``crowd`` knows all connections, ``room`` shares out memory and time, ``tls`` encrypts, and
``routes`` says what is done about a request.
"""
