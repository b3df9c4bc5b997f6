"""Rows to blobs and back: the two ends of the runner, both `mapInArrow`.

A micro-batch crosses the shuffle and the state operator as a handful of Arrow blobs instead of
hundreds of thousands of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql.pandas.types import is_variant

from slackwater.core.events import RESERVED
from slackwater.core.state.ipc import ipc_array, ipc_batch, ipc_buffer, joined
from slackwater.spark.runner.position import POSITION
from slackwater.spark.session.worker import settle

__all__ = ["PACKED", "ROW", "UNPACKED", "Target", "blobs_of", "canonical_schema", "cast_to",
           "pack", "shard_labels", "unpack", "with_status"]

ROW = "_row"
PACKED = ("shard int, step string, input int, part int, chunk int, blob binary, clock bigint")
UNPACKED = "stream string, status string, whole string, rows bigint, blob binary, stats string"

_PACKED_ARROW = pa.schema([
    ("shard", pa.int32()), ("step", pa.string()),
    *((name, pa.int32()) for name in ("input", "part", "chunk")),
    ("blob", pa.binary()), ("clock", pa.int64())])
_CHUNK = 1 << 18   # rows a task gathers before it packs them: bounds its memory
_BYTES = 1 << 24   # and the bytes of them
_SLICE = 1 << 16   # rows of one Arrow batch handed back to the JVM
_BLOB = 1 << 23    # bytes of one blob on its way out
_PARTITIONS = 5040  # shards are spread evenly over any number of partitions that divides it
_TRIED = 1 << 16    # labels hashed at a time
_RANGE = 1 << 24    # labels that a group may choose from

Batches = Iterator[pa.RecordBatch]
Int = NDArray[np.integer]
Spread = Callable[[pa.RecordBatch], tuple[pa.RecordBatch, Int]]


def canonical_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns with every zoned timestamp in UTC.

    Spark labels timestamps with the session's zone.  The instants are the same, but a checkpoint
    must not depend on the label.
    """
    return pa.schema([_canonical(field) for field in schema])


def _canonical(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _canonical_type(field.type), field.nullable)


