"""Events that wait, kept as runs sorted by time.

A call that holds rows adds one run; a run whose rows have all gone is dropped; only runs that are
due are read.  So what a snapshot writes follows what changed, not what is held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state.ipc import batch_of, ipc_batch, ipc_bytes

__all__ = ["Hold", "Rows", "batch_of", "ipc_batch", "ipc_bytes"]

Int64 = NDArray[np.int64]
_KEY, _TIME, _N = "__key", "__time", "__n"
_SMALL, _MANY = 8192, 8  # this many neighbouring runs of at most so many rows are merged into one


@dataclass(frozen=True)
class Rows:
    """Rows of events in columns: key code, time, arrival number, and the user's columns."""

    key: Int64
    time: Int64
    n: Int64
    payload: pa.RecordBatch

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: Int64) -> Rows:
        """The rows at `index`, in that order."""
        return Rows(self.key[index], self.time[index], self.n[index],
                    self.payload.take(pa.array(index)))

    @staticmethod
    def concat(parts: list[Rows]) -> Rows:
        """All rows of the parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        return Rows(np.concatenate([p.key for p in parts]), np.concatenate([p.time for p in parts]),
                    np.concatenate([p.n for p in parts]), batch_of([p.payload for p in parts]))


@dataclass
class _Run:
    name: str
    total: int
    live: int
    first: int  # smallest time among the live rows
    last: int  # greatest time of all its rows
    rows: Rows | None
    written: bool


class Hold:
    """The waiting events of one logic.

    Parameters
    ----------
    name
        Prefix of the runs in the store.
    store
        Where runs go at a snapshot, and come from when they are due.
    gone
        Tells which rows of a run have left: runs are immutable, so this is recomputed from the
        keys' watermarks when a run is read.
    """

    def __init__(self, name: str, store: Store, gone: Callable[[Rows], NDArray[np.bool_]]) -> None:
        self.name, self._store, self._gone = name, store, gone
        self._runs: list[_Run] = []
        self._dropped: list[str] = []
        self._serial = 0

    def __len__(self) -> int:
        return sum(run.live for run in self._runs)

    def add(self, rows: Rows) -> None:
        """Hold rows, as one run."""
        if len(rows) == 0:
            return
        order = np.lexsort((rows.n, rows.time)) if (np.diff(rows.time) < 0).any() else None
        self._append(rows if order is None else rows.take(order))

    def due(self, upto: int) -> list[Rows]:
        """Live rows of every run that has one with time ≤ `upto`; `settle` is told what stays."""
        self._due, parts = [], []
        for run in self._runs:
            if run.first <= upto:
                rows = self._read(run)
                live = np.flatnonzero(~self._gone(rows))
                self._due.append(run)
                parts.append(rows if len(live) == len(rows) else rows.take(live))
        return parts

    def near(self, first: int, last: int) -> list[Rows]:
        """Live rows of every run that may have one with a time in [first, last]: only a look."""
        parts = []
        for run in self._runs:
            if run.first <= last and run.last >= first:
                rows = self._read(run)
                gone = self._gone(rows)
                parts.append(rows.take(np.flatnonzero(~gone)) if gone.any() else rows)
        return parts

    def settle(self, stay: list[NDArray[np.bool_]], parts: list[Rows]) -> None:
        """After `due`: which of the rows handed out stay held."""
        for run, keep, rows in zip(self._due, stay, parts, strict=True):
            run.live = int(keep.sum())
            if run.live == 0:
                self._discard(run)
                continue
            run.first = int(rows.time[keep].min())
            if run.live * 2 < run.total:
                # half has gone: write the rest anew, so that a few slow rows do not pin big runs
                self._replace(run, rows.take(np.flatnonzero(keep)))
        self._runs = [run for run in self._runs if run.live]
        self._merge_small()

    def everything(self) -> list[Rows]:
        """All live rows."""
        return self.due(np.iinfo(np.int64).max)

    def clear(self) -> None:
        """Drop all rows."""
        for run in self._runs:
            self._discard(run)
        self._runs = []

    def save(self) -> dict[str, Any]:
        """Write new runs, drop those that have gone; the result is what `load` needs."""
        for name in self._dropped:
            self._store.drop(name)
        self._dropped = []
        for run in self._runs:
            if not run.written:
                assert run.rows is not None
                self._store.put(run.name, _encode(run.rows))
                run.written = True
        return {"serial": self._serial,
                "runs": [[run.name, run.total, run.live, run.first, run.last]
                         for run in self._runs]}

    def load(self, meta: dict[str, Any]) -> None:
        """Know the runs that `save` told of; their rows are read when they are due."""
        self._serial = meta["serial"]
        self._runs = [_Run(name, total, live, first, last, None, True)
                      for name, total, live, first, last in meta["runs"]]

    def _append(self, rows: Rows) -> None:
        self._runs.append(_Run(self._next_name(), len(rows), len(rows), int(rows.time.min()),
                               int(rows.time.max()), rows, False))

    def _next_name(self) -> str:
        self._serial += 1
        return f"{self.name}/{self._serial}"

    def _read(self, run: _Run) -> Rows:
        if run.rows is None:
            run.rows = _decode(self._store.get(run.name))
        return run.rows

    def _discard(self, run: _Run) -> None:
        if run.written:
            self._dropped.append(run.name)

    def _replace(self, run: _Run, rows: Rows) -> None:
        self._discard(run)
        run.name, run.rows, run.written = self._next_name(), rows, False
        run.total = run.live = len(rows)
        run.last = int(rows.time.max())

    def _merge_small(self) -> None:
        small = [run for run in self._runs if run.total <= _SMALL and run.rows is not None]
        if len(small) < _MANY:
            return
        parts = []
        for run in small:
            rows = self._read(run)
            live = np.flatnonzero(~self._gone(rows))
            parts.append(rows.take(live))
            self._discard(run)
        merged = {id(run) for run in small}
        self._runs = [run for run in self._runs if id(run) not in merged]
        self.add(Rows.concat(parts))


def _encode(rows: Rows) -> bytes:
    batch = rows.payload
    fields = [pa.field(name, pa.int64()) for name in (_KEY, _TIME, _N)]
    columns = [pa.array(a) for a in (rows.key, rows.time, rows.n)]
    return ipc_bytes(pa.RecordBatch.from_arrays(
        columns + batch.columns, schema=pa.schema(fields + list(batch.schema))))


def _decode(blob: bytes) -> Rows:
    batch = ipc_batch(blob)
    key, time, n = (batch.column(i).to_numpy() for i in range(3))
    payload = pa.RecordBatch.from_arrays(batch.columns[3:],
                                         schema=pa.schema(list(batch.schema)[3:]))
    return Rows(key, time, n, payload)
