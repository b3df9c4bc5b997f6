from __future__ import annotations

import math
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from window_oracle import aggregate, by_window, per_row

from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.core.events import Roles
from slackwater.core.kernel import MemoryStore
from slackwater.reorder import Reorder, Static
from slackwater.window import Aggregate, Window, Windowed

SCHEMA = pa.schema([("time", pa.int64()), ("arrival", pa.int64()), ("room", pa.string()),
                    ("x", pa.float64()), ("n", pa.int64()), ("id", pa.int64())])
ROLES = Roles("time", "arrival", unit="us")
ASKED = [("count", None, None), ("count", "x", None), ("sum", "x", None), ("sum", "n", None),
         ("avg", "x", None), ("avg", "n", None), ("min", "x", None), ("max", "n", None),
         ("min", "n", None), ("max", "x", None), ("stddev", "x", None), ("first", "x", None),
         ("last", "n", None), ("median", "x", None), ("quantile", "n", 0.9),
         ("quantile", "x", 0.25), ("count_distinct", "n", None), ("count_distinct", "x", None)]
AGGREGATES = [Aggregate(f, c, q if f == "quantile" else None) for f, c, q in ASKED]

numbers = st.one_of(st.none(), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.5, float("nan")]))
integers = st.one_of(st.none(), st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1))


@st.composite
def streams(draw):
    """Rows in arrival order whose disorder is at most 20; times tie often."""
    count = draw(st.integers(0, 40))
    rows = []
    for i in range(count):
        time = draw(st.integers(0, 60))
        delay = draw(st.integers(0, 20))
        rows.append({"time": time, "arrival": time + delay, "room": draw(st.sampled_from("ab")),
                     "x": draw(numbers), "n": draw(integers), "id": i})
    return sorted(rows, key=lambda r: r["arrival"])


def batches(rows, cuts):
    edges = [0, *sorted(c for c in cuts if c < len(rows)), len(rows)]
    return [pa.RecordBatch.from_pylist(rows[a:b], SCHEMA)
            for a, b in pairwise(edges)]


def run(kernel, parts, restarts=(), store=None):
    logic = kernel.start(store)
    ready, late = [], []
    for i, part in enumerate(parts):
        if i in restarts:
            logic = kernel.restore(logic.snapshot(), store)
        out = logic.push(part)
        ready += out.ready.to_pylist()
        late += out.late.to_pylist()
    out = logic.finish()
    return ready + out.ready.to_pylist(), late + out.late.to_pylist()


def windowed(span, slide=None, group=(), key=(), buffer=20):
    roles = Roles("time", "arrival", unit="us", key=key)
    return Windowed(Reorder(Static(buffer), roles), Window(AGGREGATES, span, slide, group, roles))


def same(found, wanted):
    if wanted is None or found is None:
        return found is wanted
    return found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def check(result, inside):
    for asked, made in zip(ASKED, AGGREGATES, strict=True):
        function, column, q = asked
        values = [1] * len(inside) if column is None else [r[column] for r in inside]
        wanted = aggregate(function, values, q)
        assert same(result[made.name], wanted), (made.name, result[made.name], wanted)


@given(streams(), st.lists(st.integers(0, 40), max_size=4), st.sets(st.integers(0, 5)),
       st.integers(1, 40), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=120)
def test_per_row_windows_equal_the_oracle(rows, cuts, restarts, span, grouped, keyed):
    group = ("room",) if grouped else ()
    kernel = windowed(span, group=group, key=group if keyed else ())
    ready, late = run(kernel, batches(rows, cuts), restarts)
    assert not late
    wanted = {row["id"]: inside for row, inside in per_row(rows, span, "room" if grouped else None)}
    assert sorted(r["id"] for r in ready) == sorted(wanted)
    for result in ready:
        check(result, wanted[result["id"]])


@given(streams(), st.lists(st.integers(0, 40), max_size=4), st.sets(st.integers(0, 5)),
       st.integers(1, 40), st.integers(1, 40), st.booleans())
