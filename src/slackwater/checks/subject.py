"""What a check is given, and how it runs a kernel: whole, in pieces, with ticks and restarts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.kernel import Kernel, Out
from slackwater.core.times import event_times

__all__ = ["KINDS", "Row", "Rows", "Subject", "collect", "cut", "paused", "run", "shifted",
           "without"]

Row = dict[str, Any]
Rows = dict[str, list[Row]]
KINDS = ("ready", "late", "quarantined")
WHEN = ("_reason", "_released")


@dataclass(frozen=True)
class Subject:
    """A kernel, a stream for it, and which columns mean what (see `yield_checks`)."""

    kernel: Kernel
    events: pa.RecordBatch
    key: str | None
    row: str | None
    time: str | None
    arrival: str | None
    state_limit: int
    forgets: int

    def times(self, column: str, events: pa.RecordBatch | None = None) -> list[int]:
        """A column of times in microseconds; what cannot be read is 0."""
        events = self.events if events is None else events
        return event_times(events[column], unit="us", name=column)[0].tolist()

    def key_values(self) -> list[Any]:
        """The values of the key column."""
        return [] if self.key is None else pc.unique(self.events[self.key]).to_pylist()

    def of_key(self, value: Any) -> pa.RecordBatch:
        """The events of one key."""
        return self.events.filter(pc.equal(self.events[self.key], value))

    def span(self) -> int:
        """How long the stream is, on the arrival clock if there is one."""
        values = self.times(self.arrival or self.time or self.events.schema.names[0])
        known = [v for v in values if v]
        return int(np.quantile(known, 0.99) - min(known)) + 1_000_000

    def far(self) -> int:
        """A moment so long after the last arrival that nothing need be waited for."""
        assert self.arrival is not None
        return max(self.times(self.arrival)) + self.forgets


def collect(outs: Iterable[Out]) -> Rows:
    """All rows that left, by kind, as plain values."""
    outs = list(outs)
    return {kind: [r for out in outs for r in getattr(out, kind).to_pylist()] for kind in KINDS}


def run(kernel: Kernel, batches: Iterable[pa.RecordBatch]) -> list[Out]:
    """Push the batches, then finish."""
    logic = kernel.start()
    return [*(logic.push(batch) for batch in batches), logic.finish()]


def cut(events: pa.RecordBatch, size: int) -> list[pa.RecordBatch]:
    """The events in batches of `size`."""
    return [events.slice(at, size) for at in range(0, events.num_rows, size)]


def without(rows: Iterable[Row], *names: str) -> Iterator[Row]:
    """The rows without some columns."""
    for row in rows:
        yield {name: value for name, value in row.items() if name not in names}


def paused(events: pa.RecordBatch, pause: int) -> pa.RecordBatch:
    """The stream with a pause of so many microseconds in the middle."""
    half = events.num_rows // 2
    return pa.concat_batches([events.slice(0, half), shifted(events.slice(half), pause)])


def shifted(events: pa.RecordBatch, by: int, **replaced: pa.Array) -> pa.RecordBatch:
    """The same stream, `by` microseconds later, with some columns replaced."""
    columns = []
    for field, column in zip(events.schema, events.columns, strict=True):
        if field.name in replaced:
            column = replaced[field.name]
        elif pa.types.is_timestamp(field.type):
            column = pc.add(column.cast(pa.int64()), by).cast(field.type)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=events.schema)
