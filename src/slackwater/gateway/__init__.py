"""The gateway: events come in over HTTP and MQTT, are stamped, and stay in a durable log.

Enters: requests and messages with JSON events.  Leaves: a log folder that any process can read by
record numbers (`LogReader`), and an answer that means "on the disk".  May import: errors and
durations; no Spark.  HTTP and MQTT need the extra ``slackwater[gateway]``; reading a log does not.
"""

from __future__ import annotations

from slackwater.gateway.log import Appended, Backlogged, Limits, Log, LogFailed
from slackwater.gateway.places import Place
from slackwater.gateway.read import LogReader

__all__ = ["Appended", "Backlogged", "Limits", "Log", "LogFailed", "LogReader", "Place"]
