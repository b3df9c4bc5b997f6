"""The gateway: events come in over HTTP and MQTT, are stamped, and stay in a durable log.

Enters: requests and messages with JSON events.  Leaves: a log folder that any process can read by
record numbers (`LogReader`), or records at a broker, and an answer that means "kept".  May import:
errors and durations; no Spark.  HTTP and MQTT need the extra ``slackwater[gateway]``; reading a log
does not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slackwater.gateway.keep import Limits
    from slackwater.gateway.log import Log
    from slackwater.gateway.places import Place
    from slackwater.gateway.read import LogReader
    from slackwater.gateway.store import Appended, Backlogged, LogFailed

__all__ = ["Appended", "Backlogged", "Limits", "Log", "LogFailed", "LogReader", "Place"]

_HOME = {"Appended": "store", "Backlogged": "store", "LogFailed": "store", "Limits": "keep",
         "Log": "log", "LogReader": "read", "Place": "places"}


def __getattr__(name: str) -> Any:
    # the process that checks bodies imports this package for its rules alone; numpy and Arrow
    # would make it five times as large
    if name not in _HOME:
        raise AttributeError(f"module 'slackwater.gateway' has no attribute {name!r}")
    return getattr(importlib.import_module(f"slackwater.gateway.{_HOME[name]}"), name)
