"""The one runner that carries every kernel onto Spark.

Streaming: `mapInArrow` packs rows into a blob a shard, `transformWithState` runs the kernel over a
shard's blobs and keeps its state, `mapInArrow` unpacks.  Batch: Spark's own sort puts each
partition in arrival order, and the kernel runs through it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from slackwater.errors import ConfigError, SnapshotError
from slackwater.events import event_times
from slackwater.kernel import Kernel, Logic, Out
from slackwater.spark._state import Head, SparkStore
from slackwater.spark.packing import (
    PACKED,
    SHARD,
    UNPACKED,
    canonical_schema,
    pack,
    shard_labels,
    unpack,
    with_status,
)
from slackwater.spark.ticks import ticks
from slackwater.state.hold import batch_of, ipc_batch, ipc_bytes

__all__ = ["Carried", "carry"]

_POSITION = "_position"
_STATUSES = ("ready", "late", "quarantined")


@dataclass(frozen=True)
class Carried:
    """What the runner has to know about a kernel to carry it.

    Parameters
    ----------
    kernel
        The configuration.
    shard_by
        Columns that keep a key's rows together; empty: all rows in one shard.
    arrival, unit
        The arrival column and the unit of integer times: rows enter the kernel in its order.
    quiet
        Real time in microseconds after which a silent key's held rows leave; None: never.
    step
        The operator's name in messages.
    """

    kernel: Kernel
    shard_by: tuple[str, ...]
    arrival: str
    unit: str | None
    quiet: int | None
    step: str


def carry(df: DataFrame, what: Carried, *, shards: int | None = None) -> DataFrame:
    """Run a kernel over a streaming or batch DataFrame."""
    schema = canonical_schema(to_arrow_schema(df.schema, timezone="UTC"))
    output = output_schema(what.kernel, schema)
    if not df.isStreaming:
        return _batch(df, what, schema, output)
    session = df.sparkSession
    _check_state_store(session.conf.get("spark.sql.streaming.stateStore.providerClass", ""),
                       what.step)
    if shards is None:
        shards = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    if not what.shard_by:
        shards = 1
    labels = F.array(*[F.lit(label) for label in shard_labels(shards)])
    slot = (F.pmod(F.xxhash64(*what.shard_by), F.lit(shards)).cast("int")
            if what.shard_by else F.lit(0))
    packed = df.withColumn(SHARD, F.get(labels, slot)).mapInArrow(pack(schema), PACKED)
    if what.quiet is not None:
        packed = packed.unionAll(ticks(session, labels, what.quiet))
    return (
        packed.groupBy("shard")
        .transformWithState(ShardProcessor(what, shards), UNPACKED, "append", "none")
        .mapInArrow(unpack(output), from_arrow_schema(output))
    )


def output_schema(kernel: Kernel, schema: pa.Schema) -> pa.Schema:
    """The columns of all of a kernel's rows: those of its results, then those that only its late
    or quarantined rows have, and ``_status``."""
    out = kernel.start().push(pa.RecordBatch.from_pylist([], schema))
    fields = {field.name: field for batch in (out.ready, out.late) for field in batch.schema}
    tail = [fields.pop(name) for name in ("_reason", "_released") if name in fields]
    return pa.schema([*fields.values(), pa.field("_status", pa.string()), *tail])


def _check_state_store(provider: str, step: str) -> None:
    if not provider.endswith("RocksDBStateStoreProvider"):
        raise ConfigError(
            "streaming state needs Spark's RocksDB state store", step=step, got=provider,
            hint="set spark.sql.streaming.stateStore.providerClass as slackwater.spark.settings() "
                 "says, before the session starts or with spark.conf.set",
        )


def statuses(out: Out) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The batches of an Out that have rows, with their status."""
    for status in _STATUSES:
        batch = getattr(out, status)
        if batch.num_rows:
            yield status, batch


