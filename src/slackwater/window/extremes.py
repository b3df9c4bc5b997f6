"""MIN and MAX where there is one group: only the values that can still become one are kept.

A value that a later one beats can never be the extreme again, so what is kept falls from the oldest
to the newest (for MAX): a queue of some ln(rows) values where `stacks` keeps every row's.  It
lies in a ring, and pages of the ring that changed are written at a snapshot.

References
----------
Lemire: Streaming Maximum-Minimum Filter Using No More than Three Comparisons per Element. Nordic J.
of Computing 13, 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state import Table
from slackwater.window.aggregate import Aggregate
from slackwater.window.lane import numbers, read_only, typed
from slackwater.window.schedule import Probes
from slackwater.window.stacks import PAGE_BITS

__all__ = ["Extremes"]


class Extremes:
    """A `Lane` for nothing but MIN and MAX over one column, of all rows together.

    Parameters
    ----------
    name
        Prefix of its tables in the store.
    kind
        The column's type.
    aggregates
        What is asked of it.
    """

    def __init__(self, name: str, kind: pa.DataType, aggregates: Sequence[Aggregate]) -> None:
        self.name, self._kind = name, kind
        self._asked = [a.function for a in aggregates]
        self._dtype = np.float64 if pa.types.is_floating(kind) else np.int64
        self._queues = {f: _Queue(f"{name}/{f}", self._dtype) for f in sorted(set(self._asked))}

    @staticmethod
    def suits(aggregates: Sequence[Aggregate], group: tuple[str, ...]) -> bool:
        """Whether these aggregates of one column can be had from it."""
        return not group and all(a.function in ("min", "max") for a in aggregates)

    def run(self, group: NDArray[np.int64], groups: int, time: NDArray[np.int64],
            column: pa.Array | None, skip: NDArray[np.bool_], probes: Probes) -> list[pa.Array]:
        """Take in rows (but not those to skip) and answer probes: one array an aggregate."""
        assert column is not None
        value, missing = numbers(column)
        skip = skip | missing if missing is not None else skip
        found: dict[str, pa.Array] = {}
        for function, queue in self._queues.items():
            out, empty = queue.run(read_only(time), read_only(value), skip, probes,
                                   function == "max")
            found[function] = typed(pa.array(out, mask=empty if empty.any() else None), self._kind)
        return [found[function] for function in self._asked]

    @property
    def size(self) -> int:
        """How many values are kept."""
        return max(queue.size for queue in self._queues.values())

    def save(self, store: Store) -> dict[str, Any]:
        """Write the pages that changed; the result is what `load` needs."""
        return {function: queue.save(store) for function, queue in self._queues.items()}

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        """Read what `save` wrote."""
        for function, queue in self._queues.items():
            queue.load(store, meta[function])


class _Queue:
    """A ring of times and values; `ends` is where its first stands, and how many there are."""

    def __init__(self, name: str, dtype: Any) -> None:
        self._ring = Table(name, {"time": np.int64(0), "value": dtype(0)})
        self._ring.grow(1 << PAGE_BITS)  # always a power of two: places are found by a mask
        self._ends = np.zeros(2, np.int64)
        self._dirty = np.zeros(1, bool)

    @property
    def size(self) -> int:
        return int(self._ends[1])

    def run(self, time: NDArray[np.int64], value: NDArray[Any], skip: NDArray[np.bool_],
            probes: Probes, greatest: bool) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        out = np.zeros(len(probes.at), value.dtype)
        empty = np.zeros(len(probes.at), bool)
        row = probe = 0
        while True:
            row, probe = _run(row, probe, time, value, skip, probes.at, probes.low,
                              self._ring["time"], self._ring["value"], self._ends, self._dirty,
                              greatest, out, empty)
            if row == len(time) and probe == len(probes.at):
                return out, empty
            self._grow()

    def _grow(self) -> None:
        old = self._ring.rows
        order = (self._ends[0] + np.arange(old)) & (old - 1)
        columns = {c: self._ring[c][order] for c in ("time", "value")}
        self._ring.grow(2 * old)
        for c, data in columns.items():
            self._ring[c][:old] = data
        self._ends[0] = 0
        self._dirty = np.ones(2 * old >> PAGE_BITS, bool)

    def save(self, store: Store) -> list[int]:
        self._ring.touch(np.flatnonzero(self._dirty) << PAGE_BITS)
        self._dirty[:] = False
        return [self._ring.save(store), *self._ends.tolist()]

    def load(self, store: Store, meta: list[int]) -> None:
        self._ring.load(store, meta[0])
        self._ends[:] = meta[1:]
        self._dirty = np.zeros(self._ring.rows >> PAGE_BITS, bool)


@njit(cache=True, nogil=True)
def _run(row: int, probe: int, time: NDArray[np.int64], value: NDArray[Any],
         skip: NDArray[np.bool_], at: NDArray[np.int64], low: NDArray[np.int64],
         ring_time: NDArray[np.int64], ring_value: NDArray[Any], ends: NDArray[np.int64],
         dirty: NDArray[np.bool_], greatest: bool, out: NDArray[Any],
         empty: NDArray[np.bool_]) -> tuple[int, int]:
    """Go through rows and probes; returns those that come next: all are done, or the ring is full.
    """
    rows, probes, mask = len(time), len(at), len(ring_time) - 1
    first, stop = ends[0], ends[0] + ends[1]
    while True:
        while probe < probes and at[probe] <= row:
            oldest = low[probe]
            while first < stop and ring_time[first & mask] < oldest:
                first += 1
            if first < stop:
                out[probe] = ring_value[first & mask]
            else:
                empty[probe] = True
            probe += 1
        if row == rows:
            break
        if not skip[row]:
            new = value[row]
            if greatest:
                while first < stop and ring_value[(stop - 1) & mask] <= new:
                    stop -= 1
            else:
                while first < stop and ring_value[(stop - 1) & mask] >= new:
                    stop -= 1
            if stop - first > mask:
                break
            here = stop & mask
            ring_time[here], ring_value[here] = time[row], new
            dirty[here >> PAGE_BITS] = True
            stop += 1
        row += 1
    ends[0], ends[1] = first & mask, stop - first
    return row, probe
