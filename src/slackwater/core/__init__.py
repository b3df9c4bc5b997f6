"""What every stage stands on: time, events, errors, the kernel protocol, and how state is kept.

Enters: Arrow record batches.  Leaves: numpy columns for the stages, and `Out` for their users.
May import: nothing of Slackwater outside this package.
"""
