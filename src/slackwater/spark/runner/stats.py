"""What a step did in a micro-batch, in numbers, told beside its rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.events import event_times
from slackwater.core.names import ADDED
from slackwater.dedupe import Dedupe
from slackwater.pipeline.brief import brief_rows
from slackwater.reorder import Reorder
from slackwater.spark.runner.operator_spec import OperatorSpec
from slackwater.synchronise.config import Synchroniser

__all__ = ["Stats", "merged_stats"]

_POINTS = 101         # of the latencies, evenly by rank
_MOST_SOURCES = 2000  # producers counted one by one
_MOST_RESULTS = 5     # windows, matches or pairs that a shard shows of each micro-batch


class Stats:
    """Counts the rows of one step; of reorder and synchronise also how long they took."""

    def __init__(self, spec: OperatorSpec) -> None:
        kernel = spec.kernel
        self._roles = kernel.roles if isinstance(kernel, (Reorder, Synchroniser)) else None
        # the results of these are rows of their input, and no news
        self._shows = not isinstance(kernel, (Reorder, Synchroniser, Dedupe))
        self._results: list[Any] = []
        self._counts = {"ready": 0, "late": 0, "quarantined": 0}
        self._latency: list[Any] = []
        self._waited, self._of = 0.0, 0
        self._said: dict[str, int] = {}
        self._producers: dict[str, dict[str, int]] = {"producers": {}, "late_producers": {}}

    def add(self, status: str, rows: pa.RecordBatch) -> None:
        """Count rows."""
        self._counts[status] += rows.num_rows
        if self._shows and status == "ready":
            self._results = [*self._results, *brief_rows(rows, _MOST_RESULTS, ADDED)][
                -_MOST_RESULTS:]
        roles = self._roles
        if roles is None:
            return
        if status != "quarantined":  # of those nobody knows when they came
            released = rows.column("_released").cast(pa.int64()).to_numpy(zero_copy_only=False)
            self._most("clock", released)
        if status == "ready":
            time, usable = event_times(rows.column(roles.time), unit=roles.unit, name=roles.time)
            self._latency.append((released - time)[usable])
            self._most("watermark", time[usable])
            if roles.arrival is not None:
                arrival, usable = event_times(rows.column(roles.arrival), unit=roles.unit,
                                              name=roles.arrival)
                self._waited += float((released - arrival)[usable].sum())
                self._of += int(usable.sum())
        if roles.source is not None:
            self._count("producers", rows.column(roles.source))
            if status == "late":
                self._count("late_producers", rows.column(roles.source))

    def text(self) -> str | None:
        """The numbers as JSON; None: nothing happened."""
        if not any(self._counts.values()):
            return None
        said: dict[str, Any] = {**self._counts, **self._said}
        waits = np.sort(np.concatenate([np.zeros(0, np.int64), *self._latency]))
        if len(waits):
            at = np.linspace(0, len(waits) - 1, _POINTS).round().astype(int)
            said["latency"] = waits[at].tolist()
        if self._of:
            said["waited"], said["of"] = self._waited, self._of
        for name, found in self._producers.items():
            if found:
                most = sorted(found.items(), key=lambda one: -one[1])[:_MOST_SOURCES]
                said[name] = dict(most)
        if self._results:
            said["results"] = self._results
        return json.dumps(said)

    def _most(self, name: str, values: Any) -> None:
        if len(values):
            most = int(values.max())
            self._said[name] = max(self._said.get(name, most), most)

    def _count(self, name: str, column: pa.Array) -> None:
        found = self._producers[name]
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        for one in pc.value_counts(column.cast(pa.string())).to_pylist():
            if one["values"] is not None:
                found[one["values"]] = found.get(one["values"], 0) + one["counts"]


def merged_stats(told: list[dict[str, Any]], quantiles: tuple[float, ...]) -> dict[str, Any]:
    """The numbers of all shards as one.

    Examples
    --------
    >>> one = {"ready": 2, "late": 0, "quarantined": 0, "latency": [1.0, 3.0]}
    >>> merged_stats([one, one], (0.5,))["latency"]
    [1.0]
    """
    out: dict[str, Any] = {name: sum(s[name] for s in told)
                           for name in ("ready", "late", "quarantined")}
    for name in ("clock", "watermark"):
        found = [s[name] for s in told if name in s]
        if found:
            out[name] = max(found)
    of = sum(s.get("of", 0) for s in told)
    if of:
        out["buffer"] = sum(s.get("waited", 0.0) for s in told) / of
    points = [(value, s["ready"] / len(s["latency"])) for s in told
              for value in s.get("latency", ())]
    if points:
        points.sort()
        reached = np.cumsum([weight for _, weight in points])
        at = np.searchsorted(reached, np.array(quantiles) * reached[-1])
        out["latency"] = [points[min(int(i), len(points) - 1)][0] for i in at]
    for name in ("producers", "late_producers"):
        counts: dict[str, int] = {}
        for s in told:
            for who, count in s.get(name, {}).items():
                counts[who] = counts.get(who, 0) + count
        if counts:
            out[name] = counts
    return out
