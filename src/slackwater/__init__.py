"""Slackwater: event streams that arrive late, out of order, from many sources, put right on Spark.

The way of an event::

    source ──▶ synchronise ──▶ reorder ──┬──▶ window      (SELECT … [RANGE, SLIDE, DRATIO])
                                         ├──▶ pattern     (EVENT SEQ(…) WHERE … WITHIN …)
                                         ├──▶ correlate   (|@A − @B| ≤ d with confidence)
                                         └──▶ any Spark operator, watermark delay zero
                                                   └──▶ sink

Everything here works in-process on Arrow batches; `slackwater.spark` carries it onto Spark
Structured Streaming.  On a frame (pandas, polars, DuckDB, Arrow) each is a call, which gives back
the same kind with ``late`` and ``quarantined`` beside it::

    ordered = slackwater.reorder(df, "Tide(loss=0.1%)", time="time", source="device")
    peaks = slackwater.query(df, "SELECT MAX(temp) AS peak FROM s [RANGE 1 minute]")
    found = slackwater.match(df, "EVENT SEQ(A a, B b) WITHIN 5 seconds")

`slackwater.reorder` and the others that are called so are packages too (see
`slackwater.core.callable_module`): ``from slackwater.reorder import Tide`` works as ever.
Importing this package does not import pyspark, nor compile anything: what is named below is loaded
when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slackwater.core.errors import SlackwaterError
    from slackwater.core.events import Roles
    from slackwater.core.kernel import Kernel, Out
    from slackwater.frames import correlate, match, query, reorder, synchronise
    from slackwater.reorder import Reorder

__version__ = "0.1.0"

__all__ = ["Kernel", "Out", "Reorder", "Roles", "SlackwaterError", "correlate", "match", "query",
           "reorder", "synchronise"]

_HOME = {
    "SlackwaterError": "core.errors",
    "Roles": "core.events",
    "Kernel": "core.kernel",
    "Out": "core.kernel",
    "Reorder": "reorder",
    "match": "frames",
}
_CALLABLE = ("correlate", "query", "reorder", "synchronise")


def __getattr__(name: str) -> Any:
    # Spark's workers import this package for packing alone; they should not load numba for it
    if name in _CALLABLE:
        return importlib.import_module(f"slackwater.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'slackwater' has no attribute {name!r}")
    return getattr(importlib.import_module(f"slackwater.{_HOME[name]}"), name)
