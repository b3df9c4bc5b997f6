"""What a window keeps: panes and not rows, nothing once it has passed; what a push costs."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from window_oracle import aggregate, by_window, per_row

from slackwater.core.events import Roles
from slackwater.core.kernel import MemoryStore
from slackwater.window import Aggregate, Window

ROLES = Roles("time", unit="us")
DAY = 86_400_000_000
PANED = [Aggregate(f, "x") for f in ("count", "sum", "avg", "min", "max", "stddev", "first",
                                     "last")]
ASKED = [*PANED, Aggregate("median", "x"), Aggregate("quantile", "x", q=0.9),
         Aggregate("sum", "n"), Aggregate("max", "n"), Aggregate("median", "n")]
SCHEMA = pa.schema([("time", pa.int64()), ("room", pa.string()), ("x", pa.float64()),
                    ("n", pa.int64()), ("id", pa.int64())])

values = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, math.nan, 1e16, -1e16]),
                   st.floats(-1e6, 1e6))
whole = st.one_of(st.none(), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))
rows_in_order = st.lists(st.tuples(st.integers(-90, 90), st.sampled_from("ab"), values, whole),
                         max_size=40).map(lambda rows: [
                             {"time": t, "room": room, "x": x, "n": n, "id": i}
                             for i, (t, room, x, n) in enumerate(sorted(rows, key=lambda r: r[0]))])
actions = st.lists(st.sampled_from(["push", "restore", "store", "tick"]), max_size=60)


def run(kernel, rows, steps):
    """Push all rows, doing in between what `steps` say; ticks go up to the next row's time."""
    store = MemoryStore()
    logic, done, found = kernel.start(store), 0, []

    def see(out):
        assert out.late.num_rows == out.quarantined.num_rows == 0
        found.extend(out.ready.to_pylist())

    for step in steps:
        if step == "push" and done < len(rows):
            see(logic.push(pa.RecordBatch.from_pylist(rows[done:done + 3], SCHEMA)))
            done += 3
        elif step == "restore":
            index = logic.snapshot()
            kept = dict(store)
            logic = kernel.restore(index, store)
            assert logic.snapshot() == index
            assert dict(store) == kept
        elif step == "store":  # a store of its own, and back
            index = logic.snapshot()
            logic = kernel.restore(index, store := MemoryStore(store))
        elif step == "tick" and 0 < done < len(rows):
            see(logic.tick(rows[done]["time"]))
    if done < len(rows) or not rows:
        see(logic.push(pa.RecordBatch.from_pylist(rows[done:], SCHEMA)))
    see(logic.finish())
    assert logic.finish().notes["retained"] == logic.finish().notes["held"] == 0
    return found, len(logic.snapshot()) + sum(map(len, store.values()))


def exact(found):
    """Results in an order of their own: time closes groups in another order than rows do."""
    return Counter(repr(sorted(r.items())) for r in found)


@given(rows_in_order, actions, st.integers(1, 60), st.integers(1, 60) | st.none(), st.booleans())
@settings(deadline=None, max_examples=150)
def test_cuts_restarts_and_time_passing_change_no_bit(rows, steps, span, slide, grouped):
    group = ("room",) if grouped else ()
    kernel = Window(ASKED, span, None if slide is None else min(slide, span), group, ROLES)
    whole, _ = run(kernel, rows, [])
    pieces, _ = run(kernel, rows, steps)
    assert exact(pieces) == exact(whole)
    if slide is None:
        wanted = {row["id"]: inside for row, inside in per_row(rows, span,
                                                               "room" if grouped else None)}
        assert sorted(r["id"] for r in pieces) == sorted(wanted)
        check = [(r, wanted[r["id"]]) for r in pieces]
    else:
        windows = {(start, name): inside for start, _, name, inside in by_window(
            rows, span, min(slide, span), "room" if grouped else None)}
        assert len(pieces) == len(windows)
        check = [(r, windows[round(r["window_start"].timestamp() * 1e6), r.get("room")])
                 for r in pieces]
    for found, inside in check:
        for asked in ASKED:
            want = aggregate(asked.function, [r[asked.column] for r in inside], asked.q)
            got = found[asked.name]
            if asked.function in ("sum", "count", "min", "max", "first", "last"):
                assert got == want, asked.name
            elif want is None:
                assert got is None, asked.name
            else:
                scale = max((abs(r[asked.column] or 0) for r in inside
                             if r[asked.column] == r[asked.column]), default=0)
                assert got == pytest.approx(want, rel=1e-9, abs=1e-9 * scale + 1e-9), asked.name


