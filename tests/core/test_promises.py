"""A stage that leads others: what it promises holds, and promising changes no row's fate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater import Reorder, Roles
from slackwater.core.events import NEVER
from slackwater.synchronise import FrontierSync
from slackwater.window import Aggregate, Window, Windowed
from tests.core.test_lag import SECOND, disordered

QUIET = 2 * SECOND
ROLES = Roles("time", "arrival", "source", key=("key",))
KERNELS = {
    "Tide": Reorder("Tide(loss=1%)", ROLES),
    "DropRatio": Reorder("DropRatio(ratio=1%)", ROLES),
    "MeanPlusRange": Reorder("MeanPlusRange(n=50, offset=10ms)", ROLES),
    "together": Reorder("Static(buffer=100ms)", ROLES, scope=()),
    "FrontierSync": FrontierSync(ROLES, max_delay="1s"),
    "Windowed": Windowed(
        Reorder("MeanPlusRange(n=50, offset=10ms)", ROLES),
        Window([Aggregate("sum", "value")], range="1s", slide="500ms", group=("key",),
               roles=ROLES)),
}


def sparse(rows: int, seed: int) -> pa.RecordBatch:
    """Keys that are silent for longer than `QUIET` more often than not."""
    events = disordered(rows, seed)
    rng = np.random.default_rng(seed)
    return events.set_column(3, "key", pa.array([f"k{k}" for k in rng.integers(0, 60, rows)]))


def run(kernel, events: pa.RecordBatch, cuts: list[int], *, ticks: bool, shared: bool = False,
        restore: bool = False):
    """Push the pieces; after each, time passes to `QUIET` before its last arrival."""
    logic = kernel.start()
    outs, marks = [], []
    logic.lead(QUIET, shared=shared)
    for first, last in zip([0, *cuts], [*cuts, events.num_rows], strict=True):
        part = events.slice(first, last - first)
        if not part.num_rows:
            continue
        outs.append(logic.push(part))
        marks.append(logic.watermark() if ticks else NEVER)
        if ticks:
            now = part["arrival"][-1].cast(pa.int64()).as_py() - QUIET
            outs.append(logic.tick(now))
            marks.append(logic.watermark())
        if restore:
            logic = kernel.restore(logic.snapshot())
            logic.lead(QUIET, shared=shared)
    outs.append(logic.finish())
    marks.append(NEVER)
    return outs, marks


def fates(outs) -> tuple[list[int], list]:
    late = sorted(n for out in outs if out.late.num_columns for n in out.late["row"].to_pylist())
    ready = [tuple(r.items()) for out in outs for r in out.ready.to_pylist()]
    drop = ("_released", "_reason")
    return late, sorted(str([c for c in r if c[0] not in drop]) for r in ready)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("feed", [disordered, sparse])
def test_ticks_change_nobody_s_fate(name, feed):
    """Not even in windows, which close in silence."""
    kernel, events = KERNELS[name], feed(3000, 5)
    expected = fates(run(kernel, events, [], ticks=False)[0])
    assert expected[0], "a stream with no late rows shows nothing"
    for every, restore in ((40, False), (300, True), (1111, False)):
        cuts = list(range(every, events.num_rows, every))
        assert fates(run(kernel, events, cuts, ticks=True, restore=restore)[0]) == expected


@pytest.mark.parametrize("name", [n for n in KERNELS if n != "Windowed"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), every=st.sampled_from([7, 60, 400]), restore=st.booleans())
def test_what_is_promised_holds(name, seed, every, restore):
    """No row that is released later is older than a watermark that was given out."""
    events = sparse(1200, seed)
    cuts = list(range(every, events.num_rows, every))
    outs, marks = run(KERNELS[name], events, cuts, ticks=True, shared=True, restore=restore)
    given_out = NEVER
    for out, mark in zip(outs, marks, strict=True):
        times = out.ready["time"].cast(pa.int64()).to_numpy() if out.ready.num_rows else []
        assert all(t >= given_out for t in times)
        given_out = max(given_out, mark)
    assert given_out != NEVER or name == "Tide"  # it may still be meeting its sources


def test_a_promise_ends_no_piece_of_a_batch():
    """Where keys share an estimate and are silent more often than not: a piece per row takes long.
    """
    logic = KERNELS["together"].start()
    logic.lead(QUIET, shared=False)
    pieces, take = [], logic.take_keyed
    logic.take_keyed = lambda given: pieces.append(len(given)) or take(given)
    for at in range(0, 3000, 500):
        logic.push(sparse(3000, 5).slice(at, 500))
    assert sum(pieces) == 3000
    assert len(pieces) < 300


@pytest.mark.parametrize("kernel", [
    Reorder("Static(buffer=10s)", ROLES, forget_after="10s", max_future_skew=0),
    FrontierSync(ROLES, sources=("s", "t"), max_delay="10s", forget_after="10s",
                 max_future_skew=0)], ids=lambda kernel: type(kernel).__name__)
def test_what_a_forgotten_key_held_does_not_come_back(kernel):
    """Its rows still lie in the store, beside those of keys that hold some."""
    arrivals = np.array([0, 138, 139]) * SECOND
    stamps = pa.array(arrivals).cast(pa.timestamp("us", "UTC"))
    events = pa.record_batch({"row": range(3), "time": stamps, "arrival": stamps,
                              "source": ["s"] * 3, "key": ["a", "b", "c"]})
    logic = kernel.start()
    outs = [logic.push(events)]
    for now in (140, 141, 239):  # released; forgotten; and the block is read again
        logic = kernel.restore(logic.snapshot())
        outs.append(logic.tick(now * SECOND))
        left = [row for out in outs for row in out.ready["row"].to_pylist()]
        assert len(left) + outs[-1].notes["held"] == 3
    assert left == [0, 1, 2]