@settings(deadline=None, max_examples=120)
def test_sliding_windows_equal_the_oracle(rows, cuts, restarts, span, slide, grouped):
    slide = min(slide, span)
    group = ("room",) if grouped else ()
    ready, late = run(windowed(span, slide, group, group), batches(rows, cuts), restarts)
    assert not late
    wanted = {(start, end, name): inside for start, end, name, inside
              in by_window(rows, span, slide, "room" if grouped else None)}
    assert len(ready) == len(wanted)
    for result in ready:
        start, end = (round(result[c].timestamp() * 1e6) for c in ("window_start", "window_end"))
        check(result, wanted[start, end, result.get("room")])


@given(streams(), st.lists(st.integers(0, 40), max_size=4), st.sets(st.integers(0, 5)),
       st.sampled_from([None, 7]))
@settings(deadline=None, max_examples=60)
def test_cuts_and_restarts_change_nothing_to_the_bit(rows, cuts, restarts, slide):
    kernel = windowed(20, slide, ("room",), ("room",), buffer=5)  # too short: some rows are late
    whole = run(kernel, batches(rows, []))
    store = MemoryStore()
    pieces = run(kernel, batches(rows, cuts), restarts, store)
    assert repr(pieces) == repr(whole)


@given(streams(), st.integers(1, 30))
@settings(deadline=None, max_examples=60)
def test_every_row_leaves_once_whatever_the_ticks(rows, every):
    kernel = windowed(15, None, ("room",), ("room",), buffer=5)
    logic = kernel.start()
    seen = []
    for i, row in enumerate(rows):
        out = logic.push(pa.RecordBatch.from_pylist([row], SCHEMA))
        seen += out.ready["id"].to_pylist() + out.late["id"].to_pylist()
        if i % every == 0:
            out = logic.tick(row["arrival"])
            seen += out.ready["id"].to_pylist() + out.late["id"].to_pylist()
    if rows:
        out = logic.finish()
        seen += out.ready["id"].to_pylist() + out.late["id"].to_pylist()
    assert sorted(seen) == [r["id"] for r in sorted(rows, key=lambda r: r["id"])]


def rows_of(times, **more):
    return pa.record_batch({"time": times, "x": [float(t) for t in times], **more})


def test_time_passing_closes_quiet_groups_and_frees_them():
    roles = Roles("time", unit="us")
    logic = Window([Aggregate("count")], 10, roles=roles).start()
    assert logic.push(rows_of([1, 2])).ready.num_rows == 1
    out = logic.tick(2)
    assert out.ready.num_rows == 0
    out = logic.tick(3)
    assert (out.ready.num_rows, out.notes["retained"]) == (1, 2)
    assert logic.tick(13).notes["retained"] == 0
    out = logic.push(rows_of([5, 20]))
    assert out.late["time"].to_pylist() == [5]


def test_state_is_bounded_by_the_range():
    logic = Window([Aggregate("max", "x"), Aggregate("median", "x")], 100,
                   roles=Roles("time", unit="us")).start()
    sizes = []
    for i in range(30):
        out = logic.push(rows_of(list(range(1000 * i, 1000 * (i + 1)))))
        sizes.append((out.notes["retained"], len(logic.snapshot())))
    assert max(size for size, _ in sizes) <= 101
    assert sizes[-1][1] <= sizes[5][1] + 100  # numbers in its head have more digits


def test_a_snapshot_writes_only_what_changed():
    class Counting(MemoryStore):
        written = 0

        def put(self, name, blob):
            self.written += len(blob)
            super().put(name, blob)

    store = Counting()
    logic = Window([Aggregate("sum", "x")], 10**9, roles=Roles("time", unit="us")).start(store)
    logic.push(rows_of(list(range(100_000))))
    logic.snapshot()
    whole, store.written = store.written, 0
    logic.push(rows_of([100_001, 100_002]))
    logic.snapshot()
    assert store.written < whole / 20


