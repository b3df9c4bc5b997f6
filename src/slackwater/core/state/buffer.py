"""Rows that are held, in sorted runs.

A call that holds rows adds one run; runs of like size are merged; a block of a run whose rows have
all left is dropped; only blocks that may be due are read.  So what a snapshot writes follows what
changed, not what is held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.errors import SnapshotError
from slackwater.core.events import NEVER
from slackwater.core.kernel import Store
from slackwater.core.state.ipc import ipc_batch, ipc_bytes, joined
from slackwater.core.state.record import decode_schema, encode_schema
from slackwater.core.state.runs import ROW_BYTES, Block, Held, Run, Sorted, handed_out
from slackwater.core.state.sorted_rows import (
    count_left,
    order_rows,
    ranges_between,
    ranges_of_all,
    ranges_of_some,
)

__all__ = ["Buffer", "Held", "Rows"]

Int64 = NDArray[np.int64]
_TINY = 64 * 1024  # runs of fewer bytes are of one class, then each class is four times as large
_LIKE = 4  # so many runs of one class are merged
_CLASSES = 6  # runs beyond the last class (64 MiB) stay as they are
_APART = 256 * 1024  # from so many bytes on a block's payload is a blob of its own
_BLOB = 8 * 1024 * 1024


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
                    np.concatenate([p.n for p in parts]), joined([p.payload for p in parts]))


class Buffer:
    """Rows that are held until their key's limit passes their time.

    `upto`, `due` and `between` hand out rows; `leave` is told which of them have left, before the
    next call of `add` or `save`.

    Parameters
    ----------
    name
        Prefix of the blobs in the store.
    store
        Where blocks go at a snapshot, and come from when they may be due.
    gone
        Tells which rows (slot, time, n) have left, or were of a key that had the slot before.
        Blocks in the store never change, so this is asked when one is read.

    Examples
    --------
    >>> from slackwater.core.kernel import MemoryStore
    >>> buffer = Buffer("held", MemoryStore(), lambda slot, time, n: np.zeros(len(slot), bool))
    >>> buffer.add(Rows(np.array([0, 1, 0]), np.array([30, 20, 10]), np.arange(3),
    ...                 pa.record_batch({"x": ["a", "b", "c"]})))
    >>> held = buffer.upto(np.array([0]), np.array([25]))
    >>> held.time.tolist(), held.payload(np.array([0])).to_pylist()
    ([10], [{'x': 'c'}])
    >>> buffer.leave(held, np.array([True])); len(buffer)
    2
    """

    def __init__(self, name: str, store: Store,
                 gone: Callable[[Int64, Int64, Int64], NDArray[np.bool_]]) -> None:
        self.name, self._store, self._gone = name, store, gone
        self._runs: list[Run] = []
        self._dropped: list[str] = []
        self._serial = 0
        self._schema = pa.schema([])

    def __len__(self) -> int:
        return sum(run.live for run in self._runs)

    def add(self, rows: Rows) -> None:
        """Hold rows, in whatever order they stand."""
        if len(rows) == 0:
            return
        schema = rows.payload.schema
        if not self._runs:
            self._schema = schema
        elif schema != self._schema:
            raise SnapshotError("the columns have changed while rows are held", step=self.name,
                                expected=self._schema, got=schema,
                                hint="let the old query drain, then start a new checkpoint")
        payload = rows.payload
        if not schema.equals(self._schema, check_metadata=True):
            payload = pa.RecordBatch.from_arrays(payload.columns, schema=self._schema)
        slot, time, n = _plain(rows.key), _plain(rows.time), _plain(rows.n)
        order = order_rows(slot, time, n)
        if order is not None:
            slot, time, n = slot[order], time[order], n[order]
        self._runs.append(Run([Block.of(Sorted(slot, time, n, payload, order))]))
        self._merge_like()

    def upto(self, slots: Int64, limits: Int64) -> Held:
        """The rows of these distinct slots with time ≤ the slot's limit."""
        slots, limits = _plain(slots), _plain(limits)
        if len(slots) > 1 and not (np.diff(slots) > 0).all():
            order = np.argsort(slots)
            slots, limits = slots[order], limits[order]
        if len(slots) and slots[-1] == len(slots) - 1:  # all there are: no need to look each up
            return self.due(limits)
        found = []
        for block in self._blocks():
            low, high = np.searchsorted(slots, (block.low, block.high + 1))
            asked, limit = slots[low:high], limits[low:high]
            if len(asked) and block.first <= limit.max():
                rows = self._read(block)
                found.append((block, ranges_of_some(rows.slots, rows.starts, rows.cursor,
                                                    rows.time, asked, limit)))
        return handed_out(found, self._schema)

    def due(self, limits: Int64) -> Held:
        """The rows of all slots with time ≤ `limits[slot]`; none of a slot beyond `limits`."""
        found, limits = [], _plain(limits)
        for block in self._blocks():
            if block.first <= limits[block.low:block.high + 1].max(initial=NEVER):
                rows = self._read(block)
                found.append((block, ranges_of_all(rows.slots, rows.starts, rows.cursor, rows.time,
                                                   limits)))
        return handed_out(found, self._schema)

    def between(self, first: int, last: int) -> Held:
        """The rows of all slots with first ≤ time ≤ last."""
        found = []
        for block in self._blocks():
            if block.first <= last and block.last >= first:
                rows = self._read(block)
                found.append((block, ranges_between(rows.slots, rows.starts, rows.cursor, rows.time,
                                                    first, last)))
        return handed_out(found, self._schema)

    def leave(self, held: Held, left: NDArray[np.bool_]) -> None:
        """Note which of the rows handed out have left: of each slot the first ones, or none."""
        counts = np.zeros(sum(len(part.entry) for part in held.parts), np.int64)
        if not count_left(held.slot, held.ranges, np.ascontiguousarray(left), counts):
            raise ValueError(f"{self.name}: a row has left before an earlier one of its key")
        at = 0
        for part in held.parts:
            mine = counts[at:at + len(part.entry)]
            at += len(part.entry)
            some = int(mine.sum())
            if some == 0:
                continue
            rows, block = part.rows, part.block
            if block.replaced or (rows.cursor[part.entry] != part.low)[mine > 0].any():
                raise ValueError(f"{self.name}: the rows held have changed since these were "
                                 "handed out")
            rows.cursor[part.entry] += mine
            block.live -= some
            block.left += some
        self._forget_left({id(part.block) for part in held.parts})

    def widen(self, more: Callable[[pa.RecordBatch], pa.RecordBatch]) -> None:
        """Have more columns: `more` gives the user's columns of held rows as they are to be."""
        blocks = self._together(self._runs)
        self._runs = []
        for block in blocks:  # one, or none
            rows = self._read(block)
            payload = more(rows.in_order())
            self._schema = payload.schema
            self._runs = [Run([Block.of(Sorted(rows.slot(), rows.time, rows.n, payload))])]

    def clear(self) -> None:
        """Drop all rows."""
        for block in self._blocks():
            self._discard(block)
        self._runs = []

    def save(self) -> dict[str, Any]:
        """Write new blocks, drop those that have left; the result is what `load` needs."""
        for name in self._dropped:
            self._store.drop(name)
        self._dropped = []
        for run in self._runs:
            if not all(block.serial for block in run.blocks):
                run.blocks = [piece for block in run.blocks for piece in self._written(block)]
            for block in run.blocks:
                _freshen(block)
        return {"serial": self._serial, "schema": encode_schema(self._schema),
                "runs": [[[b.serial, b.apart, b.total, b.live, b.first, b.last, b.low, b.high,
                           b.nbytes] for b in run.blocks] for run in self._runs]}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Know the runs that `save` wrote; they are read when they may be due."""
        self._serial = meta["serial"]
        self._schema = decode_schema(meta["schema"])
        self._dropped = []
        self._runs = [Run([Block(total, live, first, last, low, high, nbytes, serial, apart)
                           for serial, apart, total, live, first, last, low, high, nbytes in run])
                      for run in meta["runs"]]

    # -- inside ---------------------------------------------------------------------------------

    def _blocks(self) -> list[Block]:
        return [block for run in self._runs for block in run.blocks]

    def _names(self, block: Block) -> list[str]:
        name = f"{self.name}/{block.serial}"
        return [name, f"{name}.payload"] if block.apart else [name]

    def _discard(self, block: Block) -> None:
        block.replaced = True
        if block.serial:
            self._dropped += self._names(block)

    def _read(self, block: Block) -> Sorted:
        if block.rows is None:
            names = self._names(block)
            batch = ipc_batch(self._store.get(names[0]))
            slot, time, n = (_plain(batch.column(i).to_numpy()) for i in range(3))
            payload: Any = _payload(batch)
            if block.apart:
                def payload() -> pa.RecordBatch:
                    return ipc_batch(self._store.get(names[1]))
            rows = Sorted(slot, time, n, payload)
            rows.leave_out(self._gone(slot, time, n))
            block.rows, block.live, block.first, block.left = rows, rows.live, rows.first(), 0
        return block.rows

    def _forget_left(self, touched: set[int]) -> None:
        """Drop blocks whose rows have all left; write runs of which half has left anew."""
        changed = False
        for run in self._runs:
            if touched.isdisjoint(id(block) for block in run.blocks):
                continue
            for block in run.blocks:
                if block.live == 0:
                    self._discard(block)
            run.blocks = [block for block in run.blocks if block.live]
            if 2 * run.live < run.total:
                run.blocks = self._together([run])
            changed = changed or not run.blocks
        if changed:
            self._runs = [run for run in self._runs if run.blocks]

    def _merge_like(self) -> None:
        """Merge runs of one class if there are several; what comes of it may be of the next."""
        merged = True
        while merged:
            merged = False
            classes: dict[int, list[Run]] = {}
            for run in self._runs:
                size, k = run.live_bytes, 0
                while size >= _TINY:
                    size, k = size // 4, k + 1
                classes.setdefault(k, []).append(run)
            for k, runs in classes.items():
                if len(runs) >= _LIKE and k < _CLASSES:
                    these = {id(run) for run in runs}
                    self._runs = [run for run in self._runs if id(run) not in these]
                    blocks = self._together(runs)
                    if blocks:
                        self._runs.append(Run(blocks))
                    merged = True
                    break

    def _together(self, runs: list[Run]) -> list[Block]:
        """All live rows of some runs as one block, which takes their place."""
        blocks = [block for run in runs for block in run.blocks]
        found = []
        for block in blocks:
            rows = self._read(block)
            entry = np.flatnonzero(rows.cursor < rows.starts[1:])
            found.append((block, (entry, rows.cursor[entry], rows.starts[1:][entry])))
        held = handed_out(found, self._schema)
        for block in blocks:
            self._discard(block)
        if len(held) == 0:
            return []
        payload = held.payload(np.arange(len(held)))
        return [Block.of(Sorted(held.slot, held.time.copy(), held.n.copy(), payload))]

    def _written(self, block: Block) -> list[Block]:
        """The block in the store, in pieces if it is large."""
        if block.serial:
            return [block]
        if block.live < block.total:
            [block] = self._together([Run([block])])
        pieces, rows = [], self._read(block)
        payload, slot = rows.in_order(), rows.slot()
        for first, last in _cuts(payload, 0, len(rows)):
            part = (slot[first:last], rows.time[first:last], rows.n[first:last])
            here = payload.slice(first, last - first)
            if last - first < len(rows):
                piece = Block.of(Sorted(*part, here))
                block.replaced = True
            else:
                piece = block
            self._serial += 1
            piece.serial, piece.apart = self._serial, piece.nbytes > _APART
            head, *rest = self._names(piece)
            columns = pa.RecordBatch.from_arrays([pa.array(a) for a in part], ["slot", "time", "n"])
            if rest:
                self._store.put(head, ipc_bytes(columns))
                self._store.put(rest[0], ipc_bytes(here))
            else:
                self._store.put(head, ipc_bytes(pa.RecordBatch.from_arrays(
                    columns.columns + here.columns,
                    schema=pa.schema([*columns.schema, *here.schema]))))
            pieces.append(piece)
        return pieces


def _plain(array: Int64) -> Int64:
    """The array as the loops were compiled for: not strided, and not read-only as Arrow's are."""
    array = np.ascontiguousarray(array, np.int64)
    return array if array.flags.writeable else array.copy()


def _payload(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(batch.columns[3:], schema=pa.schema(list(batch.schema)[3:]))


def _freshen(block: Block) -> None:
    """Set `first` right, if enough has left to make a look at all keys of the block worth while."""
    if block.rows is not None and block.left * 16 > len(block.rows.slots):
        block.first, block.left = block.rows.first(), 0


def _cuts(payload: pa.RecordBatch, first: int, last: int) -> list[tuple[int, int]]:
    """Cut rows in halves until a piece is small enough for a blob."""
    size = payload.slice(first, last - first).nbytes + ROW_BYTES * (last - first)
    if size <= _BLOB or last - first == 1:
        return [(first, last)]
    middle = (first + last) // 2
    if 4 * payload.slice(first, middle - first).nbytes > 3 * size:
        return [(first, last)]  # it is a dictionary that is large, and each piece would have it
    return [*_cuts(payload, first, middle), *_cuts(payload, middle, last)]
