"""A shard of a streaming query: its kernel, run over the blobs of each micro-batch."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from slackwater.core.errors import SnapshotError
from slackwater.core.events import event_times
from slackwater.core.kernel import Out
from slackwater.core.state.buffer import batch_of, ipc_batch, ipc_bytes
from slackwater.spark._state import Head, SparkStore
from slackwater.spark.carried import Carried, row_column, statuses

__all__ = ["ShardProcessor"]


class ShardProcessor(StatefulProcessor):
    """For transformWithState: groups are shards, rows are blobs and ticks.

    Before a query starts, Spark asks the processor in a process of its own which state it keeps.
    The kernel takes no part in the answer, so it travels packed: unpacking it there would import
    all that it is made of, for every operator of every query.
    """

    def __init__(self, what: Carried, shards: int) -> None:
        self._packed, self._shards = cloudpickle.dumps(what), shards

    @cached_property
    def _what(self) -> Carried:
        what: Carried = pickle.loads(self._packed)
        return what

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._head = handle.getValueState("head", Head.SCHEMA)
        self._store = SparkStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        """Push a micro-batch, and let time pass by its ticks."""
        every = list(rows)
        blobs = sorted((r for r in every if r.blob is not None),
                       key=lambda r: (r.input, r.part, r.chunk))
        tick = max((r.tick for r in every if r.blob is None), default=None)
        row = self._head.get()
        head = Head(self._shards) if row is None else Head.from_row(row)
        if not blobs and head.held == 0:
            return  # nothing came and nothing waits
        logic = self._resume(head)
        if head.tick is not None and tick is not None:
            # what a query missed while it was down (or slow) is not its keys' silence
            logic.elapse(min(tick - head.tick, (self._what.quiet or 0) // 2))
        out = None
        for at in range(len(self._what.inputs)):
            mine = [ipc_batch(r.blob) for r in blobs if r.input == at]
            if mine:
                batch = batch_of(mine)
                out = self._what.push(logic, at, batch)
                head.clocks[at] = max(head.clocks[at], self._latest(at, batch))
                yield from self._told(out, at)
        if len(self._what.inputs) > 1 and all(head.clocks):
            # both sides have come this far: what can have no partner any more may go
            out = logic.tick(min(head.clocks))
            yield from self._told(out, 0)
        if tick is not None:
            out = logic.idle(self._what.quiet or 0)
            yield from self._told(out, 0)
            head.tick = tick
        assert out is not None
        head.held, head.index = out.notes["held"], logic.snapshot()
        self._store.flush()
        self._head.update(head.to_row())

    def close(self) -> None:
        """Nothing is open."""

    def _resume(self, head: Head) -> Any:
        if head.index is None:
            return self._what.kernel.start(self._store)
        if head.shards != self._shards:
            raise SnapshotError(
                "the checkpoint was written with another number of shards", step=self._what.step,
                expected=f"shards={head.shards}", got=f"shards={self._shards}",
                hint=f"pass shards={head.shards}, or set spark.sql.shuffle.partitions to it")
        return self._what.kernel.restore(head.index, self._store)

    def _latest(self, at: int, batch: pa.RecordBatch) -> int:
        """The greatest arrival, where two sides need a common clock."""
        given = self._what.inputs[at]
        if len(self._what.inputs) == 1 or given.arrival is None:
            return 0
        stamps, readable = event_times(batch.column(given.arrival), unit=given.unit,
                                       name=given.arrival)
        return int(stamps[readable].max(initial=0))

    def _told(self, out: Out, at: int) -> Iterator[Row]:
        for status, batch in statuses(out):
            yield Row(status=status, whole=row_column(self._what, at), blob=ipc_bytes(batch))
