"""Records that come and go, in pages: a snapshot writes the pages that changed, and in them only
the records in use; pages that have become empty leave the store, and memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.kernel import Store
from slackwater.core.state import Record
from slackwater.window.compiled import uncounted

__all__ = ["PAGE_BITS", "Arena", "Free", "Paged", "claim", "release"]

PAGE_BITS = 10
_PAGE = 1 << PAGE_BITS
Int64 = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Paged:
    """Columns whose length is a multiple of a page, and can shrink.

    Parameters
    ----------
    name
        Prefix of the pages in the store.
    columns
        Column name to the value that a new row starts with: a number, or a record of several.
    unwritten
        Fields of records that nobody needs: they are left out of pages.
    """

    def __init__(self, name: str, columns: Mapping[str, Any],
                 unwritten: Collection[str] = ()) -> None:
        self.name = name
        self.rows = 0
        self._fresh = {c: np.asarray(value) for c, value in columns.items()}
        self._data: dict[str, NDArray[Any]] = {c: np.zeros(0, fresh.dtype)
                                               for c, fresh in self._fresh.items()}
        self._unwritten = frozenset(unwritten)
        self.dirty: Flags = np.zeros(0, bool)
        """Which pages have changed since the last `save`: set by whoever changes them."""
        self._written: Flags = np.zeros(0, bool)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self._data[column]

    def resize(self, rows: int) -> None:
        """Have `rows` rows, a multiple of a page; the new ones are fresh."""
        self._data = {c: _sized(data, rows, self._fresh[c]) for c, data in self._data.items()}
        self.dirty = _sized(self.dirty, rows >> PAGE_BITS)
        self.rows = rows

    def hold(self, rows: int) -> None:
        """Have at least `rows` rows."""
        if rows > self.rows:
            self.resize(max(-(-rows // _PAGE) * _PAGE, 2 * self.rows))

    def touch(self, rows: Int64) -> None:
        """Note that these rows change."""
        if len(rows) and len(self.dirty) == 1:
            self.dirty[0] = True
        elif len(rows):
            self.dirty[rows >> PAGE_BITS] = True

    def save(self, store: Store, used: Flags) -> dict[str, Any]:
        """Write the changed pages and drop the empty ones; the result is what `load` needs."""
        live: Flags = np.asarray(used.reshape(-1, _PAGE).any(axis=1))
        for page in np.flatnonzero(self.dirty & live):
            rows = (page << PAGE_BITS) + np.flatnonzero(used[page << PAGE_BITS:][:_PAGE])
            arrays = {"": (rows & (_PAGE - 1)).astype(np.uint16),
                      **{c: data[rows] for c, data in self._columns()}}
            store.put(f"{self.name}/{page}", Record(self.name, 1, {}, arrays).encode())
        pages = max(len(live), len(self._written))
        live, written = _sized(live, pages), _sized(self._written, pages)
        for page in np.flatnonzero(written & ~live):
            store.drop(f"{self.name}/{page}")
        self._written = live[:len(self.dirty)]
        self.dirty[:] = False
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self._written.astype(np.int8), [0]])))
        return {"rows": self.rows, "pages": edges.reshape(-1, 2).tolist()}

    def load(self, store: Store, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        self.resize(meta["rows"])
        self._written = np.zeros(len(self.dirty), bool)
        for first, stop in meta["pages"]:
            self._written[first:stop] = True
        for page in np.flatnonzero(self._written):
            record = Record.decode(store.get(f"{self.name}/{page}"), kind=self.name, version=1)
            rows = (page << PAGE_BITS) + record.arrays[""].astype(np.int64)
            for column, data in self._columns():
                data[rows] = record.arrays[column]
        self.dirty[:] = False

    def _columns(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """What is written: the columns, those of records field by field."""
        for column, data in self._data.items():
            if data.dtype.names is None:
                yield column, data
            for field in data.dtype.names or ():
                if field not in self._unwritten:
                    yield f"{column}.{field}", data[field]


class Free(NamedTuple):
    """What loops need to take records of an arena and to give them back.

    `next` chains the free records (users may chain those in use by it, too); `ends` has the first
    and the last of that chain, −1 for none, and how many records are in use.
    """

    next: Int64
    ends: Int64
    used: Flags
    dirty: Flags


@uncounted
def claim(free: Free) -> int:
    """Take a free record; −1 if there is none."""
    slot = free.ends[0]
    if slot >= 0:
        free.ends[0] = free.next[slot]
        if free.ends[0] < 0:
            free.ends[1] = -1
        free.ends[2] += 1
        free.used[slot] = True
        free.dirty[slot >> PAGE_BITS] = True
        free.next[slot] = -1
    return slot


@uncounted
def release(free: Free, slot: int) -> None:
    """Give a record back.  It goes to the end of the chain, so that pages fill up in turn."""
    free.next[slot] = -1
    if free.ends[1] >= 0:
        free.next[free.ends[1]] = slot
    else:
        free.ends[0] = slot
    free.ends[1] = slot
    free.ends[2] -= 1
    free.used[slot] = False


class Arena(Paged):
    """Records with a chain of free ones.  What is in use after `load` is for its user to say."""

    def __init__(self, name: str, columns: Mapping[str, Any],
                 unwritten: Collection[str] = ()) -> None:
        super().__init__(name, columns, unwritten)
        self._next: Int64 = np.zeros(0, np.int64)
        self._ends = np.array([-1, -1, 0])
        self._used: Flags = np.zeros(0, bool)

    @property
    def free(self) -> Free:
        """For `claim` and `release`; not valid any more after `grow`, `save` or `load`."""
        return Free(self._next, self._ends, self._used, self.dirty)

    @property
    def count(self) -> int:
        """How many records are in use."""
        return int(self._ends[2])

    def grow(self) -> None:
        """Make room for more records."""
        self._lay_out(max(_PAGE, 2 * self.rows))

    def save(self, store: Store, used: Flags | None = None) -> dict[str, Any]:
        """Write what changed (see `Paged.save`), and give back empty pages if they are many."""
        in_use = np.flatnonzero(self._used.reshape(-1, _PAGE).any(axis=1))
        needed = (int(in_use[-1]) + 1) << PAGE_BITS if len(in_use) else 0
        self._lay_out(2 * needed if 4 * needed <= self.rows else self.rows)
        return super().save(store, self._used)

    def load(self, store: Store, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote.  `reclaim` must follow."""
        super().load(store, meta)
        self._next, self._used = np.full(self.rows, -1), np.zeros(self.rows, bool)

    def reclaim(self) -> None:
        """Chain up the records that are not in use, once `free.used` says which are."""
        self._ends[2] = int(self._used.sum())
        _chain(self._used, self._next, self._ends)

    def _lay_out(self, rows: int) -> None:
        """Resize, and chain the free records by pages, the emptiest first, among equals the lowest.

        So what comes next fills few pages, few are written, and those at the end run empty.
        """
        if rows != self.rows:
            old = self.rows
            self.resize(rows)
            self._next, self._used = _sized(self._next, rows), _sized(self._used, rows)
            self._next[old:] = -1
        _chain(self._used, self._next, self._ends)


def _sized(array: NDArray[Any], rows: int, fresh: Any = 0) -> NDArray[Any]:
    if rows <= len(array):
        return array[:rows].copy() if rows < len(array) else array
    grown = np.empty(rows, array.dtype)
    grown[:len(array)] = array
    grown[len(array):] = fresh
    return grown


@njit(cache=True)
def _chain(used: Flags, following: Int64, ends: Int64) -> None:
    pages = len(used) >> PAGE_BITS
    room = np.zeros(pages, np.int64)
    for slot in range(len(used)):
        if not used[slot]:
            room[slot >> PAGE_BITS] += 1
    first, last = -1, -1
    for page in np.argsort(-room * pages + np.arange(pages)):
        if room[page] == 0:
            break
        for slot in range(page << PAGE_BITS, (page + 1) << PAGE_BITS):
            if not used[slot]:
                if last >= 0:
                    following[last] = slot
                else:
                    first = slot
                last = slot
                following[slot] = -1
    ends[0], ends[1] = first, last
