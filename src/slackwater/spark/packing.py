"""Rows to blobs and back: the two ends of the runner, both `mapInArrow`.

A micro-batch crosses the shuffle and the state operator as a handful of Arrow blobs instead of
hundreds of thousands of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from slackwater.state.hold import batch_of, ipc_batch, ipc_bytes

__all__ = ["PACKED", "SHARD", "UNPACKED", "canonical_schema", "pack", "shard_labels", "unpack"]

SHARD = "_shard"
PACKED = "shard int, part int, chunk int, blob binary, tick bigint"
UNPACKED = "status string, blob binary"

_PACKED_ARROW = pa.schema([("shard", pa.int32()), ("part", pa.int32()), ("chunk", pa.int32()),
                           ("blob", pa.binary()), ("tick", pa.int64())])
_CHUNK = 1 << 18   # rows a task gathers before it packs them: bounds its memory
_SLICE = 1 << 16   # rows of one Arrow batch handed back to the JVM

Batches = Iterator[pa.RecordBatch]


def canonical_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns with every zoned timestamp in UTC.

    Spark labels timestamps with the session's zone.  The instants are the same, but a checkpoint
    must not depend on the label.
    """
    return pa.schema([_canonical(field) for field in schema])


def _canonical(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return field.with_type(pa.timestamp(kind.unit, "UTC")).with_metadata(None)
    return field.with_metadata(None)


def pack(schema: pa.Schema) -> Callable[[Batches], Batches]:
    """For mapInArrow: rows that carry their shard's label → one blob a shard and chunk.

    `schema` is the canonical schema of the rows without the label, which is the last column.
    """

    def run(batches: Batches) -> Batches:
        context = TaskContext.get()
        part = context.partitionId() if context is not None else 0
        waiting: list[pa.RecordBatch] = []
        rows = chunk = 0
        for batch in batches:
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= _CHUNK:
                yield _pack_chunk(waiting, schema, part, chunk)
                waiting, rows, chunk = [], 0, chunk + 1
        if rows:
            yield _pack_chunk(waiting, schema, part, chunk)

    return run


def _pack_chunk(batches: list[pa.RecordBatch], schema: pa.Schema, part: int,
                chunk: int) -> pa.RecordBatch:
    batch = batch_of(batches)
    label = batch.column(batch.num_columns - 1).to_numpy(zero_copy_only=False)
    columns = [c.cast(f.type) if c.type != f.type else c
               for c, f in zip(batch.columns[:-1], schema, strict=True)]
    rows = pa.RecordBatch.from_arrays(columns, schema=schema)
    order = np.argsort(label, kind="stable")
    labels, starts = np.unique(label[order], return_index=True)
    if len(labels) > 1:
        rows = rows.take(pa.array(order))
    ends = np.append(starts[1:], len(label))
    blobs = [ipc_bytes(rows.slice(a, b - a)) for a, b in zip(starts, ends, strict=True)]
    n = len(labels)
    return pa.RecordBatch.from_arrays(
        [pa.array(labels, pa.int32()), pa.array([part] * n, pa.int32()),
         pa.array([chunk] * n, pa.int32()), pa.array(blobs, pa.binary()),
         pa.nulls(n, pa.int64())], schema=_PACKED_ARROW)


def unpack(schema: pa.Schema) -> Callable[[Batches], Batches]:
    """For mapInArrow: blobs with their rows' status → rows with the columns of `schema`."""

    def run(batches: Batches) -> Batches:
        for packed in batches:
            status, blobs = packed.column(0), packed.column(1)
            for i in range(packed.num_rows):
                yield from with_status(ipc_batch(blobs[i].as_buffer()), status[i].as_py(), schema)

    return run


def with_status(rows: pa.RecordBatch, status: str, schema: pa.Schema) -> Batches:
    """Rows in the output's shape: ``_status`` added, columns that this kind of row lacks null."""
    for at in range(0, rows.num_rows, _SLICE):
        part = rows.slice(at, _SLICE)
        columns = []
        for field in schema:
            if field.name == "_status":
                columns.append(pa.repeat(pa.scalar(status), part.num_rows))
            elif field.name in part.schema.names:
                column = part.column(field.name)
                columns.append(column if column.type == field.type else column.cast(field.type))
            else:
                columns.append(pa.nulls(part.num_rows, field.type))
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def shard_labels(shards: int) -> list[int]:
    """One label a shard, such that Spark's hash partitioner sends each to a partition of its own.

    Spark puts a group into partition murmur3(label) mod partitions; labels 0, 1, 2… collide, and
    two shards on one core leave another idle.

    Examples
    --------
    >>> sorted(_murmur3_int(label) % 4 for label in shard_labels(4))
    [0, 1, 2, 3]
    """
    found: dict[int, int] = {}
    label = 0
    while len(found) < shards:
        found.setdefault(_murmur3_int(label) % shards, label)
        label += 1
    return [found[partition] for partition in range(shards)]


def _murmur3_int(value: int, seed: int = 42) -> int:
    """MurmurHash3 (x86, 32 bits) of one int, as Spark's HashPartitioning computes it; signed."""
    mask = 0xFFFFFFFF

    def rotate(x: int, by: int) -> int:
        return ((x << by) | (x >> (32 - by))) & mask

    k = rotate((value & mask) * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    h = (rotate(seed ^ k, 13) * 5 + 0xE6546B64) & mask
    h ^= 4
    h = (h ^ (h >> 16)) * 0x85EBCA6B & mask
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h
