"""Numbers per key, in pages: a snapshot writes only the pages that were touched."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.errors import SnapshotError
from slackwater.core.kernel import Store
from slackwater.core.state.record import Record

__all__ = ["Pages", "Table", "pack_flags", "unpack_flags"]

_PAGE = 1024
_PAGE_BYTES = 16 * 1024


class Table:
    """Columns of numbers that grow by rows.

    Parameters
    ----------
    name
        Prefix of the table's pages in the store.
    columns
        Column name to the value that a new row starts with: a scalar, or a vector for a column
        with several numbers a row. Its dtype is the column's.

    Examples
    --------
    >>> table = Table("t", {"last": np.int64(-1)})
    >>> table.grow(3)
    >>> table.touch(np.array([1])); table["last"][1] = 7
    >>> table["last"].tolist()
    [-1, 7, -1]
    """

    def __init__(self, name: str, columns: Mapping[str, Any]) -> None:
        self.name = name
        self.rows = 0
        self._fresh = {column: np.asarray(value) for column, value in columns.items()}
        self._data: dict[str, NDArray[Any]] = {
            column: np.empty((0, *value.shape), value.dtype)
            for column, value in self._fresh.items()
        }
        self._dirty = np.zeros(0, bool)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self._data[column][: self.rows]

    def grow(self, rows: int) -> None:
        """Have at least `rows` rows, the new ones fresh."""
        if rows <= self.rows:
            return
        room = len(next(iter(self._data.values())))
        if rows > room:
            for column, fresh in self._fresh.items():
                grown = np.empty((max(rows, 2 * room, 16), *fresh.shape), fresh.dtype)
                grown[: self.rows] = self._data[column][: self.rows]
                self._data[column] = grown
        for column, fresh in self._fresh.items():
            self._data[column][self.rows:rows] = fresh
        first, self.rows = self.rows, rows
        pages = -(-rows // _PAGE)
        if pages > len(self._dirty):
            self._dirty = np.concatenate([self._dirty, np.zeros(pages - len(self._dirty), bool)])
        self._dirty[first // _PAGE:] = True

    def touch(self, rows: NDArray[Any]) -> None:
        """Note that these rows change."""
        if len(rows) and len(self._dirty) == 1:
            self._dirty[0] = True
        elif len(rows):
            self._dirty[np.asarray(rows) // _PAGE] = True

    def save(self, store: Store) -> int:
        """Write the touched pages; the number of rows is what `load` needs."""
        for page in np.flatnonzero(self._dirty):
            rows = slice(page * _PAGE, min((page + 1) * _PAGE, self.rows))
            arrays = {column: data[rows] for column, data in self._data.items()}
            store.put(f"{self.name}/{page}", Record(self.name, 1, {}, arrays).encode())
        self._dirty[:] = False
        return self.rows

    def load(self, store: Store, rows: int) -> None:
        """Read the pages of a table of `rows` rows."""
        self.grow(rows)
        for page in range(-(-rows // _PAGE)):
            record = Record.decode(store.get(f"{self.name}/{page}"), kind=self.name, version=1)
            for column, data in self._data.items():
                data[page * _PAGE:page * _PAGE + len(record.arrays[column])] = record.arrays[column]
        self._dirty[:] = False


class Pages:
    """Columns of numbers that grow by rows, saved in pages of bytes and loaded when needed.

    A page is written if one of its rows was touched, and dropped from the store once all its rows
    are fresh again.  After `load` nothing is in memory: `need` reads the pages of the rows that the
    caller is going to look at, `touch` those that it is going to change.

    Parameters
    ----------
    name
        Prefix of the pages in the store.
    columns
        Column name to the value that a fresh row has: a scalar, a vector for a column with several
        numbers per row, or a structured scalar for a column of records. Its dtype is the column's.
    store
        Where pages go at a snapshot, and come from when they are needed.
    page_bytes
        About how large a page is; it holds at least one row.

    Examples
    --------
    >>> from slackwater.core.kernel import MemoryStore
    >>> store = MemoryStore()
    >>> table = Pages("t", {"last": np.int64(-1)}, store)
    >>> table.grow(3)
    >>> table.touch(np.array([1])); table["last"][1] = 7
    >>> resumed = Pages("t", {"last": np.int64(-1)}, store)
    >>> resumed.load(table.save())
    >>> resumed.need(np.array([0, 1, 2])); resumed["last"].tolist()
    [-1, 7, -1]
    """

    def __init__(self, name: str, columns: Mapping[str, Any], store: Store, *,
                 page_bytes: int = _PAGE_BYTES) -> None:
        self.name, self.rows, self._store = name, 0, store
        self._fresh = {column: np.asarray(value) for column, value in columns.items()}
        # rows as plain bytes: to fill, compare and copy them alike whatever their dtype
        self._blank = {column: np.frombuffer(value.tobytes(), np.uint8)
                       for column, value in self._fresh.items()}
        self._raw: dict[str, NDArray[np.uint8]] = {}
        self._data: dict[str, NDArray[Any]] = {}
        row_bytes = sum(value.nbytes for value in self._fresh.values())
        self._shift = max(page_bytes // max(row_bytes, 1), 1).bit_length() - 1
        self._dirty = np.zeros(0, bool)
        self._stored = np.zeros(0, bool)
        self._missing = np.zeros(0, bool)  # pages whose rows are not in memory yet
        self._complete = True
        self._allocate(16)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self._data[column][: self.rows]

    @property
    def complete(self) -> bool:
        """Whether all rows are in memory."""
        return self._complete

    def grow(self, rows: int) -> None:
        """Have at least `rows` rows, the new ones fresh."""
        if rows <= self.rows:
            return
        if rows > len(next(iter(self._raw.values()))):
            self._allocate(max(rows, 2 * self.rows))
        first, self.rows = self.rows, rows
        self._cover()
        for column, blank in self._blank.items():
            # rows of a page that is not loaded yet become fresh when it is, this does no harm
            self._raw[column][first:rows] = blank

    def need(self, rows: NDArray[Any]) -> None:
        """Have these rows in memory."""
        if self._complete or len(rows) == 0:
            return
        pages = np.zeros(len(self._missing), bool)
        pages[rows >> self._shift] = True
        self._fetch(pages)

    def need_all(self) -> None:
        """Have all rows in memory."""
        if not self._complete:
            self._fetch(np.ones(len(self._missing), bool))

    def touch(self, rows: NDArray[Any]) -> None:
        """Have these rows in memory, and note that they change."""
        if len(rows) == 0:
            return
        self.need(rows)
        if len(self._dirty) == 1:
            self._dirty[0] = True
        else:
            self._dirty[rows >> self._shift] = True

    def reset(self, rows: NDArray[Any]) -> None:
        """Make these rows fresh again."""
        self.touch(rows)
        for column, blank in self._blank.items():
            self._raw[column][rows] = blank

    def save(self) -> dict[str, Any]:
        """Write the touched pages; the result, plain JSON values, is what `load` needs."""
        for page in np.flatnonzero(self._dirty).tolist():
            rows = self._span(page)
            used = any((raw[rows] != self._blank[column]).any()
                       for column, raw in self._raw.items())
            if used:
                arrays = {column: data[rows] for column, data in self._data.items()}
                self._store.put(self._blob(page), Record(self.name, 2, {}, arrays).encode())
            elif self._stored[page]:
                self._store.drop(self._blob(page))
            self._stored[page] = used
        self._dirty[:] = False
        return {"rows": self.rows, "shift": self._shift, "stored": pack_flags(self._stored)}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Know the pages that `save` wrote; they are read when they are needed."""
        self.rows, self._shift = meta["rows"], meta["shift"]
        self._allocate(self.rows + self.rows // 4 + 16, keep=False)
        self._dirty = np.zeros(0, bool)
        self._cover()
        self._stored = unpack_flags(meta["stored"], len(self._dirty))
        self._missing = np.ones(len(self._dirty), bool)
        self._complete = self.rows == 0

    # -- inside ---------------------------------------------------------------------------------

    def _blob(self, page: int) -> str:
        return f"{self.name}/{page}"

    def _span(self, page: int) -> slice:
        return slice(page << self._shift, min((page + 1) << self._shift, self.rows))

    def _allocate(self, room: int, *, keep: bool = True) -> None:
        # not initialised: a large table takes no memory for pages that nobody has needed
        for column, fresh in self._fresh.items():
            raw = np.empty((room, fresh.nbytes), np.uint8)
            if keep and self.rows:
                raw[: self.rows] = self._raw[column][: self.rows]
            self._raw[column] = raw
            self._data[column] = raw.reshape(-1).view(fresh.dtype).reshape((room, *fresh.shape))

    def _cover(self) -> None:
        """Have flags for all pages; the new ones are in memory and not in the store."""
        pages = (self.rows + (1 << self._shift) - 1) >> self._shift
        if pages == len(self._dirty):
            return
        more = np.zeros(pages - len(self._dirty), bool)
        self._dirty = np.concatenate([self._dirty, more])
        self._stored = np.concatenate([self._stored, more])
        self._missing = np.concatenate([self._missing, more])

    def _fetch(self, wanted: NDArray[np.bool_]) -> None:
        for page in np.flatnonzero(wanted & self._missing).tolist():
            rows = self._span(page)
            for column, blank in self._blank.items():
                self._raw[column][rows] = blank
            if self._stored[page]:
                self._read(page)
            self._missing[page] = False
        self._complete = not self._missing.any()

    def _read(self, page: int) -> None:
        arrays = Record.decode(self._store.get(self._blob(page)), kind=self.name, version=2).arrays
        for column, fresh in self._fresh.items():
            saved = arrays.get(column)
            if saved is None or saved.dtype != fresh.dtype or saved.shape[1:] != fresh.shape:
                raise SnapshotError(
                    f"column {column!r} of the table {self.name!r} has another layout",
                    step="restore", expected=f"{fresh.dtype} {fresh.shape}",
                    got="nothing" if saved is None else f"{saved.dtype} {saved.shape[1:]}",
                    hint="resume with the release that wrote the snapshot, or start afresh")
            first = page << self._shift
            self._raw[column][first:first + len(saved)] = (
                np.ascontiguousarray(saved).view(np.uint8).reshape(len(saved), fresh.nbytes))


def pack_flags(flags: NDArray[np.bool_]) -> str:
    """Booleans as text, for a record's head."""
    return base64.b64encode(np.packbits(flags).tobytes()).decode()


def unpack_flags(text: str, count: int) -> NDArray[np.bool_]:
    """The first `count` booleans that `pack_flags` wrote."""
    bits = np.frombuffer(base64.b64decode(text), np.uint8)
    return np.unpackbits(bits, count=count).astype(bool)
