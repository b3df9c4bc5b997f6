"""Record batches as Arrow IPC bytes and back."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["batch_of", "ipc_batch", "ipc_bytes"]


def batch_of(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch out of several with the same schema."""
    if len(batches) == 1:
        return batches[0]
    return pa.concat_batches(batches)


def ipc_bytes(batch: pa.RecordBatch) -> bytes:
    """A batch as Arrow IPC, with its schema."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def ipc_batch(blob: bytes | pa.Buffer) -> pa.RecordBatch:
    """The batch that `ipc_bytes` wrote."""
    reader = pa.ipc.open_stream(blob)
    return reader.read_next_batch()
