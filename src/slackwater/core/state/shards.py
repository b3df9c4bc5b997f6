"""Hashes of rows: which shard a key belongs to, and who sent a row."""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.errors import DataError
from slackwater.core.state.cells import NULL, cells_of
from slackwater.core.state.hashing import addresses, hash_rows

__all__ = ["hashes_of", "shard_of"]


def shard_of(batch: pa.RecordBatch, columns: tuple[str, ...], shards: int) -> NDArray[np.int32]:
    """The shard of each row, 0…shards−1: the same wherever and whenever it is asked.

    Equal values have equal hashes whatever the type that they come with.

    Examples
    --------
    >>> one, other = pa.record_batch({"k": [7]}), pa.record_batch({"q": [7.0]})
    >>> bool(shard_of(one, ("k",), 64)[0] == shard_of(other, ("q",), 64)[0])
    True
    """
    if not columns or shards == 1:
        return np.zeros(batch.num_rows, np.int32)
    cells = cells_of([batch.column(name) for name in columns], columns)
    # not the low bits, which decide the place within a shard's own tables
    return ((hash_rows(addresses(cells)) >> np.uint64(20)) % np.uint64(shards)).astype(np.int32)


def hashes_of(column: pa.Array) -> NDArray[np.int64]:
    """A number for each value, the same wherever and whenever it is asked; 0 for a null.

    Examples
    --------
    >>> a, b, again, nobody = hashes_of(pa.array(["a", "b", "a", None])).tolist()
    >>> a == again, a == b, nobody
    (True, False, 0)
    """
    try:
        cells = cells_of([column], ("",))
    except DataError:  # a type that no key can have
        return np.array([0 if value is None else zlib.crc32(repr(value).encode())
                         for value in column.to_pylist()], np.int64)
    hashes = hash_rows(addresses(cells)).view(np.int64)
    hashes[cells.tag[0] == NULL] = 0
    return hashes
