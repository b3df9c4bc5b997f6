"""Run a matcher over arrivals, cut and restarted as one likes, and count what stands at the end."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pyarrow as pa

from slackwater.core.kernel import MemoryStore
from slackwater.pattern import Match

SCHEMA = pa.schema([("time", pa.int64()), ("arrival", pa.int64()), ("type", pa.string()),
                    ("id", pa.int64()), ("v", pa.int64()), ("w", pa.float64()),
                    ("name", pa.string()), ("seq", pa.int64())])


def batch(events: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{f.name: e.get(f.name) for f in schema} for e in events],
                                      schema)


def content(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(k) for k in ("time", "type", "id", "v", "w", "name", "seq"))


def chain(events: dict[str, Any]) -> Any:
    return tuple((variable, tuple(map(content, rows if isinstance(rows, list)
                                      else [] if rows is None else [rows])))
                 for variable, rows in events.items())


class Tally:
    """Adds up matches and retractions, and sees that they make sense."""

    def __init__(self) -> None:
        self.standing: dict[str, Any] = {}
        self.log: list[tuple[str, str]] = []
        self.timed_out: dict[str, Any] = {}
        self.late = 0

    def add(self, out: Any) -> None:
        for row in out.ready.to_pylist():
            self.log.append((row["op"], row["match_id"]))
            if row["op"] == "timed_out":
                assert row["match_id"] not in self.timed_out, "told twice"
                self.timed_out[row["match_id"]] = chain(row["events"])
            elif row["op"] == "+":
                assert row["match_id"] not in self.standing, "told twice"
                self.standing[row["match_id"]] = chain(row["events"])
            else:
                assert self.standing.pop(row["match_id"]) == chain(row["events"])
        self.late += out.late.num_rows

    def counts(self) -> Counter[Any]:
        return Counter(self.standing.values())


def run(kernel: Match, events: list[dict[str, Any]], cuts: list[int] = (),  # type: ignore[assignment]
        restarts: bool = False, schema: pa.Schema = SCHEMA) -> Tally:
    """Push the events in the given order, in batches that end at `cuts`."""
    tally = Tally()
    store = MemoryStore()
    logic = kernel.start(store)
    bounds = sorted({0, *[c for c in cuts if c < len(events)], len(events)})
    for i, (lo, hi) in enumerate(pairwise(bounds)):
        tally.add(logic.push(batch(events[lo:hi], schema)))
        if restarts:
            if i % 2:
                logic = kernel.restore(logic.snapshot(), store)
            else:  # what the store had at the snapshot must do, whatever happens afterwards
                saved, copy = logic.snapshot(), MemoryStore(store)
                store = copy
                logic = kernel.restore(saved, copy)
    tally.add(logic.finish())
    return tally