@pytest.mark.parametrize("slide", ["1 day", "6 hours", "7 hours"])
@pytest.mark.parametrize("asked", [PANED, [Aggregate("median", "few")],
                                   [Aggregate("count_distinct", "few")]],
                         ids=["panes", "ranks", "distinct"])
def test_a_window_by_day_keeps_little(slide, asked):
    n = 200_000
    rng = np.random.default_rng(5)
    time = np.sort(rng.integers(0, 3 * DAY, n))
    batch = pa.record_batch({"time": time, "x": rng.normal(size=n), "few": np.arange(n) % 50})
    kernel = Window(asked, "1 day", slide, (), ROLES)
    logic, sizes = kernel.start(), []
    for at in range(0, n, 10_000):
        out = logic.push(batch.slice(at, 10_000))
        sizes.append(len(logic.snapshot()))
        assert out.notes["retained"] <= (5 if asked is PANED else 5 * 50)
        logic = kernel.restore(logic.snapshot())
    assert max(sizes) < 64_000
    assert len(logic.finish().ready) > 0


@pytest.mark.parametrize("slide", [None, 1_000, 250], ids=["per row", "tumbling", "sliding"])
@pytest.mark.parametrize("asked", [[Aggregate("max", "x")], [Aggregate("sum", "x")],
                                   [Aggregate("median", "x")], [Aggregate("count_distinct", "x")]],
                         ids=["max", "sum", "median", "distinct"])
@pytest.mark.parametrize("group", [(), ("room",)], ids=["one group", "groups"])
def test_a_burst_leaves_nothing(slide, asked, group):
    def push(logic, first, n):
        return logic.push(pa.record_batch({
            "time": first + np.arange(n) // 20, "room": [f"r{i % 50}" for i in range(n)],
            "x": np.arange(n, 0, -1.0)}))

    store = MemoryStore()
    kernel = Window(asked, 1_000, slide, group, ROLES)
    logic = kernel.start(store)
    push(logic, 0, 50)
    small = len(logic.snapshot()) + sum(map(len, store.values()))
    push(logic, 10, 30_000)
    logic.snapshot()
    logic.tick(10_000)
    assert logic.tick(10_000).notes["retained"] == 0
    assert len(logic.snapshot()) + sum(map(len, store.values())) <= small
    out = push(logic, 20_000, 50)
    assert out.late.num_rows == 0
    spare = 48_000 if asked[0].function == "count_distinct" else 200  # tables have whole pages
    assert len(logic.snapshot()) + sum(map(len, store.values())) <= small + spare


@pytest.mark.parametrize("slide", [None, 1_000], ids=["per row", "tumbling"])
def test_a_push_writes_what_it_touched(slide):
    class Counting(MemoryStore):
        written = 0

        def put(self, name, blob):
            self.written += len(blob)
            super().put(name, blob)

    store = Counting()
    n = 20_000
    logic = Window([Aggregate("sum", "x")], 1_000, slide, ("room",), ROLES).start(store)
    logic.push(pa.record_batch({"time": np.zeros(n, int), "room": np.arange(n), "x": np.ones(n)}))
    logic.snapshot()
    whole, store.written = store.written, 0
    for i in range(3):
        logic.push(pa.record_batch({"time": [i + 1], "room": [77], "x": [1.0]}))
        logic.snapshot()
    assert store.written < whole / 2


def test_waiting_rows_stay_in_few_runs_over_restarts():
    kernel = Window([Aggregate("count")], 1_000, None, ("room",), ROLES)
    store = MemoryStore()
    logic = kernel.start(store)
    for i in range(300):
        logic.push(pa.record_batch({"time": [i, i], "room": [2 * i, 2 * i + 1]}))
        logic = kernel.restore(logic.snapshot(), store)
    runs = [name for name in store if name.startswith("window/open/")
            and name.split("/")[2].isdigit()]
    assert len(runs) < 30
    found = logic.finish().ready
    assert found["room"].to_pylist() == list(range(600))