def _canonical_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        # what is said beside the fields of a variant makes it one
        return kind if is_variant(kind) else pa.struct([_canonical(field) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_canonical(kind.value_field))
    return kind


Clock = Callable[[pa.RecordBatch], int | None]
"""Gives the greatest arrival of rows."""


@dataclass(frozen=True)
class Target:
    """Where packed rows go.

    Parameters
    ----------
    step, at
        The step, and the number of its input.
    labels
        The labels of its shards.
    columns
        The columns that it wants; None: all.
    shard_by, spread
        As of an `Input`.
    clock
        With it, every shard hears how far a partition of the input has come.
    """

    step: str
    at: int
    labels: tuple[int, ...]
    shard_by: tuple[str, ...] = ()
    spread: Spread | None = None
    clock: Clock | None = None
    columns: tuple[str, ...] | None = None


def pack(schema: pa.Schema, targets: tuple[Target, ...]) -> Callable[[Batches], Batches]:
    """For mapInArrow: rows of the canonical `schema` → for each target a blob per shard and chunk.
    """

    def run(batches: Batches) -> Batches:
        context = TaskContext.get()
        part = context.partitionId() if context is not None else 0
        waiting: list[pa.RecordBatch] = []
        rows = size = chunk = 0
        reached: list[int | None] = [None] * len(targets)

        def packed() -> Batches:
            whole = cast_to(joined(waiting), schema)
            for i, target in enumerate(targets):
                given, shard = _split(whole, target)
                now = None if target.clock is None else target.clock(given)
                if now is not None:
                    reached[i] = max(now, reached[i] or now)
                yield _pack_chunk(given, shard, target, part, chunk)

        for batch in batches:
            waiting.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= _CHUNK or size >= _BYTES:
                yield from packed()
                waiting, rows, size, chunk = [], 0, 0, chunk + 1
        if rows:
            yield from packed()
        for target, now in zip(targets, reached, strict=True):
            if now is not None:
                labels = list(target.labels)
                yield _packed(labels, target, part, -1, pa.nulls(len(labels), pa.binary()), now)
        settle()

    return run


def _split(rows: pa.RecordBatch, target: Target) -> tuple[pa.RecordBatch, Int]:
    """The rows, and the number of each one's shard."""
    shards = len(target.labels)
    if target.columns is not None:
        position = [POSITION] if POSITION in rows.schema.names else []
        rows = rows.select([*target.columns, *position])
    if target.spread is not None:
        rows, place = target.spread(rows)
        return rows, place % shards
    if not target.shard_by or shards == 1:
        return rows, np.zeros(rows.num_rows, np.uint16)
    from slackwater.core.state.shards import shard_of  # loads a compiler: only where it is needed

    return rows, shard_of(rows, target.shard_by, shards)


def _pack_chunk(rows: pa.RecordBatch, shard: Int, target: Target, part: int,
                chunk: int) -> pa.RecordBatch:
    counts = np.bincount(shard, minlength=len(target.labels))
    present = np.flatnonzero(counts)
    if len(present) > 1:  # small numbers are sorted by their digits, in one pass or two
        small = np.uint16 if len(counts) <= 1 << 16 else np.int64
        rows = rows.take(pa.array(np.argsort(shard.astype(small), kind="stable")))
    ends = np.cumsum(counts[present]).tolist()
    blobs = ipc_array([rows.slice(a, b - a) for a, b in pairwise([0, *ends])])
    labels = [target.labels[one] for one in present.tolist()]
    return _packed(labels, target, part, chunk, blobs, None)


def _packed(labels: list[int], target: Target, part: int, chunk: int, blobs: pa.BinaryArray,
            clock: int | None) -> pa.RecordBatch:
    n = len(labels)
    return pa.RecordBatch.from_arrays(
        [pa.array(labels, pa.int32()), pa.array([target.step] * n, pa.string()),
         *(pa.array([i] * n, pa.int32()) for i in (target.at, part, chunk)),
         blobs, pa.array([clock] * n, pa.int64())], schema=_PACKED_ARROW)


def blobs_of(rows: pa.RecordBatch) -> Iterator[tuple[int, memoryview]]:
    """Rows as blobs of bounded size, each with its number of rows."""
    each = max(1, min(rows.num_rows, int(rows.num_rows * _BLOB / max(rows.nbytes, 1))))
    for at in range(0, rows.num_rows, each):
        part = rows.slice(at, each)
        yield part.num_rows, memoryview(ipc_buffer(part))


def cast_to(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with a schema that differs in labels of zones at most."""
    columns = [c if c.type == f.type else c.cast(f.type)
               for c, f in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def unpack(schema: pa.Schema) -> Callable[[Batches], Batches]:
    """For mapInArrow: blobs with their rows' status → rows with the columns of `schema`."""

    def run(batches: Batches) -> Batches:
        for packed in batches:
            for i in range(packed.num_rows):
                status, whole, blob = (packed.column(c)[i] for c in (1, 2, 4))
                yield from with_status(ipc_batch(blob.as_buffer()), status.as_py(), whole.as_py(),
                                       schema)
        settle()

    return run


def with_status(rows: pa.RecordBatch, status: str, whole: str, schema: pa.Schema) -> Batches:
    """Rows in the output's shape: ``_status`` added, columns that this kind of row lacks null.

    Rows that are no results go into the column `whole`, where the schema has one.
    """
    inside = whole if status != "ready" and whole in schema.names else None
    for at in range(0, rows.num_rows, _SLICE):
        part = rows.slice(at, _SLICE)
        yield pa.RecordBatch.from_arrays(
            [_column(part, field, status, inside) for field in schema], schema=schema)


def _column(rows: pa.RecordBatch, field: pa.Field, status: str, inside: str | None) -> pa.Array:
    if field.name == "_status":
        return pa.repeat(pa.scalar(status), rows.num_rows)
    if field.name == inside:
        parts = [_column(rows, f, status, None) for f in field.type]
        return pa.StructArray.from_arrays(parts, fields=list(field.type))
    if field.name not in rows.schema.names or (inside and field.name not in RESERVED):
        return pa.nulls(rows.num_rows, field.type)
    column = rows.column(field.name)
    return column if column.type == field.type else column.cast(field.type)


def shard_labels(shards: int, group: int = 0) -> tuple[int, ...]:
    """One label per shard, such that Spark spreads them evenly over however many partitions.

    Spark puts a group into partition murmur3(label) mod partitions; with labels 0, 1, 2… some
    partitions would have many shards and others none.  Here the hashes are 0, 1, 2… modulo a number
    that most partition counts divide, so that shards go round and round.  Each group of steps has
    a range of labels to itself.

    Examples
    --------
    >>> hashes = _murmur3(np.array(shard_labels(8)))
    >>> (hashes % 8).tolist(), np.bincount(hashes % 3).tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7], [3, 3, 2])
    >>> set(shard_labels(1, group=1)) & set(shard_labels(4))
    set()
    """
    modulus = math.lcm(_PARTITIONS, shards)
    found: dict[int, int] = {}
    start = group * _RANGE
    while len(found) < shards:
        labels = np.arange(start, start + _TRIED)
        start += _TRIED
        hashes = _murmur3(labels) % modulus
        for at in np.flatnonzero(hashes < shards).tolist():
            found.setdefault(int(hashes[at]), int(labels[at]))
    return tuple(found[shard] for shard in range(shards))


def _murmur3(values: Int, seed: int = 42) -> Int:
    """MurmurHash3 (x86, 32 bits) of each int, as Spark's HashPartitioning computes it; signed."""

    def rotate(x: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
        return (x << np.uint32(by)) | (x >> np.uint32(32 - by))

    k = rotate(values.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    h = rotate(k ^ np.uint32(seed), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    h ^= np.uint32(4)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (h ^ (h >> np.uint32(16))).view(np.int32).astype(np.int64)
