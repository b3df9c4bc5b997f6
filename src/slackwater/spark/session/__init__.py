"""The Spark that the rest runs on: the session and its settings, Java, and Python's own processes.

Enters: what is installed.  Leaves: a session.  May import: nothing else of `spark` but the settings
that `sources` need.
"""
