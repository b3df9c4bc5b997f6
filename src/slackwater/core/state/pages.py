"""Numbers per key, in pages: a snapshot writes only the pages that were touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state.record import Record

__all__ = ["Table"]

_PAGE = 1024


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
