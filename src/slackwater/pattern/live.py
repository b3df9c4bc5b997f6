"""The live events of a matcher in memory: columns for the compiled loops, payload for the output.

A row is an index; rows stand in arrival order.  Everything here is derived from the held events, so
a snapshot need not contain it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.pattern.loop import build
from slackwater.pattern.schedule import Plan
from slackwater.pattern.stacks import Events, Pool, Stacks

__all__ = ["Live"]

Int64 = NDArray[np.int64]
_CHUNKS = 64


class Live:
    """Columns of events that grow, and the stacks over them."""

    def __init__(self, plan: Plan, lanes: int) -> None:
        self._plan, self._lanes = plan, lanes
        self.cleared = 0
        """How often it was: partitions are numbered anew each time."""
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.cleared += 1
        self.rows = 0
        self._room = 0
        self._int = {name: np.empty(0, np.int64)
                     for name in ("time", "seq", "n", "stream", "part", "mask", "due", "much")}
        self._tied = np.zeros(0, bool)
        self._value = np.empty((self._lanes, 0), np.int64)
        self._known = np.empty((self._lanes, 0), bool)
        self._chunks: list[pa.RecordBatch] = []
        self.pool = Pool(self._plan.stacks)

    def __getitem__(self, name: str) -> Int64:
        return self._int[name][: self.rows]

    def append(self, *, time: Int64, seq: Int64, n: Int64, stream: Int64, part: Int64, mask: Int64,
               value: Int64, known: NDArray[np.bool_], payload: pa.RecordBatch) -> None:
        """Add rows, in arrival order; `run` or `rebuild` puts them into the stacks."""
        first, rows = self.rows, self.rows + len(time)
        if rows > self._room:
            self._grow(max(rows, 2 * self._room, 1024))
        given = {"time": time, "seq": seq, "n": n, "stream": stream, "part": part, "mask": mask}
        for name, values in given.items():
            self._int[name][first:rows] = values
        self._int["due"][first:rows] = np.iinfo(np.int64).min
        self._int["much"][first:rows] = 0
        self._tied[first:rows] = False
        self._value[:, first:rows], self._known[:, first:rows] = value, known
        if payload.num_rows:
            self._chunks.append(payload)
        self.rows = rows

    def _grow(self, room: int) -> None:
        for name, old in self._int.items():
            self._int[name] = np.empty(room, np.int64)
            self._int[name][: self.rows] = old[: self.rows]
        tied, value, known = self._tied, self._value, self._known
        self._tied = np.zeros(room, bool)
        self._tied[: self.rows] = tied[: self.rows]
        self._value = np.empty((self._lanes, room), np.int64)
        self._value[:, : self.rows] = value[:, : self.rows]
        self._known = np.empty((self._lanes, room), bool)
        self._known[:, : self.rows] = known[:, : self.rows]
        self._room = room

    def events(self) -> Events:
        """What the loops take."""
        return Events(self._int["time"], self._int["seq"], self._int["n"], self._value,
                      self._value.view(np.float64), self._known, self._tied)

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Rows that may have an equal."""
        return self._tied[: self.rows]

    def reserve(self, parts: int, first: int) -> Stacks:
        """Room in the stacks for the rows from `first` on."""
        return self.pool.reserve(parts, self["part"][first:], self["mask"][first:])

    def rebuild(self, parts: int) -> None:
        """Make the stacks out of all rows."""
        self.pool = Pool(self._plan.stacks)
        st = self.reserve(parts, 0)
        order = np.lexsort((self["n"], self["seq"], self["time"], self["part"]))
        build(order, self["part"], self["mask"], self._plan, self.events(), st, True)

    def payload(self, rows: Int64) -> pa.RecordBatch:
        """The user's columns of some rows."""
        if len(self._chunks) > _CHUNKS:
            self._chunks = [pa.concat_batches(self._chunks)]
        if len(self._chunks) == 1:
            return self._chunks[0].take(pa.array(rows))
        taken = pa.Table.from_batches(self._chunks).take(pa.array(rows)).combine_chunks()
        batches = taken.to_batches()
        return batches[0] if batches else self._chunks[0].slice(0, 0)

    def longest(self) -> int:
        """No match among the events that there is room for is longer than this."""
        kleene = self._plan.kleene
        rooms = self.pool.room.reshape(-1, self._plan.stacks)
        if self._plan.shaped:  # a node may come again, and unwanted rows have room, too
            return max(self._plan.m, int(rooms.sum(axis=1).max(initial=0)))
        if not kleene.any():
            return self._plan.m
        rooms = rooms[:, : self._plan.m]
        return self._plan.m + int(rooms[:, kleene].sum(axis=1).max(initial=0))
