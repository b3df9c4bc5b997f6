"""The promises of the kernel protocol, each as a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.kernel import Kernel, MemoryStore, Out

__all__ = ["yield_checks"]

Rows = dict[str, list[dict[str, Any]]]
_KINDS = ("ready", "late", "quarantined")


def yield_checks(
    kernel: Kernel,
    events: pa.RecordBatch,
    *,
    key: str | None = "key",
    row: str | None = "row",
    state_limit: int = 4,
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Name and function of each check.

    Parameters
    ----------
    kernel
        The configuration to check.
    events
        A stream for it, in arrival order.
    key
        The key column, for the check that keys do not see each other; None: no such check.
    row
        A column that tells input rows apart and that the kernel hands on, for the conservation
        check; None for kernels whose results are not their input's rows.
    state_limit
        A stream four times as long may not make the snapshot grow by more than this factor.
    """
    yield "cuts do not matter", partial(check_cuts, kernel, events)
    yield "restarts do not matter", partial(check_restarts, kernel, events)
    yield "a store apart does not matter", partial(check_store, kernel, events)
    yield "the input is not changed", partial(check_input, kernel, events)
    yield "the watermark never goes back", partial(check_watermark, kernel, events)
    yield "nothing is held after the end", partial(check_end, kernel, events)
    yield "state is bounded", partial(check_state, kernel, events, state_limit)
    if row is not None:
        yield "every row leaves exactly once", partial(check_conservation, kernel, events, row)
    if key is not None:
        yield "keys do not see each other", partial(check_keys, kernel, events, key)


def collect(outs: list[Out]) -> Rows:
    """All rows that left, by kind, as plain values."""
    return {kind: [r for out in outs for r in getattr(out, kind).to_pylist()] for kind in _KINDS}


def run(kernel: Kernel, batches: list[pa.RecordBatch]) -> list[Out]:
    """Push the batches, then finish."""
    logic = kernel.start()
    return [*(logic.push(batch) for batch in batches), logic.finish()]


def cut(events: pa.RecordBatch, size: int) -> list[pa.RecordBatch]:
    """The events in batches of `size`."""
    return [events.slice(at, size) for at in range(0, events.num_rows, size)]


def check_cuts(kernel: Kernel, events: pa.RecordBatch) -> None:
    """Batches of one, of seven, or all at once: the same rows in the same order."""
    whole = collect(run(kernel, [events]))
    assert sum(map(len, whole.values())) > 0, "the sample gives no output: nothing is checked"
    for size in (1, 7, 64):
        assert collect(run(kernel, cut(events, size))) == whole, f"batches of {size} differ"


def check_restarts(kernel: Kernel, events: pa.RecordBatch) -> None:
    """Snapshot and restore after every batch, and twice in a row."""
    expected = collect(run(kernel, [events]))
    logic, outs = kernel.start(), []
    for batch in cut(events, 11):
        outs.append(logic.push(batch))
        snapshot = logic.snapshot()
        logic = kernel.restore(snapshot)
        logic = kernel.restore(logic.snapshot())
    outs.append(logic.finish())
    assert collect(outs) == expected


def check_store(kernel: Kernel, events: pa.RecordBatch) -> None:
    """The same through a store that outlives the logic; a snapshot alone changes nothing in it."""
    expected = collect(run(kernel, [events]))
    store = MemoryStore()
    logic, outs = kernel.start(store), []
    for batch in cut(events, 11):
        outs.append(logic.push(batch))
        snapshot = logic.snapshot()
        kept = dict(store)
        logic = kernel.restore(snapshot, store)
        assert logic.snapshot() == snapshot, "a restored logic writes another index"
        assert dict(store) == kept, "a restored logic writes although nothing changed"
    outs.append(logic.finish())
    assert collect(outs) == expected


def check_input(kernel: Kernel, events: pa.RecordBatch) -> None:
    """The batch that was pushed is as it was, and two runs give the same."""
    before = events.to_pylist()
    first = collect(run(kernel, [events]))
    assert events.to_pylist() == before
    assert collect(run(kernel, [events])) == first


def check_watermark(kernel: Kernel, events: pa.RecordBatch) -> None:
    """``notes["watermark"]``, where a kernel has one, does not go back.

    It is the least of all keys, so a key that is new may bring it down.
    """
    last, keys = None, 0
    for out in run(kernel, cut(events, 5)):
        mark, now = out.notes.get("watermark"), out.notes.get("keys", 1)
        if last is not None and mark is not None and now == keys:
            assert mark >= last, f"from {last} back to {mark}"
        last, keys = mark, now


def check_end(kernel: Kernel, events: pa.RecordBatch) -> None:
    """After finish nothing waits, and finishing again gives nothing."""
    logic = kernel.start()
    logic.push(events)
    assert logic.finish().notes.get("held", 0) == 0
    assert len(logic.finish()) == 0


def check_state(kernel: Kernel, events: pa.RecordBatch, limit: int) -> None:
    """A snapshot follows what is held, not what has passed."""
    logic, sizes = kernel.start(), []
    for lap in range(8):
        logic.push(shift(events, lap))
        sizes.append(len(logic.snapshot()))
    assert sizes[-1] <= limit * sizes[1], f"snapshots grew: {sizes}"


def check_conservation(kernel: Kernel, events: pa.RecordBatch, row: str) -> None:
    """What was pushed is what came out plus what is held, at every point."""
    logic = kernel.start()
    pushed, left = 0, []
    for batch in cut(events, 9):
        out = logic.push(batch)
        pushed += batch.num_rows
        left += [r[row] for rows in collect([out]).values() for r in rows]
        assert len(left) + out.notes["held"] == pushed
    left += [r[row] for rows in collect([logic.finish()]).values() for r in rows]
    assert sorted(left) == sorted(events[row].to_pylist())


def check_keys(kernel: Kernel, events: pa.RecordBatch, key: str) -> None:
    """A key's rows come out the same whether other keys are there or not."""
    together = collect(run(kernel, [events]))
    for value in pc.unique(events[key]).to_pylist():
        alone = collect(run(kernel, [events.filter(pc.equal(events[key], value))]))
        for kind in _KINDS:
            mine = [r for r in together[kind] if r.get(key) == value]
            assert alone[kind] == mine, f"{kind} of key {value!r} differ"


def shift(events: pa.RecordBatch, laps: int) -> pa.RecordBatch:
    """The same stream, later: every timestamp moved on by whole lengths of the stream."""
    stamps = [i for i, f in enumerate(events.schema) if pa.types.is_timestamp(f.type)]
    arrival = np.concatenate([events.column(i).drop_null().cast(pa.int64()).to_numpy()
                              for i in stamps])
    span = int(np.quantile(arrival, 0.99) - arrival.min()) + 1_000_000
    columns = []
    for i, column in enumerate(events.columns):
        if i in stamps:
            moved = pc.add(column.cast(pa.int64()), laps * span)
            column = moved.cast(column.type)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=events.schema)
