"""Record batches as Arrow IPC bytes and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

__all__ = ["adds_columns", "empty_rows", "ipc_array", "ipc_batch", "ipc_buffer", "ipc_bytes",
           "joined", "widened"]


def adds_columns(old: pa.Schema, new: pa.Schema) -> bool:
    """Whether rows of the old columns can have the new ones: those that are added may be null.

    Examples
    --------
    >>> old = pa.schema([("a", pa.int64())])
    >>> adds_columns(old, pa.schema([("b", pa.string()), ("a", pa.int64())]))
    True
    >>> adds_columns(old, pa.schema([("a", pa.int32())])), adds_columns(old, pa.schema([]))
    (False, False)
    """
    return (all(field.name in new.names and new.field(field.name).type == field.type
                for field in old)
            and all(field.nullable for field in new if field.name not in old.names))


def widened(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with the columns of `schema`, null where they had none."""
    have = rows.schema.names
    return pa.RecordBatch.from_arrays(
        [rows.column(field.name) if field.name in have else pa.nulls(rows.num_rows, field.type)
         for field in schema], schema=schema)


def empty_rows(schema: pa.Schema | None) -> pa.RecordBatch:
    """No rows, of these columns (None: of none); not all types have a builder, but all have nulls.

    Examples
    --------
    >>> empty_rows(pa.schema([("at", pa.dictionary(pa.int8(), pa.timestamp("us")))])).num_rows
    0
    """
    schema = pa.schema([]) if schema is None else schema
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of them all; those without rows may have no columns yet."""
    full = [b for b in batches if b.num_rows] or batches[:1]
    return full[0] if len(full) == 1 else pa.concat_batches(full)


def ipc_array(batches: Sequence[pa.RecordBatch]) -> pa.BinaryArray:
    """Each batch as Arrow IPC, with its schema; all in one buffer, each row copied once.

    Examples
    --------
    >>> batches = [pa.record_batch({"x": [1]}), pa.record_batch({"x": [2, 3]})]
    >>> [ipc_batch(blob.as_buffer()).num_rows for blob in ipc_array(batches)]
    [1, 2]
    """
    ends = np.cumsum([0, *map(_size, batches)])
    buffer = pa.allocate_buffer(int(ends[-1]))
    sink = pa.FixedSizeBufferWriter(buffer)
    for batch in batches:
        _write(batch, sink)
    return pa.Array.from_buffers(pa.binary(), len(batches),
                                 [None, pa.py_buffer(ends.astype(np.int32)), buffer])


def ipc_buffer(batch: pa.RecordBatch) -> pa.Buffer:
    """A batch as Arrow IPC, with its schema, in memory that Arrow uses again."""
    buffer = pa.allocate_buffer(_size(batch))
    _write(batch, pa.FixedSizeBufferWriter(buffer))
    return buffer


def ipc_bytes(batch: pa.RecordBatch) -> bytes:
    """The same as bytes."""
    return ipc_buffer(batch).to_pybytes()


def _size(batch: pa.RecordBatch) -> int:
    sink = pa.MockOutputStream()
    _write(batch, sink)
    return int(sink.size())


def _write(batch: pa.RecordBatch, sink: pa.NativeFile) -> None:
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)


def ipc_batch(blob: bytes | pa.Buffer) -> pa.RecordBatch:
    """The batch that was written so."""
    reader = pa.ipc.open_stream(blob)
    return reader.read_next_batch()
