"""A shard of a streaming query: its kernel, run over the blobs of each micro-batch."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from slackwater.core.errors import SnapshotError
from slackwater.core.kernel import Out
from slackwater.core.state.ipc import batch_of, ipc_batch, ipc_bytes
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
        """Push a micro-batch, and let time pass."""
        every = list(rows)
        blobs = sorted((r for r in every if r.blob is not None),
                       key=lambda r: (r.input, r.part, r.chunk))
        row = self._head.get()
        head = Head(self._shards) if row is None else Head.from_row(row)
        if not blobs and head.held == 0:
            return  # nothing came and nothing waits
        now = self._time(head, [r for r in every if r.blob is None], bool(blobs))
        if not blobs and now is None:
            self._head.update(head.to_row())
            return
        logic = self._resume(head)
        out = None
        for at in range(len(self._what.inputs)):
            mine = [ipc_batch(r.blob) for r in blobs if r.input == at]
            if mine:
                out = self._what.push(logic, at, batch_of(mine))
                yield from self._rows(out, at)
        if now is not None:
            out = logic.tick(now)
            head.ticked = now
            yield from self._rows(out, 0)
        assert out is not None
        head.held, head.index = out.notes["held"], logic.snapshot()
        self._store.flush()
        self._head.update(head.to_row())

    def _time(self, head: Head, told: list[Row], has_rows: bool) -> int | None:
        """The time that the kernel is to reach; None: nothing new.

        It is that of the data, `quiet` behind it, for rows may be under way; real time counts only
        while the input has nothing more to give.
        """
        tick = max((r.clock for r in told if r.input < 0), default=None)
        parts: dict[int, dict[int, int]] = {}
        for r in told:
            if r.input >= 0:
                parts.setdefault(r.input, {})[r.part] = r.clock
        quiet = self._what.quiet
        both = len(self._what.inputs) > 1
        if parts or has_rows:
            head.read_on(parts, tick)
            clocks = head.clocks[:len(self._what.inputs)]
            now = None if None in clocks else min(c for c in clocks if c is not None)
            if both:
                return now  # what has no partner to come may go
        else:
            now = None if tick is None else head.caught_up(tick)
        if now is None or quiet is None:
            return None
        now -= quiet
        if head.ticked is not None and now - head.ticked < quiet // 4:
            return None
        return now

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

    def _rows(self, out: Out, at: int) -> Iterator[Row]:
        for status, batch in statuses(out):
            yield Row(status=status, whole=row_column(self._what, at), blob=ipc_bytes(batch))