def in_arrival_order(batch: pa.RecordBatch, arrival: str, unit: str | None) -> pa.RecordBatch:
    """Rows sorted by arrival; ties stay in input order, unreadable arrivals come first."""
    stamps, readable = event_times(batch.column(arrival), unit=unit, name=arrival)
    stamps = np.where(readable, stamps, np.iinfo(np.int64).min)
    if (stamps[1:] >= stamps[:-1]).all():
        return batch
    return batch.take(pa.array(np.argsort(stamps, kind="stable")))


# -- streaming --------------------------------------------------------------------------------


class ShardProcessor(StatefulProcessor):
    """Runs a kernel over one shard's blobs in each micro-batch."""

    def __init__(self, what: Carried, shards: int) -> None:
        self._what, self._shards = what, shards

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._handle = handle
        self._head = handle.getValueState("head", Head.SCHEMA)
        self._store = SparkStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        """Push a micro-batch, and let time pass by its ticks."""
        every = list(rows)
        blobs = sorted((r for r in every if r.blob is not None), key=lambda r: (r.part, r.chunk))
        tick = max((r.tick for r in every if r.blob is None), default=None)
        row = self._head.get()
        head = None if row is None else Head.from_row(row)
        if not blobs and (head is None or head.held == 0):
            return  # nothing came and nothing waits
        logic = self._resume(head)
        before = None if head is None else head.tick
        if before is not None and tick is not None:
            # what a query missed while it was down (or slow) is not its keys' silence
            logic.elapse(min(tick - before, (self._what.quiet or 0) // 2))
        out = None
        if blobs:
            batch = batch_of([ipc_batch(r.blob) for r in blobs])
            batch = in_arrival_order(batch, self._what.arrival, self._what.unit)
            out = logic.push(batch)
            yield from _rows_of(out)
        if tick is not None:
            out = logic.idle(self._what.quiet or 0)
            yield from _rows_of(out)
        assert out is not None
        index = logic.snapshot()
        self._store.flush()
        now = Head(self._shards, before if tick is None else tick, out.notes["held"], index)
        self._head.update(now.to_row())

    def close(self) -> None:
        """Nothing is open."""

    def _resume(self, head: Head | None) -> Logic:
        if head is None:
            return self._what.kernel.start(self._store)
        if head.shards != self._shards:
            raise SnapshotError(
                "the checkpoint was written with another number of shards", step=self._what.step,
                expected=f"shards={head.shards}", got=f"shards={self._shards}",
                hint=f"pass shards={head.shards}, or set spark.sql.shuffle.partitions to it")
        return self._what.kernel.restore(head.index, self._store)


def _rows_of(out: Out) -> Iterator[Row]:
    for status, batch in statuses(out):
        yield Row(status=status, blob=ipc_bytes(batch))


# -- batch ------------------------------------------------------------------------------------


def _batch(df: DataFrame, what: Carried, schema: pa.Schema, output: pa.Schema) -> DataFrame:
    # ties of one arrival go by input position; the sort alone would not keep it
    placed = df.withColumn(_POSITION, F.monotonically_increasing_id())
    spread = (placed.repartition(*[F.col(c) for c in what.shard_by]) if what.shard_by
              else placed.coalesce(1))
    ordered = spread.sortWithinPartitions(what.arrival, _POSITION).drop(_POSITION)
    return ordered.mapInArrow(_run_through(what, schema, output), from_arrow_schema(output))


def _run_through(what: Carried, schema: pa.Schema,
                 output: pa.Schema) -> Callable[..., Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        logic = what.kernel.start()
        for batch in batches:
            columns = [c.cast(f.type) if c.type != f.type else c
                       for c, f in zip(batch.columns, schema, strict=True)]
            out = logic.push(pa.RecordBatch.from_arrays(columns, schema=schema))
            for status, rows in statuses(out):
                yield from with_status(rows, status, output)
        for status, rows in statuses(logic.finish()):
            yield from with_status(rows, status, output)

    return run
