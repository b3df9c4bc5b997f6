"""The gateway: events come in over HTTP and MQTT, are stamped, and stay in a durable log.

Enters: requests and messages with JSON events.  Leaves: a log folder that any process can read by
record numbers (`LogReader`), or records at a broker, and an answer that means "kept".  May import:
errors and durations; no Spark.  HTTP and MQTT need the extra ``slackwater[gateway]``; reading a log
does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.core.lazy import lazy

if TYPE_CHECKING:
    from slackwater.gateway.keep import Limits
    from slackwater.gateway.log import Log
    from slackwater.gateway.places import Place
    from slackwater.gateway.read import LogReader
    from slackwater.gateway.store import Appended, Backlogged, LogFailed

__all__ = ["Appended", "Backlogged", "Limits", "Log", "LogFailed", "LogReader", "Place"]

# the process that checks bodies imports this package for its rules alone; numpy and Arrow would
# make it five times as large
__getattr__ = lazy(__name__, {
    "Appended": "store", "Backlogged": "store", "LogFailed": "store", "Limits": "keep",
    "Log": "log", "LogReader": "read", "Place": "places"})
