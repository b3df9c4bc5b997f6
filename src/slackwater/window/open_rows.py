"""Rows that wait for their result, by group: those of the group's newest time.

The rows lie in runs; a group's rows are chained, newest first, so that taking them reads the runs
that they lie in and nothing of other groups.  Runs of like size are merged, and a run of which
half has gone is written anew, so that there are few and small ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state import Table
from slackwater.core.state.ipc import ipc_batch, ipc_bytes, joined
from slackwater.window.aggregates.arena import Arena, Free, claim, release
from slackwater.window.compiled import uncounted

__all__ = ["OpenRows"]

Int64 = NDArray[np.int64]
_MANY = 8  # so many runs of like size are merged


@dataclass
class _Run:
    """Rows, and for each the place that says where it lies; both None until they are needed."""

    total: int
    live: int
    place: Int64 | None
    rows: pa.RecordBatch | None


class _Places(NamedTuple):
    """For each waiting row: its run, its number in it, and the group's row before it (−1: none)."""

    run: Int64
    row: Int64
    before: Int64


class _Found(NamedTuple):
    """Rows of groups: which of the groups it is, and where the row lies."""

    which: Int64
    run: Int64
    row: Int64


class OpenRows:
    """The waiting rows of one logic.

    Parameters
    ----------
    name
        Prefix of its blobs in the store.
    store
        Where runs go at a snapshot, and come from when a group of theirs is taken.
    """

    def __init__(self, name: str, store: Store) -> None:
        self.name, self._store = name, store
        self._groups = Table(f"{name}/groups", {"newest": np.int64(-1)})
        self._places = Arena(f"{name}/places", dict.fromkeys(_Places._fields, np.int64(-1)))
        self._runs: dict[int, _Run] = {}
        self._written: set[int] = set()
        self._serial = 0

    def __len__(self) -> int:
        return self._places.count

    def add(self, groups: int, group: Int64, rows: pa.RecordBatch) -> None:
        """Let rows wait, in the order of their arrival; `groups` is how many groups there are."""
        self._groups.grow(groups)
        if len(group) == 0:
            return
        self._groups.touch(group)
        while self._places.rows - self._places.count < len(group):
            self._places.grow()
        self._serial += 1
        place = np.empty(len(group), np.int64)
        _chain(group, self._serial, self._groups["newest"], self._columns(), self._places.free,
               place)
        self._runs[self._serial] = _Run(len(group), len(group), place, rows)
        self._merge()

    def take(self, groups: Int64) -> tuple[Int64, pa.RecordBatch]:
        """The waiting rows of these groups, which wait no more, in the order of their arrival.

        For each row also where its group stands in `groups`.  The rows come group by group.  Each
        group must have one.
        """
        self._groups.touch(groups)
        found = _Found(*(np.empty(self._places.count, np.int64) for _ in _Found._fields))
        count = _unchain(groups, self._groups["newest"], self._columns(), self._places.free, found)
        which, run, row = (a[:count] for a in found)
        serials = np.unique(run).tolist()
        parts, order = [], []
        for serial in serials:
            mine = np.flatnonzero(run == serial)
            parts.append(self._read(serial).take(pa.array(row[mine])))
            order.append(mine)
            self._runs[serial].live -= len(mine)
        self._tidy(serials)
        if len(parts) == 1:
            return which, parts[0]
        back = np.empty(len(which), np.int64)
        back[np.concatenate(order)] = np.arange(len(which))
        return which, joined(parts).take(pa.array(back))

    def save(self) -> dict[str, Any]:
        """Write what changed; the result is what `load` needs."""
        for serial in self._written - self._runs.keys():
            self._store.drop(f"{self.name}/{serial}")
        for serial in self._runs.keys() - self._written:
            run = self._runs[serial]
            assert run.rows is not None
            assert run.place is not None
            place = pa.RecordBatch.from_arrays([pa.array(run.place)], ["place"])
            self._store.put(f"{self.name}/{serial}", _framed(place, run.rows))
        self._written = set(self._runs)
        return {"serial": self._serial, "groups": self._groups.save(self._store),
                "places": self._places.save(self._store),
                "runs": [[serial, run.total, run.live] for serial, run in self._runs.items()]}

    def load(self, meta: dict[str, Any]) -> None:
        """Know the runs that `save` told of; their rows are read when they are needed."""
        self._serial = meta["serial"]
        self._groups.load(self._store, meta["groups"])
        self._places.load(self._store, meta["places"])
        _mark(self._groups["newest"], self._columns(), self._places.free)
        self._places.reclaim()
        self._runs = {serial: _Run(total, live, None, None)
                      for serial, total, live in meta["runs"]}
        self._written = set(self._runs)

    def _columns(self) -> _Places:
        return _Places(*(self._places[c] for c in _Places._fields))

    def _read(self, serial: int) -> pa.RecordBatch:
        run = self._runs[serial]
        if run.rows is None:
            place, run.rows = _unframed(self._store.get(f"{self.name}/{serial}"))
            run.place = place.column(0).to_numpy()
        return run.rows

    def _tidy(self, serials: Iterable[int]) -> None:
        for serial in serials:
            run = self._runs[serial]
            if run.live == 0:
                del self._runs[serial]
            elif run.live * 2 < run.total:
                self._rewrite([serial])

    def _merge(self) -> None:
        """Merge runs as soon as there are many of like size: each row a few times at most."""
        sizes: dict[int, list[int]] = {}
        for serial, run in self._runs.items():
            sizes.setdefault(run.live.bit_length() // 3, []).append(serial)
        for serials in sizes.values():
            if len(serials) >= _MANY:
                self._rewrite(serials)

    def _rewrite(self, serials: list[int]) -> None:
        """One run of what is left of several."""
        places, parts = [], []
        self._serial += 1
        for serial in serials:
            rows, run = self._read(serial), self._runs.pop(serial)
            assert run.place is not None
            here = self._places["run"][run.place] == serial
            here &= self._places["row"][run.place] == np.arange(run.total)
            here &= self._places.free.used[run.place]
            places.append(run.place[here])
            parts.append(rows.take(pa.array(np.flatnonzero(here))) if not here.all() else rows)
        place = np.concatenate(places)
        self._places["run"][place], self._places["row"][place] = self._serial, np.arange(len(place))
        self._places.touch(place)
        self._runs[self._serial] = _Run(len(place), len(place), place, joined(parts))


@uncounted
def _chain(group: Int64, run: int, newest: Int64, places: _Places, free: Free,
           place: Int64) -> None:
    """Give each row a place, and chain it to its group's."""
    for r in range(len(group)):
        slot = claim(free)
        places.run[slot], places.row[slot] = run, r
        places.before[slot] = newest[group[r]]
        newest[group[r]] = place[r] = slot


@uncounted
def _unchain(groups: Int64, newest: Int64, places: _Places, free: Free, found: _Found) -> int:
    """Give the places of these groups back; returns how many, and where their rows lie."""
    count = 0
    for i in range(len(groups)):
        first, slot = count, newest[groups[i]]
        while slot >= 0:
            found.which[count], found.run[count] = i, places.run[slot]
            found.row[count] = places.row[slot]
            count += 1
            release(free, slot)
            slot = places.before[slot]
        newest[groups[i]] = -1
        last = count - 1
        while first < last:  # from the newest first to the oldest first
            found.run[first], found.run[last] = found.run[last], found.run[first]
            found.row[first], found.row[last] = found.row[last], found.row[first]
            first, last = first + 1, last - 1
    return count


@uncounted
def _mark(newest: Int64, places: _Places, free: Free) -> None:
    for slot in newest:
        while slot >= 0:
            free.used[slot] = True
            slot = places.before[slot]


def _framed(first: pa.RecordBatch, second: pa.RecordBatch) -> bytes:
    head, rest = ipc_bytes(first), ipc_bytes(second)
    return len(head).to_bytes(8, "little") + head + rest


def _unframed(blob: bytes) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    size = 8 + int.from_bytes(blob[:8], "little")
    return ipc_batch(blob[8:size]), ipc_batch(blob[size:])
