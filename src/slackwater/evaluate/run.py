"""A policy over a dataset, through the real kernel: what became of every event, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import LONGEST, Duration, micros
from slackwater.core.events import Roles, usable_rows
from slackwater.core.kernel import MemoryStore
from slackwater.core.outcome import outcome_schema
from slackwater.core.state.ipc import empty_rows
from slackwater.core.state.keys import Keys
from slackwater.datasets import Dataset
from slackwater.evaluate.live import live_release
from slackwater.evaluate.tracing import Traced
from slackwater.reorder import Policy, Reorder, as_policy

__all__ = ["NO_ARRIVALS", "Engine", "Events", "Run", "reorder_table", "run", "usable_events"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
Tables = tuple[pa.Table, pa.Table, pa.Table]
Engine = Callable[[pa.Table, Reorder], Tables]
"""Takes rows in arrival order through a kernel to the end: ready, late, quarantined."""

NO_ARRIVALS = ("The data does not say when events arrived: the greatest time so far stands for it, "
               "so delays, waits and latencies are guesses.")
"""What must be said about figures that rest on such data."""

_CHUNK = 1 << 20
_NO_LIMIT = LONGEST


@dataclass(frozen=True)
class Events:
    """The usable events of a dataset, as columns, in arrival order; times in microseconds.

    `key` and `source` are codes, `sources` the names of the latter; `sequence` and `source` are
    None where the dataset has no such column.
    """

    name: str
    time: Int64
    arrival: Int64
    key: Int64
    source: Int64 | None
    sequence: Int64 | None
    sources: tuple[str, ...]
    quarantined: int

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class Run:
    """What a policy did with each event: late or not, when released, and the buffer time then."""

    events: Events
    policy: Policy
    late: NDArray[np.bool_]
    released: Int64
    buffer: Float64


def usable_events(dataset: Dataset, *, max_future_skew: Duration = "5 minutes",
                  max_delay: Duration | None = None) -> Events:
    """Leave out the rows that the kernel would quarantine, by the kernel's own rule."""
    roles = dataset.roles
    batch = dataset.table.combine_chunks().to_batches()
    rows = batch[0] if batch else empty_rows(dataset.table.schema)
    usable = usable_rows(
        rows, roles, max_future_skew=micros(max_future_skew, name="max_future_skew"),
        max_delay=None if max_delay is None else micros(max_delay, name="max_delay"))
    good = np.flatnonzero(usable.good)
    if len(good) < rows.num_rows:
        rows = rows.take(pa.array(good))
    time, arrival = usable.time[good], usable.arrival[good]
    key = Keys("key", roles.key, MemoryStore()).slots(rows)[0]
    if roles.arrival is None:
        arrival = _greatest_so_far(time, key)
    sources = None if roles.source is None else Keys("source", [roles.source], MemoryStore())
    source = None if sources is None else sources.slots(rows)[0]
    return Events(dataset.name, time, arrival, key, source, _sequence(rows, roles),
                  () if sources is None else tuple(sources.labels(sources.live()).to_pylist()),
                  len(dataset) - len(good))


def run(events: Events, policy: Policy | str, *, engine: Engine | None = None,
        literal: bool = False) -> Run:
    """Send events through `Reorder` with a policy, in this process or by another engine.

    Time passes between arrivals, so a row leaves when its time has come; `literal`: at the next
    arrival, as the papers have it. Which rows are late is the same.

    The buffer times are always those of a run in this process: an engine hands back rows only.
    """
    chosen = as_policy(policy)
    traced = Traced(chosen)
    table, roles = _as_table(events)
    # what is unusable was left out before, by limits that need not be the kernel's own
    ready, late, _ = reorder_table(table, Reorder(traced, roles, max_future_skew=_NO_LIMIT,
                                                forget_after=None))
    if engine is not None:
        ready, late, _ = engine(table, Reorder(chosen, roles, max_future_skew=_NO_LIMIT,
                                               forget_after=None))
    released, is_late = np.zeros(len(events), np.int64), np.zeros(len(events), bool)
    for part in (ready, late):
        released[part["row"].to_numpy()] = part["_released"].cast(pa.int64()).to_numpy()
    is_late[late["row"].to_numpy()] = True
    buffer = traced.buffer_times()
    if not literal and engine is None and len(events):
        released = live_release(events.time, events.arrival, events.key, is_late,
                                traced.thresholds(events.arrival, events.key), buffer)
    return Run(events, chosen, is_late, released, buffer)


def _as_table(events: Events) -> tuple[pa.Table, Roles]:
    columns = {"time": pa.array(events.time), "arrival": pa.array(events.arrival),
               "key": pa.array(events.key), "row": pa.array(np.arange(len(events)))}
    if events.source is not None:
        names = pa.array(events.sources, pa.string())
        columns["source"] = names.take(pa.array(events.source))
    if events.sequence is not None:
        columns["sequence"] = pa.array(events.sequence)
    roles = Roles("time", "arrival", key=("key",), unit="us",
                  source=None if events.source is None else "source",
                  sequence=None if events.sequence is None else "sequence")
    return pa.table(columns), roles


def reorder_table(table: pa.Table, kernel: Reorder) -> Tables:
    """Run a kernel over a whole table in this process: the rows ready, late and quarantined."""
    logic = kernel.start()
    batches = table.combine_chunks().to_batches(_CHUNK)
    outs = [logic.push(batch) for batch in batches]
    if not batches:
        return (outcome_schema(table.schema).empty_table(),) * 3
    outs.append(logic.finish())
    return (pa.Table.from_batches([o.ready for o in outs]),
            pa.Table.from_batches([o.late for o in outs]),
            pa.Table.from_batches([o.quarantined for o in outs]))


def _greatest_so_far(time: Int64, key: Int64) -> Int64:
    """Where nothing says when a row arrived, the clock is the greatest time of its key so far."""
    clock = np.empty_like(time)
    for k in range(int(key.max(initial=-1)) + 1):
        mine = key == k
        clock[mine] = np.maximum.accumulate(time[mine])
    return clock


def _sequence(rows: pa.RecordBatch, roles: Roles) -> Int64 | None:
    if roles.sequence is None:
        return None
    column = rows.column(roles.sequence)
    if not pa.types.is_integer(column.type) or column.null_count:
        return None  # numbers with gaps in them say nothing about order
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64)
