"""Held rows in sorted blocks, and what is handed out of them.

A block is a sorted piece of at most some megabytes, a blob of its own in the store (two if it is
large: its columns slot, time and arrival number are read without the rest).  A run is one or more
blocks that follow each other in the order of (slot, time, arrival number).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.state.ipc import empty_rows, joined
from slackwater.core.state.sorted_rows import (
    Ranges,
    cursors,
    directory,
    expand,
    first_times,
    merge,
    successive,
)

__all__ = ["Block", "Held", "Part", "Run", "Sorted", "handed_out"]

Int64 = NDArray[np.int64]
ROW_BYTES = 24  # slot, time and arrival number


class Sorted:
    """The rows of a block in memory."""

    def __init__(self, slot: Int64, time: Int64, n: Int64,
                 payload: pa.RecordBatch | Callable[[], pa.RecordBatch],
                 order: Int64 | None = None) -> None:
        self.slots, self.starts = directory(slot)
        self.cursor = self.starts[:-1].copy()
        self.time, self.n = time, n
        self._payload = payload
        self.order = order
        """Which row of the payload each row is; None if they stand in the same order."""

    def __len__(self) -> int:
        return len(self.time)

    @property
    def live(self) -> int:
        """How many rows have not left."""
        return int((self.starts[1:] - self.cursor).sum())

    @property
    def payload(self) -> pa.RecordBatch:
        """The user's columns, which are read when they are first wanted."""
        if not isinstance(self._payload, pa.RecordBatch):
            self._payload = self._payload()
        return self._payload

    def slot(self) -> Int64:
        """The slot of each row."""
        return np.repeat(self.slots, np.diff(self.starts))

    def leave_out(self, gone: NDArray[np.bool_]) -> None:
        """Note which rows have left before."""
        self.cursor = cursors(self.starts, gone)

    def first(self) -> int:
        """The least time of the rows that have not left."""
        return int(first_times(self.starts, self.cursor, self.time))

    def in_order(self) -> pa.RecordBatch:
        """The payload in the order of the rows."""
        if self.order is not None:
            self._payload, self.order = self.payload.take(pa.array(self.order)), None
        return self.payload


@dataclass(eq=False)
class Block:
    """A sorted piece of a run, in memory or not."""

    total: int
    live: int
    first: int
    """No live row has a smaller time."""
    last: int
    """No row has a greater time."""
    low: int
    high: int
    """The least and the greatest slot."""
    nbytes: int
    serial: int = 0
    """Number of its blob; 0: it is not in the store."""
    apart: bool = False
    """The payload has a blob of its own."""
    rows: Sorted | None = None
    left: int = 0
    """How many rows have left since `first` was right."""
    replaced: bool = False

    @staticmethod
    def of(rows: Sorted) -> Block:
        """A block that is only in memory."""
        return Block(len(rows), len(rows), rows.first(), int(rows.time.max()), int(rows.slots[0]),
                     int(rows.slots[-1]), rows.payload.nbytes + ROW_BYTES * len(rows), rows=rows)

    @property
    def live_bytes(self) -> int:
        """About how many bytes the rows take that have not left."""
        return self.nbytes * self.live // self.total


@dataclass(eq=False)
class Run:
    """Blocks, one after the other."""

    blocks: list[Block]

    @property
    def live(self) -> int:
        """How many rows have not left."""
        return sum(block.live for block in self.blocks)

    @property
    def total(self) -> int:
        """How many rows its blocks have."""
        return sum(block.total for block in self.blocks)

    @property
    def live_bytes(self) -> int:
        """About how many bytes the rows take that have not left."""
        return sum(block.live_bytes for block in self.blocks)


@dataclass(frozen=True)
class Part:
    """Rows that were asked for in one block."""

    block: Block
    rows: Sorted
    entry: Int64
    low: Int64
    high: Int64


@dataclass(frozen=True)
class Held:
    """Held rows in columns, in the order of (slot, time, n)."""

    slot: Int64
    time: Int64
    n: Int64
    schema: pa.Schema = field(repr=False)
    parts: list[Part] = field(repr=False)
    place: Int64 = field(repr=False)
    """Where each row is in its block."""
    ranges: Int64 = field(repr=False)
    """The range each row is of, counted over all parts."""

    def __len__(self) -> int:
        return len(self.time)

    def payload(self, index: Int64) -> pa.RecordBatch:
        """The user's columns of the rows at `index`, in that order."""
        if len(index) == 0:
            return empty_rows(self.schema)
        if len(self.parts) == 1:
            return _take(self.parts[0].rows, self.place[index])
        ends = np.cumsum([len(part.entry) for part in self.parts])
        source = np.searchsorted(ends, self.ranges[index], side="right")
        place = self.place[index]
        if sum(len(part.rows) for part in self.parts) <= 4 * len(index):  # one copy of all is less
            starts = np.cumsum([0, *(len(part.rows) for part in self.parts)])
            for s, part in enumerate(self.parts):
                if part.rows.order is not None:
                    mine = source == s
                    place[mine] = part.rows.order[place[mine]]
            return joined([part.rows.payload for part in self.parts]).take(
                pa.array(place + starts[source]))
        by_source = np.argsort(source, kind="stable")
        taken, at = [], 0
        for s, count in enumerate(np.bincount(source, minlength=len(self.parts)).tolist()):
            if count:
                taken.append(_take(self.parts[s].rows, place[by_source[at:at + count]]))
            at += count
        back = np.empty_like(by_source)
        back[by_source] = np.arange(len(by_source))
        together = joined(taken)
        return together if len(taken) == 1 else together.take(pa.array(back))


def _take(rows: Sorted, place: Int64) -> pa.RecordBatch:
    if rows.order is not None:
        place = rows.order[place]
    payload = rows.payload
    if successive(place):
        return payload.slice(int(place[0]), len(place))
    return payload.take(pa.array(place))


def handed_out(found: list[tuple[Block, Ranges]], schema: pa.Schema) -> Held:
    """The rows of ranges of several blocks, merged."""
    parts = []
    for block, (entry, low, high) in found:
        assert block.rows is not None
        if len(entry):
            parts.append(Part(block, block.rows, entry, low, high))
    if len(parts) == 1 and (parts[0].low[1:] == parts[0].high[:-1]).all():
        # a piece of memory as it stands
        rows, begin, end = parts[0].rows, int(parts[0].low[0]), int(parts[0].high[-1])
        sizes = parts[0].high - parts[0].low
        return Held(np.repeat(rows.slots[parts[0].entry], sizes), rows.time[begin:end],
                    rows.n[begin:end], schema, parts, np.arange(begin, end),
                    np.repeat(np.arange(len(sizes)), sizes))
    counts = [int((part.high - part.low).sum()) for part in parts]
    bounds = np.cumsum([0, *counts])
    columns = [np.empty(bounds[-1], np.int64) for _ in range(5)]
    first_range = 0
    for k, part in enumerate(parts):
        span = slice(bounds[k], bounds[k + 1])
        expand(part.rows.slots, part.rows.time, part.rows.n, part.entry, part.low, part.high,
               *(column[span] for column in columns), first_range)
        first_range += len(part.entry)
    if len(parts) > 1:
        order = merge(*columns[:3], bounds)
        columns = [column[order] for column in columns]
    slot, time, n, place, ranges = columns
    return Held(slot, time, n, schema, parts, place, ranges)
