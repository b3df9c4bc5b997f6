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
    """Remembers, for the codes 0, 1, 2… that a `KeyTable` gives, the values they stand for.

    Parameters
    ----------
    name
        Prefix of the pages in the store.
    columns
        The key columns; without any, all rows are of one group without a name.
    """

    def __init__(self, name: str, columns: tuple[str, ...]) -> None:
        self.name, self._columns = name, columns
        self._known: list[pa.RecordBatch] = []  # each more than twice as long as the next
        self._count = self._saved = 0

    def see(self, batch: pa.RecordBatch, codes: NDArray[np.int64]) -> None:
        """Note the values of codes not seen before."""
        if not self._columns:
            return
        fresh = np.flatnonzero(codes >= self._count)
        if len(fresh) == 0 and self._known:
            return
        found, where = np.unique(codes[fresh], return_index=True)
        self._known.append(batch.select(list(self._columns)).take(pa.array(fresh[where])))
        self._count += len(found)
        # so a name is copied a few times at most, however many come after it
        while len(self._known) > 1 and self._known[-2].num_rows <= 2 * self._known[-1].num_rows:
            self._known[-2:] = [batch_of(self._known[-2:])]

    def of(self, codes: NDArray[np.int64]) -> list[pa.Array]:
        """The key columns of these codes."""
        if not self._columns:
            return []
        if len(self._known) == 1 or len(codes) >= self._count:
            return self.all().take(pa.array(codes)).columns
        parts, order, first = [], [], 0
        for known in self._known:
            mine = np.flatnonzero((codes >= first) & (codes < first + known.num_rows))
            parts.append(known.take(pa.array(codes[mine] - first)))
            order.append(mine)
            first += known.num_rows
        back = np.empty(len(codes), np.int64)
        back[np.concatenate(order)] = np.arange(len(codes))
        return batch_of(parts).take(pa.array(back)).columns

    def all(self) -> pa.RecordBatch:
        """The key columns of every code, in the order of the codes; without any, one row."""
        if not self._columns:
            return pa.RecordBatch.from_struct_array(pa.array([{}], pa.struct([])))
        self._known = [batch_of(self._known)]
        return self._known[0]

    def save(self, store: Store) -> int:
        """Write the pages that have grown; the count is what `load` needs."""
        if self._count > self._saved:
            for page in range(self._saved // _PAGE, -(-self._count // _PAGE)):
                stop = min((page + 1) * _PAGE, self._count)
                names = self.of(np.arange(page * _PAGE, stop))
                store.put(f"{self.name}/{page}", ipc_bytes(
                    pa.RecordBatch.from_arrays(names, schema=self._known[0].schema)))
            self._saved = self._count
        return self._count

    def load(self, store: Store, count: int, schema: pa.Schema | None) -> None:
        """Read the pages; `schema` is that of the input, None before there was any."""
        if schema is None or not self._columns:
            return
        own = pa.schema([schema.field(c) for c in self._columns])
        pages = [ipc_batch(store.get(f"{self.name}/{page}"))
                 for page in range(-(-count // _PAGE))]
        self._known = [batch_of(pages or [pa.RecordBatch.from_pylist([], own)])]
        self._count = self._saved = count
