"""A shard of a streaming query: its steps, run one after the other over each micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

from slackwater.core.errors import SnapshotError
from slackwater.core.events import FOREVER, NEVER
from slackwater.core.kernel import Out
from slackwater.core.names import ARRIVAL
from slackwater.core.state.ipc import ipc_batch
from slackwater.spark.runner.group import Group, Part, Port
from slackwater.spark.runner.operator_spec import row_column, statuses
from slackwater.spark.runner.packing import ROW, blobs_of
from slackwater.spark.runner.pieces import in_pieces
from slackwater.spark.runner.shard_state import Head, SparkStore, StepStore
from slackwater.spark.runner.stats import Stats
from slackwater.spark.sources.ticks import FINISH, TICK

__all__ = ["ShardRun", "handed_on"]

_INDEX = "index"


def handed_on(stream: str, rows: Iterable[Row]) -> Iterator[Row]:
    """Rows of a stream that no step takes, as they came."""
    for blob in (r.blob for r in rows if r.blob is not None):
        yield Row(stream=stream, status="ready", whole=ROW, rows=ipc_batch(blob).num_rows,
                  blob=blob, stats=None)


class ShardRun:
    """One micro-batch of a shard.

    Parameters
    ----------
    group
        The steps.
    head, store
        The shard's state.
    """

    def __init__(self, group: Group, head: Head, store: SparkStore) -> None:
        self._group, self._head, self._store = group, head, store
        # what steps have released for those that follow, and how far they have come: on the
        # arrival clock, and in time
        self._given: dict[tuple[str, int], list[pa.RecordBatch]] = {}
        self._come: dict[str, tuple[int | None, int]] = {}

    def run(self, rows: list[Row]) -> Iterator[Row]:
        """Push the micro-batch, let time pass, give what leaves."""
        blobs = sorted((r for r in rows if r.blob is not None), key=lambda r: (r.part, r.chunk))
        ended = any(r.input == FINISH for r in rows)
        tick = max((r.clock for r in rows if r.input == TICK), default=None)
        self._told = [r for r in rows if r.blob is None and r.input >= 0]
        self._tick, self._fed = tick, {r.step for r in blobs}
        if not blobs and not ended and not any(self._head.held.values()):
            return  # nothing came and nothing waits
        self._forget_strangers()
        for part in self._group.parts:
            for at in {r.input for r in blobs if r.step == part.name}:
                mine = [ipc_batch(r.blob) for r in blobs if (r.step, r.input) == (part.name, at)]
                self._given[part.name, at] = mine
            yield from self._part(part, ended)

    # -- a step ---------------------------------------------------------------------------------

    def _part(self, part: Part, ended: bool) -> Iterator[Row]:
        now = self._time(part)
        fed = {at: in_pieces(self._given.pop((part.name, at)), part.spec.inputs[at])
               for at in range(len(part.ports)) if (part.name, at) in self._given}
        self._come[part.name] = (now, NEVER)
        if not fed and now is None and not ended:
            return
        stats = Stats(part.spec)
        for at, port in enumerate(part.ports):
            if port.merge is not None:
                merged = self._merge(part, at, port, fed.pop(at, None), now, ended)
                if merged:
                    fed[at] = iter(merged)
        if not fed and now is None and not ended:
            return  # all of it waits to be merged
        logic = self._resume(part.state, part.spec.kernel)
        logic.reasons = part.reasons
        if part.ordered:
            logic.trust()
        lead = getattr(logic, "lead", None)
        if lead is not None:  # a kernel of somebody's own may know of no silence
            lead(part.promise, shared=part.shared)
        out = None
        for at, pieces in fed.items():
            for piece in pieces:
                out = part.spec.push(logic, at, piece)
                yield from self._give(part, out, at, stats)
        if now is not None:
            out = logic.tick(now)
            self._head.ticked[part.state] = now
            yield from self._give(part, out, 0, stats)
        if ended:
            out = logic.finish()
            yield from self._give(part, out, 0, stats)
        assert out is not None
        if part.leads:
            told = self._head.ticked.get(part.state, NEVER) if part.ordered else FOREVER
            self._come[part.name] = (now, logic.watermark(told))
        self._keep(part.state, logic, out)
        said = stats.text()
        if said is not None and part.wanted is not None:
            yield Row(stream=part.name, status=None, whole=None, rows=0, blob=None, stats=said)

    def _merge(self, part: Part, at: int, port: Port, pieces: Iterator[pa.RecordBatch] | None,
               now: int | None, ended: bool) -> list[pa.RecordBatch]:
        """The rows of several keys in one order, as far as all of them have come."""
        name = f"{part.state}~{at}"
        logic = self._resume(name, port.merge)
        logic.trust()
        outs = [logic.push(piece) for piece in pieces or ()]
        if now is not None:
            outs.append(logic.tick(now))
        if ended:
            outs.append(logic.finish())
        if not outs:
            return []
        self._keep(name, logic, outs[-1])
        return [out.ready.drop_columns(["_reason", "_released"])
                for out in outs if out.ready.num_rows]

    def _give(self, part: Part, out: Out, at: int, stats: Stats) -> Iterator[Row]:
        """What a step has released: to those that follow, and out of the group."""
        for status, batch in statuses(out):
            stats.add(status, batch)
            for other in self._group.parts:
                for i, port in enumerate(other.ports):
                    if (port.above, port.outcome) == (part.name, status):
                        self._given.setdefault((other.name, i), []).append(
                            self._seen(port, batch))
            if part.wanted is None or status in part.wanted:
                whole = row_column(part.spec, at)
                for rows, blob in blobs_of(batch):
                    yield Row(stream=part.name, status=status, whole=whole, rows=rows, blob=blob,
                              stats=None)

    def _seen(self, port: Port, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as the step that follows sees them: they arrive when they were let go."""
        assert port.schema is not None
        names = batch.schema.names
        columns = []
        for column in port.schema:
            if column.name == ARRIVAL and "_released" in names:
                found = batch.column("_released")
            elif column.name == ARRIVAL and ARRIVAL not in names:
                stamp = pa.scalar(max(self._head.latest.values(), default=0), pa.int64()).cast(
                    pa.timestamp("us", "UTC"))
                found = pa.repeat(stamp, batch.num_rows)
            else:
                found = batch.column(column.name)
            columns.append(found if found.type == column.type else found.cast(column.type))
        return pa.RecordBatch.from_arrays(columns, schema=port.schema)

    # -- time -----------------------------------------------------------------------------------

    def _time(self, part: Part) -> int | None:
        """The time that a step is to reach; None: nothing new."""
        above = [port.above for port in part.ports if port.above is not None]
        if part.ordered:
            now: int | None = min(self._come[name][1] for name in above)
            now = None if now == NEVER else now
        else:
            now = self._time_outside(part) if len(above) < len(part.ports) else FOREVER
            for name in above:
                come = self._come[name][0]
                now = None if now is None or come is None else min(now, come)
        before = self._head.ticked.get(part.state)
        return None if now is None or (before is not None and now <= before) else now

    def _time_outside(self, part: Part) -> int | None:
        """How far the input from outside has come.

        It is the time of the data, `quiet` behind it, for rows may be under way; real time counts
        only while the input has nothing more to give.
        """
        head, spec = self._head, part.spec
        parts: dict[int, dict[int, int]] = {}
        for r in self._told:
            if r.step == part.name:
                parts.setdefault(r.input, {})[r.part] = r.clock
        outside = [at for at, port in enumerate(part.ports) if port.above is None]
        both = len(part.ports) > 1
        if parts or part.name in self._fed:
            head.read_on(part.name, parts, self._tick)
            clocks = [head.clocks.get(f"{part.name}/{at}") for at in outside]
            now = None if None in clocks else min(c for c in clocks if c is not None)
            if both:
                return now  # what has no partner to come may go
        else:
            now = None if self._tick is None else head.caught_up(part.name, self._tick)
        if now is None or spec.quiet is None:
            return None
        now -= spec.quiet
        before = head.ticked.get(part.state)
        if before is not None and now - before < spec.quiet // 4:
            return None
        return now

    # -- state ----------------------------------------------------------------------------------

    def _resume(self, name: str, kernel: Any) -> Any:
        store = StepStore(self._store, name)
        if name not in self._head.held:
            return kernel.start(store)
        if self._head.shards != len(self._group.labels):
            kernel.restore(store.get(_INDEX), store)  # other keys are the reason, and are named
            had, has = self._head.shards, len(self._group.labels)
            raise SnapshotError(
                "the checkpoint was written with another number of shards", step=name,
                expected=f"shards={had}", got=f"shards={has}",
                hint=f"pass shards={had}: shards stay as they are; how many tasks work on them can "
                     f"be changed with `slackwater state migrate`")
        return kernel.restore(store.get(_INDEX), store)

    def _keep(self, name: str, logic: Any, out: Out) -> None:
        self._head.held[name] = int(out.notes["held"])
        StepStore(self._store, name).put(_INDEX, logic.snapshot())

    def _forget_strangers(self) -> None:
        """Steps that are no longer there have no state any more."""
        here = {part.state for part in self._group.parts}
        for name in list(self._head.held):
            if name.partition("~")[0] not in here:
                self._store.drop_all(f"{name}/")
                del self._head.held[name]
                self._head.ticked.pop(name, None)
        if not self._head.held:
            self._head.shards = len(self._group.labels)
