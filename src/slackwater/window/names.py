"""The key values of each group, with their types, in pages: what a result row is labelled with."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state.buffer import batch_of, ipc_batch, ipc_bytes

__all__ = ["Names"]

_PAGE = 4096


class Names:
    """Remembers, for the codes 0, 1, 2… that a `KeyTable` gives, the values they stand for."""

    def __init__(self, name: str, columns: tuple[str, ...]) -> None:
        self.name, self._columns = name, columns
        self._known: list[pa.RecordBatch] = []
        self._count = self._saved = 0

    def see(self, batch: pa.RecordBatch, codes: NDArray[np.int64]) -> None:
        """Note the values of codes not seen before."""
        if not self._columns:
            return
        fresh = np.flatnonzero(codes >= self._count)
        if len(fresh) == 0 and self._known:
            return
        found, where = np.unique(codes[fresh], return_index=True)
        rows = batch.select(list(self._columns)).take(pa.array(fresh[where]))
        self._known.append(rows)
        self._count += len(found)

    def of(self, codes: NDArray[np.int64]) -> list[pa.Array]:
        """The key columns of these codes."""
        if not self._columns:
            return []
        return self.all().take(pa.array(codes)).columns

    def all(self) -> pa.RecordBatch:
        """The key columns of every code, in the order of the codes; without any, one row."""
        if not self._columns:
            return pa.RecordBatch.from_struct_array(pa.array([{}], pa.struct([])))
        if len(self._known) > 1:
            self._known = [batch_of(self._known)]
        return self._known[0]

    def save(self, store: Store) -> int:
        """Write the pages that have grown; the count is what `load` needs."""
        if self._count > self._saved:
            for page in range(self._saved // _PAGE, -(-self._count // _PAGE)):
                store.put(f"{self.name}/{page}",
                          ipc_bytes(self.all().slice(page * _PAGE, _PAGE)))
            self._saved = self._count
        return self._count

    def load(self, store: Store, count: int) -> None:
        """Read the pages."""
        self._known = [ipc_batch(store.get(f"{self.name}/{page}"))
                       for page in range(-(-count // _PAGE))]
        self._count = self._saved = count
