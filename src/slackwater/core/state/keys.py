"""Key columns to slots: small numbers that index per-key tables, and are used again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.errors import SnapshotError
from slackwater.core.kernel import Store
from slackwater.core.state.buckets import Buckets
from slackwater.core.state.cells import Cells, cells_of, plain_type
from slackwater.core.state.changes import Changes
from slackwater.core.state.hashing import addresses, hash_rows
from slackwater.core.state.index import (
    COUNTS,
    ENTRY,
    add_rows,
    adopt,
    compact,
    find_rows,
    gather,
    members,
    rebuild,
    remove,
)
from slackwater.core.state.pages import Pages
from slackwater.core.state.record import Record, decode_schema, encode_schema
from slackwater.core.state.values import columns_of, common_type, labels_of

__all__ = ["Keys"]

Int64 = NDArray[np.int64]
_BYTES = 64 * 1024  # about how large a page may become
_OVERHEAD = 8  # bytes that a page holds for each key beside its record
_SEVERAL = 4  # pages from which on a log of changes is kept
_LIVE_BYTES = 8 * 1024  # a page of live bits: 65,536 slots



class Keys:
    """Gives each combination of key values a slot: the lowest that no other live key has.

    The cost of a call follows the rows given, not the keys known.  Keys are saved in pages by their
    hash, and what has changed since in a short log; after `load`, a page is read when a key that
    may be in it is looked up.

    Parameters
    ----------
    name
        Prefix of the pages in the store.
    columns
        The key columns. With none there is one key, which has slot 0 and is never forgotten.
    store
        Where pages go at a snapshot, and come from when they are needed.
    page_bytes
        About how large a page may become.

    Examples
    --------
    >>> from slackwater.core.kernel import MemoryStore
    >>> keys = Keys("k", ["room"], MemoryStore())
    >>> slots, fresh = keys.slots(pa.record_batch({"room": ["b", "a", "b"]}))
    >>> slots.tolist(), fresh.tolist(), keys.labels(fresh).to_pylist()
    ([0, 1, 0], [0, 1], ['b', 'a'])
    >>> keys.forget(np.array([0]))
    >>> keys.slots(pa.record_batch({"room": ["c"]}))[0].tolist()
    [0]
    """

    def __init__(self, name: str, columns: Sequence[str], store: Store, *,
                 page_bytes: int = _BYTES) -> None:
        self.name, self.columns, self._store = name, tuple(columns), store
        self._types: list[pa.DataType | None] = [None] * len(self.columns)
        self._page_bytes = page_bytes
        self._buckets = Buckets()
        self._changes = Changes(f"{name}/log", store, page_bytes)
        self._index = np.zeros(64, np.uint64)
        self._entries = np.zeros(64, ENTRY)
        self._records = np.zeros(1024, np.uint8)
        self._counts = np.zeros(1, COUNTS)
        self._counts["used"] = 1  # a record at 0 would mean that there is none
        self._garbage = 0
        self._bytes = 0  # about what the records of live keys take
        self._live = Pages(f"{name}/live", {"bits": np.uint64(0)}, store, page_bytes=_LIVE_BYTES)
        self._live.grow(1)
        # the first half of each slot's hash: which page its key is in, if that is not read yet
        self._homes = Pages(f"{name}/homes", {"hash": np.uint32(0)}, store)
        self._begun = False

    def __len__(self) -> int:
        return int(self._counts["live"][0]) if self.columns else 1

    @property
    def room(self) -> int:
        """How many slots were ever given out: so many rows a table needs."""
        return int(self._counts["room"][0]) if self.columns else 1

    def live(self) -> Int64:
        """The slots of all live keys, ascending."""
        if not self.columns:
            return np.zeros(1, np.int64)
        bits = np.unpackbits(self._live["bits"].view(np.uint8), bitorder="little")
        return np.flatnonzero(bits)

    def slots(self, batch: pa.RecordBatch) -> tuple[Int64, Int64]:
        """The slot of each row's key, and the slots that were given out for it, in that order."""
        if not self.columns:
            fresh = np.zeros(0 if self._begun else 1, np.int64)
            self._begun = True
            return np.zeros(batch.num_rows, np.int64), fresh
        cells = self._look(batch)
        self._note_types(batch)
        out, fresh = np.empty(batch.num_rows, np.int64), np.empty(64, np.int64)
        counts = self._counts
        counts["fresh"] = at = 0
        where = addresses(cells)
        while (at := add_rows(where, at, self._index, self._entries, self._records,
                              self._live["bits"], counts, out, fresh)) < len(out):
            fresh = self._make_room(cells, at, fresh)
        fresh = fresh[:counts["fresh"][0]]
        if len(fresh):
            self._note_fresh(fresh)
        return out, fresh

    def find(self, batch: pa.RecordBatch) -> Int64:
        """The slot of each row's key, −1 where the key is not known."""
        out = np.zeros(batch.num_rows, np.int64)
        if self.columns:
            cells = self._look(batch)
            find_rows(addresses(cells), self._index, self._entries, self._records, out)
        return out

    def forget(self, slots: Int64) -> None:
        """Let these live keys go; their slots may be given to others."""
        if not self.columns or len(slots) == 0:
            return
        slots = np.unique(slots)
        self._check_live(slots)
        unread = int((self._entries["at"][slots] == 0).sum())
        mean = self._bytes / len(self)
        self._homes.touch(slots)
        in_page = slots[~self._changes.overridden[slots]]
        self._changes.note(slots, self._homes["hash"][in_page])
        self._live.touch(slots >> 6)
        garbage = remove(slots, self._index, self._entries, self._live["bits"], self._counts)
        self._homes.reset(slots)
        self._bytes = max(self._bytes - garbage - round(mean * unread), 0)
        self._garbage += garbage
        if 2 * self._garbage > self._counts["used"][0] > 2 * len(self._index):
            self._compact()

    def values(self, slots: Int64) -> list[pa.Array]:
        """The key columns of these live slots, in the types that they came with.

        A column in which keys of several types came is in the type that holds them all, if there
        is one, else in text.
        """
        if not self.columns:
            return []
        self._check_live(slots)
        self._read_slots(slots)
        types = [kind if kind is not None else pa.null() for kind in self._types]
        return columns_of(self._records, self._entries["at"][slots], types)

    def by_slot(self) -> pa.RecordBatch | None:
        """The key columns of every slot, live or not; None: no key is live."""
        if not self.columns:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * self.room, pa.struct([])))
        live = self.live()
        if not len(live):
            return None
        slots = np.full(self.room, live[0])
        slots[live] = live  # a slot that nobody has may stand for any other
        return pa.RecordBatch.from_arrays(self.values(slots), names=list(self.columns))

    def labels(self, slots: Int64) -> pa.Array:
        """The keys of these live slots as text."""
        if not self.columns:
            return pa.repeat(pa.scalar("", pa.large_string()), len(slots))
        return labels_of(self.values(slots))

    def save(self) -> dict[str, Any]:
        """Write the pages that have changed; the result, plain JSON values, is what `load` needs.
        """
        if not self.columns:
            return {"begun": self._begun}
        new = self._changes.new()
        length = self._changes.nbytes + 16 * len(new) + int(self._entries["size"][new].sum())
        if length > self._longest_log():
            self._write_pages()
        else:
            self._changes.append(self._are_live, self._packed)
        known = pa.schema([pa.field(str(c), kind) for c, kind in enumerate(self._types)
                           if kind is not None])
        return {"columns": list(self.columns), "room": self.room, "live": len(self),
                "bytes": self._bytes, "buckets": self._buckets.save(), "log": self._changes.save(),
                "types": encode_schema(known), "bits": self._live.save(),
                "homes": self._homes.save()}

    def load(self, meta: dict[str, Any]) -> None:
        """Know the keys that `save` wrote; their pages are read when they are needed."""
        if not self.columns:
            self._begun = meta["begun"]
            return
        if list(self.columns) != meta["columns"]:
            raise SnapshotError(f"the key columns of {self.name!r} have changed", step="restore",
                                expected=", ".join(meta["columns"]), got=", ".join(self.columns),
                                hint="keep them, or start afresh with a new checkpoint")
        self._buckets.load(meta["buckets"])
        schema = decode_schema(meta["types"])
        assert schema is not None
        self._types = [schema.field(str(c)).type if str(c) in schema.names else None
                       for c in range(len(self.columns))]
        self._bytes, self._garbage = meta["bytes"], 0
        self._live.load(meta["bits"])
        self._live.need_all()  # an eighth of a byte per slot
        self._homes.load(meta["homes"])
        # room for all, which takes no memory before pages are read into it
        self._index = _index_for(meta["live"])
        self._entries = np.zeros(64 * self._live.rows, ENTRY)
        self._records = np.empty(1024 + meta["bytes"] * 5 // 4, np.uint8)
        self._counts = np.zeros(1, COUNTS)
        self._counts["used"], self._counts["room"] = 1, meta["room"]
        self._counts["live"] = meta["live"]
        self._changes.load(meta["log"], len(self._entries), self._adopt)

    # -- inside ---------------------------------------------------------------------------------

    def _look(self, batch: pa.RecordBatch) -> Cells:
        """The rows' keys as cells, with the pages in memory that may know them."""
        cells = cells_of([batch.column(name) for name in self.columns], self.columns)
        if self._buckets.missing.any():
            self._read(self._buckets.mark(hash_rows(addresses(cells))))
        return cells

    def _note_types(self, batch: pa.RecordBatch) -> None:
        for c, name in enumerate(self.columns):
            kind = batch.schema.field(name).type
            if kind != self._types[c]:
                self._types[c] = common_type(self._types[c], plain_type(kind))

    def _make_room(self, cells: Cells, row: int, fresh: Int64) -> Int64:
        """Double what has run out; the longer array of fresh slots."""
        counts = self._counts[0]
        size = 1 + len(self.columns) * 13 + int((cells.high[:, row] - cells.low[:, row]).sum())
        self._make_record_room(size)
        if 2 * (counts["live"] + 1) > len(self._index):
            self._resize_index(_index_for(int(counts["live"]) + 1))
        if counts["unused_word"] == self._live.rows:
            self._live.grow(2 * self._live.rows)
            entries = np.zeros(64 * self._live.rows, ENTRY)
            entries[:len(self._entries)] = self._entries
            self._entries = entries
            self._changes.grow(len(entries))
        if counts["fresh"] == len(fresh):
            fresh = np.concatenate([fresh, np.empty_like(fresh)])
        return fresh

    def _make_record_room(self, size: int) -> None:
        used = int(self._counts["used"][0])
        if used + size > len(self._records):
            records = np.empty(max(2 * len(self._records), used + size), np.uint8)
            records[:used] = self._records[:used]
            self._records = records

    def _resize_index(self, index: NDArray[np.uint64]) -> None:
        rebuild(self._index, self._entries, index)
        self._index = index

    def _note_fresh(self, fresh: Int64) -> None:
        hashes = self._entries["hash"][fresh]
        self._changes.note(fresh, np.zeros(0, np.uint32))
        self._live.touch(fresh >> 6)
        self._homes.grow(self.room)
        self._homes.touch(fresh)
        self._homes["hash"][fresh] = hashes >> np.uint64(32)
        self._bytes += int(self._entries["size"][fresh].sum())

    def _are_live(self, slots: Int64) -> NDArray[np.bool_]:
        bits = self._live["bits"][slots >> 6]
        return (bits >> (slots & 63).astype(np.uint64) & np.uint64(1)).astype(bool)

    def _check_live(self, slots: Int64) -> None:
        inside = len(slots) == 0 or (slots.min() >= 0 and slots.max() < self.room)
        if not inside or not self._are_live(slots).all():
            raise ValueError(f"no key of {self.name!r} has one of these slots")

    def _compact(self) -> None:
        """Leave the records of forgotten keys behind, and shrink an index that is mostly empty."""
        used = int(self._counts["used"][0])
        records = np.empty(max(2 * (used - self._garbage), 1024), np.uint8)
        self._counts["used"] = compact(self._index, self._entries, self._records, records, 1)
        self._records, self._garbage = records, 0
        index = _index_for(len(self))
        if len(self._index) > 4 * len(index):
            self._resize_index(index)

    # -- pages ----------------------------------------------------------------------------------

    def _blob(self, page: int) -> str:
        return f"{self.name}/{self._buckets.name(page)}"

    def _total(self) -> int:
        """About how many bytes all pages have."""
        return self._bytes + _OVERHEAD * len(self)

    def _longest_log(self) -> int:
        """How long the log may become: all of it is read at a load, and then nearly all pages are
        written, so it is the mean of one page and all."""
        pages = self._total() / self._page_bytes
        return int(self._page_bytes * math.sqrt(pages)) if pages > _SEVERAL else 0

    def _write_pages(self) -> None:
        """Write the pages of all keys that are in the log, and those that they have left."""
        changes, buckets = self._changes, self._buckets
        slots = np.flatnonzero(changes.overridden[:self.room])
        buckets.mark(self._entries["hash"][slots[self._are_live(slots)]], buckets.dirty)
        buckets.mark(changes.left().astype(np.uint64) << np.uint64(32), buckets.dirty)
        self._read(buckets.dirty)
        self._fit_pages()
        for page in np.flatnonzero(buckets.dirty).tolist():
            slots = members(self._index, self._entries, *buckets.span(page))
            if len(slots):
                self._store.put(self._blob(page),
                                Record(self.name, 2, {}, self._packed(slots)).encode())
            elif buckets.stored[page]:
                self._store.drop(self._blob(page))
            buckets.stored[page] = len(slots) > 0
        buckets.dirty[:] = False
        changes.clear()

    def _fit_pages(self) -> None:
        """Split or join pages until their mean size is right."""
        buckets, total = self._buckets, self._total()
        while 4 * total > 3 * self._page_bytes * len(buckets):
            self._read_pages([buckets.next_split()])
            self._drop_page(buckets.next_split())
            buckets.split()
        while len(buckets) > 1 and 4 * total < self._page_bytes * len(buckets):
            pair = buckets.last_split()
            self._read_pages(pair)
            for page in pair:
                self._drop_page(page)
            buckets.join()

    def _drop_page(self, page: int) -> None:
        if self._buckets.stored[page]:
            self._store.drop(self._blob(page))

    def _packed(self, slots: Int64) -> dict[str, NDArray[Any]]:
        """Slots and the records of their keys."""
        sizes = self._entries["size"][slots]
        ends = np.cumsum(sizes)
        data = np.empty(int(sizes.sum()), np.uint8)
        gather(self._records, self._entries["at"][slots], ends, data)
        return {"slot": slots.astype(np.int32), "size": sizes.astype(np.int32), "data": data}

    def _adopt(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take in what `_packed` gave, but for slots that have changed since."""
        data = arrays["data"]
        self._make_record_room(len(data))
        used = int(self._counts["used"][0])
        self._records[used:used + len(data)] = data
        self._garbage += adopt(arrays["slot"], arrays["size"], used, len(self.columns),
                               self._records, self._index, self._entries, self._changes.overridden)
        self._counts["used"] += len(data)

    def _read_slots(self, slots: Int64) -> None:
        """Have the records of these slots in memory."""
        if self._buckets.missing.any():
            unread = slots[self._entries["at"][slots] == 0]
            self._homes.need(unread)
            self._read(self._buckets.mark(self._homes["hash"][unread].astype(np.uint64)
                                          << np.uint64(32)))

    def _read(self, wanted: NDArray[np.bool_]) -> None:
        self._read_pages(np.flatnonzero(wanted & self._buckets.missing).tolist())

    def _read_pages(self, pages: Sequence[int]) -> None:
        for page in pages:
            if not self._buckets.missing[page]:
                continue
            self._adopt(Record.decode(self._store.get(self._blob(page)), kind=self.name,
                                      version=2).arrays)
            self._buckets.missing[page] = False


def _index_for(keys: int) -> NDArray[np.uint64]:
    """An empty index that is at most half full with so many keys, and at least a quarter."""
    return np.zeros(1 << max((4 * keys).bit_length() - 1, 6), np.uint64)
