"""Key columns to dense codes, the same codes for the life of the logic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.errors import DataError
from slackwater.core.kernel import Store

__all__ = ["KeyTable"]

_PAGE = 4096
_SEPARATOR, _NULL = "\x1f", "\x00"


class KeyTable:
    """Gives each combination of key values a code: 0, 1, 2… in order of first arrival.

    Examples
    --------
    >>> keys = KeyTable("k", ["room"])
    >>> batch = pa.record_batch({"room": ["b", "a", "b"]})
    >>> keys.codes(batch).tolist(), keys.names
    ([0, 1, 0], ['b', 'a'])
    """

    def __init__(self, name: str, columns: tuple[str, ...] | list[str]) -> None:
        self.name, self.columns = name, tuple(columns)
        self._known = pa.array([], pa.large_string())
        self._saved = 0
        self._parts: tuple[int, pa.Array] | None = None

    def __len__(self) -> int:
        return len(self._known) if self.columns else 1

    @property
    def names(self) -> list[str]:
        """The keys as text, in the order of their codes."""
        return [n.replace(_SEPARATOR, ", ").replace(_NULL, "null")
                for n in self._known.to_pylist()] if self.columns else [""]

    def part(self, column: int) -> pa.Array:
        """The text of one key column, in the order of the codes."""
        if self._parts is None or len(self._parts[1]) != len(self._known) \
                or self._parts[0] != column:
            text = self._known
            if len(self.columns) > 1:
                text = pc.list_element(pc.split_pattern(text, _SEPARATOR),
                                       column % len(self.columns))
            self._parts = (column, pc.replace_substring(text, _NULL, "null"))
        return self._parts[1]

    def codes(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """The code of each row's key; keys not seen before get the next codes."""
        if not self.columns:
            return np.zeros(batch.num_rows, np.int64)
        text = self.text(batch).dictionary_encode()
        distinct, local = text.dictionary, text.indices.to_numpy(zero_copy_only=False)
        # Arrow numbers a dictionary by first appearance, so new codes do not depend on cuts
        found = pc.index_in(distinct, value_set=self._known)
        new = distinct.filter(found.is_null())
        if len(new):
            self._known = pa.concat_arrays([self._known, new])
            found = pc.index_in(distinct, value_set=self._known)
        return found.to_numpy(zero_copy_only=False).astype(np.int64)[local]

    def text(self, batch: pa.RecordBatch) -> pa.Array:
        """Each row's key as one text."""
        parts = []
        for name in self.columns:
            column = batch.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            try:
                part = column.cast(pa.large_string())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as why:
                raise DataError(f"column {name!r} cannot be a key", step="key", got=column.type,
                                expected="text, numbers, booleans, dates or times") from why
            parts.append(pc.fill_null(part, _NULL))
        if len(parts) == 1:
            return parts[0]
        return pc.binary_join_element_wise(*parts, pa.scalar(_SEPARATOR, pa.large_string()))

    def save(self, store: Store) -> int:
        """Write the pages that have grown; the count is what `load` needs."""
        total = len(self._known)
        for page in range(self._saved // _PAGE, -(-total // _PAGE)) if total > self._saved else ():
            part = self._known.slice(page * _PAGE, _PAGE)
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, pa.schema([("k", pa.large_string())])) as writer:
                writer.write_batch(pa.record_batch([part], names=["k"]))
            store.put(f"{self.name}/{page}", sink.getvalue().to_pybytes())
        self._saved = total
        return total

    def load(self, store: Store, total: int) -> None:
        """Read the pages of a table of `total` keys."""
        pages = [pa.ipc.open_stream(store.get(f"{self.name}/{page}")).read_all().column(0)
                 for page in range(-(-total // _PAGE))]
        self._known = pa.concat_arrays(
            [chunk for page in pages for chunk in page.chunks] or [self._known])
        self._saved = total