def test_sums_do_not_drift():
    values = [1e16, 1.0, -1e16, 3.0] * 500
    batch = pa.record_batch({"time": list(range(2000)), "x": values})
    logic = Window([Aggregate("sum", "x"), Aggregate("avg", "x")], 3,
                   roles=Roles("time", unit="us")).start()
    out = logic.push(batch).ready
    found = out["sum_x"].to_pylist()
    assert found == [math.fsum(values[max(i - 2, 0):i + 1]) for i in range(len(found))]


def test_infinities_leave_the_window_again():
    batch = pa.record_batch({"time": [1, 2, 3, 4, 5], "x": [1.0, float("inf"), 2.0, 3.0, 4.0]})
    logic = Window([Aggregate("sum", "x")], 2, roles=Roles("time", unit="us")).start()
    assert logic.push(batch).ready["sum_x"].to_pylist() == [1.0, math.inf, math.inf, 5.0]


def test_types_of_results():
    time = pa.array([1, 2, 3], pa.timestamp("ms", "UTC"))
    batch = pa.record_batch({"time": time, "small": pa.array([100, 100, None], pa.int8()),
                             "ok": [True, False, True]})
    window = Window([Aggregate("sum", "small"), Aggregate("max", "small"), Aggregate("min", "ok"),
                     Aggregate("last", "time")], "1s")
    logic = window.start()
    out = logic.push(batch).ready
    assert out.schema == window.result_schema(batch.schema)
    assert out.to_pylist()[1]["sum_small"] == 200
    assert out["min_ok"].to_pylist() == [True, False]
    assert out["last_time"] == time[:2]


def test_rows_without_a_time_are_quarantined():
    batch = pa.record_batch({"time": pa.array([1, None, 3]), "x": [1.0, 2.0, 3.0]})
    logic = Window([Aggregate("sum", "x")], 10, roles=Roles("time", unit="us")).start()
    out = logic.push(batch)
    assert out.quarantined["x"].to_pylist() == [2.0]
    assert logic.finish().ready["sum_x"].to_pylist() == [4.0]


def test_notes_say_how_good_it_is():
    rows = [{"time": t, "arrival": a, "room": "a", "x": 1.0, "n": 1, "id": i}
            for i, (t, a) in enumerate([(10, 10), (30, 30), (40, 40), (1, 41)])]
    out = windowed(5, buffer=5).start().push(pa.RecordBatch.from_pylist(rows, SCHEMA))
    assert (out.notes["rows"], out.notes["late"], out.notes["late_share"]) == (4, 1, 0.25)
    assert (out.notes["delay"], out.notes["bound"]) == (5.0, None)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Aggregate("maxx", "x"), "did you mean 'max'"),
    (lambda: Aggregate("sum"), "needs a column"),
    (lambda: Aggregate("quantile", "x", q=2), "0 ≤ q ≤ 1"),
    (lambda: Aggregate("quantile", "x"), "needs q"),
    (lambda: Window([], "2s", "3s"), "slide cannot be longer than range"),
    (lambda: Window([Aggregate("sum", "x", name="a"), Aggregate("max", "x", name="a")], "1s"),
     "two aggregates are called a"),
    (lambda: windowed(5, key=("room",)), "are not grouped by it"),
])
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_snapshot_of_another_window_is_refused():
    roles = Roles("time", unit="us")
    logic = Window([Aggregate("count")], 10, roles=roles).start()
    logic.push(rows_of([1]))
    with pytest.raises(SnapshotError, match="has changed"):
        Window([Aggregate("count")], 11, roles=roles).restore(logic.snapshot())


def test_time_closes_silent_keys_and_not_those_that_it_has_not_reached():
    kernel = windowed(5, group=("room",), key=("room",), buffer=5)
    logic = kernel.start()
    logic.push(pa.RecordBatch.from_pylist(
        [{"time": 10, "arrival": 10, "room": "a", "x": 1.0, "n": 1, "id": 0}], SCHEMA))
    logic.push(pa.RecordBatch.from_pylist(
        [{"time": 50, "arrival": 50, "room": "b", "x": 1.0, "n": 1, "id": 1}], SCHEMA))
    assert logic.tick(54 + 10_000_000).ready["id"].to_pylist() == [0]
    assert logic.finish().ready["id"].to_pylist() == [1]
