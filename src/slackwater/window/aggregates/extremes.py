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
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.kernel import Store
from slackwater.window.aggregate import Aggregate
from slackwater.window.aggregates.arena import PAGE_BITS, Paged
from slackwater.window.aggregates.values import as_numbers, number_type, read_only, typed
from slackwater.window.schedule import Probes

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
        self._dtype = number_type(kind)
        self._queues = {f: _Queue(f"{name}/{f}", self._dtype) for f in sorted(set(self._asked))}

    @staticmethod
    def suits(aggregates: Sequence[Aggregate]) -> bool:
        """Whether these aggregates of one column can be had from it."""
        return all(a.function in ("min", "max") for a in aggregates)

    def run(self, group: NDArray[np.int64], groups: int, time: NDArray[np.int64],
            column: pa.Array | None, skip: NDArray[np.bool_], probes: Probes) -> list[pa.Array]:
        """Take in rows (but not those to skip) and answer probes: one column per aggregate."""
        assert column is not None
        value, missing = as_numbers(column)
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
        self._ring = Paged(name, {"time": np.int64(0), "value": dtype(0)})
        self._ring.resize(1 << PAGE_BITS)  # always a power of two: places are found by a mask
        self._ends: NDArray[np.int64] = np.zeros(2, np.int64)

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
                              self._ring["time"], self._ring["value"], self._ends, self._ring.dirty,
                              greatest, out, empty)
            if row == len(time) and probe == len(probes.at):
                return out, empty
            self._resize(2 * self._ring.rows)

    def _resize(self, rows: int) -> None:
        """Have so many places, with what is kept at the beginning."""
        order = (self._ends[0] + np.arange(self._ends[1])) & (self._ring.rows - 1)
        columns = {c: self._ring[c][order] for c in ("time", "value")}
        self._ring.resize(rows)
        for c, data in columns.items():
            self._ring[c][:len(order)] = data
        self._ends[0] = 0
        self._ring.dirty[:] = True

    def save(self, store: Store) -> dict[str, Any]:
        if self._ring.rows > 1 << PAGE_BITS and 8 * self._ends[1] < self._ring.rows:
            self._resize(max(1 << PAGE_BITS, 1 << int(2 * self._ends[1]).bit_length()))
        used: NDArray[np.bool_] = np.zeros(self._ring.rows, bool)
        used[(self._ends[0] + np.arange(self._ends[1])) & (self._ring.rows - 1)] = True
        return {"ring": self._ring.save(store, used), "ends": self._ends.tolist()}

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        self._ring.load(store, meta["ring"])
        self._ends[:] = meta["ends"]


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
