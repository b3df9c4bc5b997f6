"""Clocks and watermarks of the streams: which rows are late, and what is known to be complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from slackwater.core.errors import DataError
from slackwater.core.events import NEVER, Roles
from slackwater.core.kernel import Store
from slackwater.core.state import KeyTable, Table
from slackwater.reorder.policy import NO_SEQUENCE, Arrivals, Policy

__all__ = ["FOREVER", "Clocks", "Passed", "sequence_numbers"]

Int64 = NDArray[np.int64]
FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Passed:
    """What a batch did to the clocks; one entry a row."""

    stream: Int64
    mark: Int64  # the stream's watermark after the row
    late_by: Int64  # how far the row is behind it, 0 if it is not late
    arrival: Int64


class Clocks:
    """Per stream: the greatest arrival, the watermark, and the policy's estimate of the slack."""

    def __init__(self, roles: Roles, policy: Policy) -> None:
        self._roles, self._policy = roles, policy
        self._estimator = policy.estimator()
        self.keys = KeyTable("streams", roles.key)
        self._marks = Table("marks", {"clock": np.int64(NEVER), "mark": np.int64(NEVER),
                                      "seen": np.int64(0)})
        self._sources = (KeyTable("sources", (*roles.key, roles.source))
                         if policy.needs_source and roles.source else None)
        self._elapsed = 0

    @property
    def mark(self) -> Int64:
        """The watermark of each stream: no event with a time less than it is accepted any more."""
        return self._marks["mark"]

    @property
    def clock(self) -> Int64:
        """The greatest arrival of each stream."""
        return self._marks["clock"]

    def advance(self, rows: pa.RecordBatch, time: Int64, arrival: Int64) -> Passed:
        """See rows, in arrival order."""
        stream = self.keys.codes(rows)
        self._marks.grow(len(self.keys))
        self._marks.touch(stream)
        self._marks["seen"][stream] = self._elapsed
        derive = self._roles.arrival is None
        arrival = np.array(time if derive else arrival)
        _follow(arrival, stream, self._marks["clock"], derive)
        source = sequence = None
        if self._sources is not None:
            source = self._sources.codes(rows)
        if self._policy.needs_source and self._roles.sequence:
            sequence = sequence_numbers(rows.column(self._roles.sequence))
        theta, _ = self._estimator.advance(Arrivals(
            time, arrival, stream, len(self.keys), source, sequence,
            None if self._sources is None else self._sources.part(-1)))
        mark, late_by = np.empty_like(time), np.zeros_like(time)
        _raise(np.array(theta), stream, time, self._marks["mark"], mark, late_by)
        return Passed(stream, mark, late_by, arrival)

    def pass_time(self, now: Int64) -> None:
        """Let each stream reach its own `now` (NEVER: not this one)."""
        if len(now) == 0:
            return
        theta = np.where(now == NEVER, NEVER, self._estimator.thresholds(now))
        self._raise_to(theta)

    def end(self) -> None:
        """Nothing comes any more."""
        self._raise_to(np.full(self._marks.rows, FOREVER))

    def _raise_to(self, theta: Int64) -> None:
        mark = self._marks["mark"]
        self._marks.touch(np.flatnonzero(theta > mark))
        np.maximum(mark, theta, out=mark)

    def elapse(self, passed: int) -> None:
        """Count real time."""
        self._elapsed += passed

    def silent(self, quiet: int) -> Int64:
        """For `pass_time`: the now of streams that were silent for `quiet` of real time."""
        silence, clock = self._elapsed - self._marks["seen"], self._marks["clock"]
        return np.where((silence >= quiet) & (clock != NEVER), clock + silence, NEVER)

    def every(self, now: int) -> Int64:
        """For `pass_time`: the same now for all."""
        return np.full(self._marks.rows, now)

    def save(self, store: Store) -> dict[str, Any]:
        """Write what changed."""
        return {"keys": self.keys.save(store), "marks": self._marks.save(store),
                "sources": None if self._sources is None else self._sources.save(store),
                "estimator": self._estimator.save(store), "elapsed": self._elapsed}

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        """Read what `save` wrote."""
        self.keys.load(store, meta["keys"])
        self._marks.load(store, meta["marks"])
        if self._sources is not None:
            self._sources.load(store, meta["sources"])
        self._estimator.load(store, meta["estimator"])
        self._elapsed = meta["elapsed"]


def sequence_numbers(column: pa.Array) -> Int64:
    """Sequence numbers as int64; NULL is the smallest."""
    if not pa.types.is_integer(column.type) and not pa.types.is_null(column.type):
        raise DataError("the sequence column holds no whole numbers", step="sequence",
                        expected="integers", got=column.type,
                        hint="leave the role out if the producers do not number their events")
    return np.array(pc.fill_null(column.cast(pa.int64(), safe=False), NO_SEQUENCE))


@njit(cache=True)
def _follow(arrival: Int64, stream: Int64, clock: Int64, derive: bool) -> None:
    """Keep each stream's greatest arrival; without an arrival column it *is* the arrival."""
    for j in range(len(arrival)):
        k = stream[j]
        if arrival[j] > clock[k]:
            clock[k] = arrival[j]
        if derive:
            arrival[j] = clock[k]


@njit(cache=True)
def _raise(theta: Int64, stream: Int64, time: Int64, marks: Int64, mark: Int64,
           late_by: Int64) -> None:
    for j in range(len(theta)):
        k = stream[j]
        if theta[j] > marks[k]:
            marks[k] = theta[j]
        mark[j] = marks[k]
        if time[j] < marks[k]:
            late_by[j] = marks[k] - time[j]
