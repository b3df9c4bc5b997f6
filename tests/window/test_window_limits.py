"""Input at the edges: empty pushes, unsigned numbers, the ends of time, names that clash, ties."""

from __future__ import annotations

import math
import time as clock
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from window_oracle import aggregate

from slackwater.checks.subject import collect, cut, run
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.reorder import Reorder, Static
from slackwater.window import Aggregate, Window, Windowed

ROLES = Roles("time", unit="us")
SLIDES = pytest.mark.parametrize("slide", [None, 5], ids=["per row", "sliding"])


def rows_of(times, **more):
    return pa.record_batch({"time": pa.array(times, pa.int64()), **more})


@SLIDES
@pytest.mark.parametrize("group", [(), ("room",)], ids=["one group", "groups"])
def test_an_empty_push_can_be_stored_and_restored(slide, group):
    kernel = Window([Aggregate("count")], 10, slide, group, ROLES)
    logic = kernel.start()
    logic.push(rows_of([], room=pa.array([], pa.string())))
    logic = kernel.restore(logic.snapshot())
    assert logic.tick(5).ready.num_rows == 0
    logic = kernel.restore(logic.snapshot())
    assert logic.finish().ready.num_rows == 0


UNSIGNED = [2**63 + 5, 3, 2**64 - 1, None, 2**63, 7, 2**63 + 5]
ASKED = [("min", None), ("max", None), ("first", None), ("last", None), ("count", None),
         ("sum", None), ("avg", None), ("stddev", None), ("median", None), ("quantile", 0.7)]


@pytest.mark.parametrize("slide", [None, 10], ids=["per row", "tumbling"])
@pytest.mark.parametrize("group", [(), ("room",)], ids=["one group", "groups"])
@pytest.mark.parametrize("asked", [ASKED, ASKED[:2]], ids=["all", "extremes"])
def test_unsigned_numbers_beyond_int64(slide, group, asked):
    values = pa.array(UNSIGNED, pa.uint64())
    kernel = Window([Aggregate(f, "x", q) for f, q in asked], 10, slide, group, ROLES)
    logic = kernel.start()
    batch = rows_of([1] * len(values), x=values, room=["a"] * len(values))
    logic.push(batch.slice(0, 3))
    logic = kernel.restore(logic.snapshot())
    logic.push(batch.slice(3))
    found = logic.finish().ready
    assert found.schema == kernel.result_schema(batch.schema)
    for (function, q), made in zip(asked, kernel.aggregates, strict=True):
        wanted = aggregate(function, UNSIGNED, q)
        assert found[made.name].to_pylist()[0] == (
            pytest.approx(wanted) if isinstance(wanted, float) else wanted), made.name


def test_a_sum_of_unsigned_numbers_is_null_where_it_does_not_fit():
    logic = Window([Aggregate("sum", "x")], 1, 1, (), ROLES).start()
    x = pa.array([2**62, 2**62 - 1, 2**63 - 1, 1], pa.uint64())
    outs = [logic.push(rows_of([1, 1, 2, 2], x=x)), logic.finish()]
    assert [s for out in outs for s in out.ready["sum_x"].to_pylist()] == [2**63 - 1, None]


FIRST, LAST = (round(datetime(y, m, d, h, i, s, tzinfo=UTC).timestamp()) * 10**6
               for y, m, d, h, i, s in ((1, 1, 1, 0, 0, 0), (9999, 12, 31, 23, 59, 59)))


@pytest.mark.parametrize("way", ["window", "windowed"])
def test_a_row_whose_window_has_no_timestamps_is_quarantined(way):
    window = Window([Aggregate("count")], "1 day", "1 hour", (), ROLES)
    kernel = window if way == "window" else Windowed(Reorder(Static(0), ROLES), window)
    logic = kernel.start()
    outs = [logic.push(rows_of([FIRST, 5, LAST])), logic.finish()]
    refused = [r for out in outs for r in out.quarantined.to_pylist()]
    assert sorted(r["time"] for r in refused) == [FIRST, LAST]
    assert all("9999" in r["_reason"] for r in refused)
    ready = [r for out in outs for r in out.ready.to_pylist()]
    assert [r["count"] for r in ready] == [1] * 24
    assert all(r["window_start"] <= datetime.fromtimestamp(5e-6, UTC) < r["window_end"]
               for r in ready)


def test_such_rows_stand_where_they_were_refused_though_silence_released_them():
    hour = 3_600_000_000
    arrivals = [FIRST, FIRST + 1, FIRST + 2, FIRST + 2 * hour]
    rows = rows_of([*arrivals[:2], None, arrivals[3]], arrival=arrivals, row=range(4),
                   room=["a", "b", "a", "a"])
    roles = Roles("time", "arrival", key=("room",), unit="us")
    kernel = Windowed(Reorder("Static(buffer=1s)", roles, forget_after="1h"),
                      Window([Aggregate("count")], "10s", "10s", ("room",), roles))
    for batches in ([rows], cut(rows, 1)):
        refused = collect(run(kernel, batches))["quarantined"]
        assert [row["row"] for row in refused] == [2, 0, 1]


