"""The steps that a pipeline can have, each with its options.

The options are the keyword arguments of the operators in `slackwater.spark`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slackwater.synchronise import METHODS

__all__ = ["COLUMN_ROLES", "KINDS", "OPTIONS", "OUTCOMES", "PASSED_ON", "Step", "StreamName"]

KINDS = ("dedupe", "reorder", "synchronise", "query", "correlate", "sql")
"""The names by which a step says what it does; each names its input or holds its text."""

OUTCOMES = ("ready", "late", "quarantined")

PASSED_ON = ("dedupe", "reorder", "synchronise")
"""Steps whose results are rows of their input, as they came."""

COLUMN_ROLES = ("time", "arrival", "source", "sequence", "type", "time_min", "time_max",
                "watermark")
"""Options that name a column of the input."""

_UNITS = ("s", "ms", "us", "ns")
_ROLES = {"time": "key", "arrival": "key", "source": "key", "sequence": "key", "unit": _UNITS}
_RUN = {"quiet": "maybe_duration", "shards": "count"}
_INTERVALS: dict[str, Any] = {
    "by": "keys", "time_min": "key", "time_max": "key", "arrival": "key", "unit": _UNITS,
    "distribution": "text", "max_delay": "duration", "shortest": "duration", "longest": "duration",
    "shards": "count"}

OPTIONS: dict[str, dict[str, Any]] = {
    "dedupe": {"by": "keys", "within": "duration", "time": "key", "arrival": "key", "unit": _UNITS,
               "max_future_skew": "duration", **_RUN},
    "reorder": {"policy": "policy", **_ROLES, "by": "keys", "scope": "keys",
                "max_future_skew": "duration", "max_delay": "maybe_duration", "align": "flag",
                **_RUN},
    "synchronise": {"source": "key", "time": "key", "arrival": "key", "by": "keys",
                    "sources": "texts", "max_delay": "maybe_duration", "max_failures": "count",
                    "blame": ("missing", "producer"), "method": tuple(METHODS),
                    "unit": _UNITS, "max_future_skew": "duration", **_RUN},
    "select": {**_ROLES, "by": "keys", "slack": "duration", "policy": "policy", **_RUN},
    "recognise": {**_ROLES, "by": "keys", "slack": "duration", "policy": "policy",
                  "max_future_skew": "duration", **_RUN},
    "event": {"from": "stream", **_ROLES, "type": "key", "by": "keys", "slack": "slack",
              "emit": ("final", "eager"), "timed_out": ("furthest", "all"),
              "select": ("skip_till_any", "skip_till_next", "strict", "branching"),
              "max_matches": "count", "max_future_skew": "duration", **_RUN},
    "pairs": _INTERVALS,
    "correlate": {"within": "duration", "deadline": "duration", "delay": "duration",
                  "confidence": "share", **_INTERVALS, "horizon": "duration",
                  "probability": "flag"},
    "sql": {"watermark": "key"},
}
"""By what a step is (a query is select, recognise, event or pairs), its options and what they hold.

A tuple lists the values that an option may have; a word is a kind of value (see `option`).
"""


@dataclass(frozen=True)
class StreamName:
    """A stream as a pipeline names it: ``clean``, ``clean.late`` or ``clean.quarantined``.

    Examples
    --------
    >>> StreamName.parse("clean.late"), str(StreamName("clean", "ready"))
    (StreamName(node='clean', outcome='late'), 'clean')
    """

    node: str
    outcome: str = "ready"

    @classmethod
    def parse(cls, text: str) -> StreamName:
        """Read a name."""
        node, dot, outcome = text.partition(".")
        return cls(node, outcome if dot else "ready")

    def __str__(self) -> str:
        return self.node if self.outcome == "ready" else f"{self.node}.{self.outcome}"


@dataclass(frozen=True)
class Step:
    """One step.

    Parameters
    ----------
    name
        The name of its stream.
    kind
        ``dedupe``, ``reorder``, ``synchronise``, ``select``, ``recognise`` (MATCH_RECOGNIZE),
        ``event``, ``pairs`` (a query over two streams), ``correlate`` or ``sql``.
    inputs
        The streams that it reads.
    text
        Of a query or of SQL.
    options
        As the file gives them, checked.
    ordered
        Whether all of its input comes in the order of its time (see `slackwater.pipeline.order`).
    """

    name: str
    kind: str
    inputs: tuple[StreamName, ...]
    text: str | None
    options: Mapping[str, Any]
    ordered: bool = False

    @property
    def has_outcomes(self) -> bool:
        """Whether it tells ready rows from late and quarantined ones."""
        return self.kind != "sql"

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns that it keeps apart."""
        return () if self.options.get("align") else tuple(self.options.get("by", ()))