def test_a_range_as_long_as_all_of_time_holds_every_row():
    logic = Window([Aggregate("count")], "3652500 days", roles=ROLES).start()
    outs = [logic.push(rows_of([FIRST, 0, LAST])), logic.tick(2**63 - 1), logic.finish()]
    assert [c for out in outs for c in out.ready["count"].to_pylist()] == [1, 2, 3]


@pytest.mark.parametrize("slide", [None, 2**62])
def test_a_longer_range_is_refused(slide):
    with pytest.raises(ConfigError, match="is too long"):
        Window([Aggregate("count")], 2**62, slide, roles=ROLES)


@SLIDES
def test_time_may_pass_as_far_as_int64_goes(slide):
    kernel = Window([Aggregate("count")], 10, slide, (), ROLES)
    for now in (-(2**63), 2**63 - 1):
        logic = kernel.start()
        logic.push(rows_of([1]))
        early = logic.tick(now).ready.num_rows
        assert (early > 0) == (now > 0)
        assert early + logic.finish().ready.num_rows == (1 if slide is None else 2)


@pytest.mark.parametrize(("slide", "group", "name", "clash"), [
    (None, (), "__clock", True), (None, (), "_agg0", True), (None, (), "_arg0", False),
    (None, (), "window_start", False), (None, ("window_end",), "window_end", False),
    (5, (), "__clock", True), (5, (), "_agg0", False), (5, ("_arg0",), "_arg0", False),
    (5, (), "window_start", False), (5, ("window_start",), "window_start", True),
    (5, ("window_end",), "window_end", True), (5, ("_agg0",), "_agg0", True),
])
def test_a_column_that_clashes_with_a_result_is_refused(slide, group, name, clash):
    batch = rows_of([1, 2], **{name: [3, 4]})

    def run():
        kernel = Window([Aggregate("sum", name, name="_agg0")], 10, slide, group, ROLES)
        logic = kernel.start()
        outs = [logic.push(batch)]
        logic = kernel.restore(logic.snapshot())
        return [r["_agg0"] for out in (*outs, logic.finish()) for r in out.ready.to_pylist()]

    if clash:
        with pytest.raises(ConfigError, match=f"'{name}'"):
            run()
    else:
        assert run() == ([3, 4 if group else 7] if slide is None
                         else [3, 3, 4, 4] if group else [7, 7])


@pytest.mark.parametrize("name", ["window_start", "window_end"])
def test_an_aggregate_may_not_be_named_as_the_windows_ends(name):
    with pytest.raises(ConfigError, match=name):
        Window([Aggregate("count", name=name)], 10, 5, roles=ROLES)
    Window([Aggregate("count", name=name)], 10, roles=ROLES)


def test_a_group_given_as_text_is_one_column():
    assert Window([Aggregate("count")], "1s", group="room").group == ("room",)
    with pytest.raises(ConfigError, match="room"):
        Window([Aggregate("count")], "1s", group=("room", "room"))


@pytest.mark.parametrize("q", [math.nan, math.inf, -0.1, "0.5", True])
def test_q_must_be_a_share(q):
    with pytest.raises(ConfigError, match="q ≤ 1"):
        Aggregate("quantile", "x", q=q)


@pytest.mark.parametrize("slide", [None, 1_000, 300], ids=["per row", "tumbling", "sliding"])
@pytest.mark.parametrize("group", [(), ("room",)], ids=["one group", "groups"])
@pytest.mark.parametrize("functions", [["max"], ["sum", "median"]], ids=["max", "sum, median"])
@pytest.mark.parametrize("pushes", [1, 1_000])
def test_ties_are_not_quadratic(slide, group, functions, pushes):
    """100,000 rows of one time, at once or a hundred at a time, beside the same in distinct times.

    Quadratic work would take minutes.
    """
    n = 100_000
    x = np.random.default_rng(3).normal(size=n)
    kernel = Window([Aggregate(f, "x") for f in functions], 1_000, slide, group, ROLES)

    def run(times):
        batch = rows_of(times, x=x, room=pa.array(["a"] * n))
        logic = kernel.start()
        begin = clock.perf_counter()
        size = n // pushes
        ready = sum(logic.push(batch.slice(at, size)).ready.num_rows for at in range(0, n, size))
        found = logic.finish().ready
        return ready + found.num_rows, found, clock.perf_counter() - begin

    run(np.arange(n))  # compile
    count, found, took = run(np.full(n, 7_000))
    assert count == (n if slide is None else 1_000 // slide)
    assert found[kernel.aggregates[0].name][0].as_py() == pytest.approx(
        x.max() if functions == ["max"] else math.fsum(x))
    assert took < 20
