"""The plain buffer beside `Tide`'s sources: followed where they make events wait longer."""

from __future__ import annotations

import functools
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.quality.kinds import events_of, in_order, lognormal, poisson
from slackwater import Reorder, Roles
from slackwater.evaluate.run import run
from slackwater.reorder import Tide
from slackwater.reorder.tide.plain import behind, fresh_tops, note_top
from slackwater.reorder.tide.state import NEVER

ROLES = Roles("time", "arrival", source="source", unit="us")
KERNEL = Reorder(Tide(loss=0.02), ROLES, forget_after=None, max_future_skew="10000 days")
ROWS = 2400


def batch_of(events):
    return pa.record_batch({
        "row": np.arange(len(events)), "time": events.time, "arrival": events.arrival,
        "source": pa.array(events.sources).take(pa.array(events.source))})


@functools.cache
def stations():
    """Four polls of six hundred stations: to wait until each is heard takes an hour."""
    return batch_of(events_of("polls", 2, ROWS))


def fates(outs):
    return [[(row["row"], row["_released"])
             for out in outs for row in getattr(out, kind).to_pylist()]
            for kind in ("ready", "late")]


def test_what_is_polled_is_not_waited_for_source_by_source():
    logic = KERNEL.start()
    first = logic.push(stations().slice(0, 500))
    assert first.notes["by_buffer"] == 0
    out = logic.push(stations().slice(500))
    assert out.notes["by_buffer"] == 1
    waited = [row for row in out.ready.to_pylist() if "a buffer for all sources" in row["_reason"]]
    assert len(waited) > 1000
    assert out.late.num_rows <= 0.02 * ROWS


@functools.cache
def whole():
    logic = KERNEL.start()
    return fates([logic.push(stations()), logic.finish()])


@settings(max_examples=25)
@given(cuts=st.sets(st.integers(1, ROWS - 1), max_size=5), restarts=st.sets(st.integers(0, 5)))
def test_cuts_and_restarts_change_nothing(cuts, restarts):
    logic, outs, edges = KERNEL.start(), [], [0, *sorted(cuts), ROWS]
    for number, (begin, end) in enumerate(pairwise(edges)):
        outs.append(logic.push(stations().slice(begin, end - begin)))
        if number in restarts:
            logic = KERNEL.restore(logic.snapshot())
    outs.append(logic.finish())
    assert fates(outs) == whole()


@settings(max_examples=15)
@given(ticks=st.sets(st.integers(0, ROWS - 2), min_size=1, max_size=20))
def test_ticks_release_earlier_but_make_no_row_late(ticks):
    arrival, logic, outs, begin = stations()["arrival"].to_numpy(), KERNEL.start(), [], 0
    for at in sorted(ticks):
        outs.append(logic.push(stations().slice(begin, at + 1 - begin)))
        outs.append(logic.tick(int(arrival[at] + arrival[at + 1]) // 2))
        begin = at + 1
    outs += [logic.push(stations().slice(begin)), logic.finish()]
    (ready, late), (expected_ready, expected_late) = fates(outs), whole()
    assert [row for row, _ in late] == [row for row, _ in expected_late]
    assert [row for row, _ in ready] == [row for row, _ in expected_ready]
    before = dict(expected_ready)
    assert all(released <= before[row] for row, released in ready)


@pytest.mark.parametrize("at", [700, 1500])
def test_one_row_from_1970_changes_little_for_the_others(at):
    events = events_of("polls", 2, ROWS)
    time = events.time.copy()
    time[at] = 0
    usual = run(events, Tide(loss=0.02))
    broken = run(replace(events, time=time), Tide(loss=0.02))
    others = np.arange(ROWS) != at
    assert broken.late[others].sum() <= usual.late.sum() + 5
    waits = [np.where(done.late, 0, done.released - events.arrival)[others].mean()
             for done in (usual, broken)]
    assert waits[1] <= 1.5 * waits[0]


def test_a_ramp_of_delays_is_left_to_the_sources():
    """Each event takes a little longer than the one before: a buffer is always a little too short,
    and waits for next to nothing; sources that keep their order lose nothing.
    """
    time = np.repeat(np.arange(3000) * 200_000, 5)
    source = np.tile(np.arange(5), 3000)
    arrival = time + 75_000 + time // 600 + source * 2000
    order = np.argsort(arrival, kind="stable")
    out = Reorder(Tide(loss=0.01), ROLES).start().push(pa.record_batch({
        "row": np.arange(len(time)), "time": time[order], "arrival": arrival[order],
        "source": pa.array([f"s{s}" for s in source[order]])}))
    assert out.late.num_rows <= 0.01 * len(time)


def test_a_clock_that_leaps_ahead_makes_no_event_of_others_late():
    """The buffer is counted from the low end of all delays, and that falls by minutes."""
    rows = 100_000
    rng = np.random.default_rng(1)
    time, source = poisson(rng, rows, rate=20.0)
    arrival = in_order(time, time + lognormal(rng, rows, 0.1), source)
    time[(source == 3) & (np.arange(rows) > rows // 2)] += 290
    order = np.argsort(arrival, kind="stable")
    out = Reorder(Tide(loss=0.01), ROLES).start().push(pa.record_batch({
        "row": np.arange(rows), "time": (time[order] * 1e6).astype(np.int64) + 10**15,
        "arrival": (arrival[order] * 1e6).astype(np.int64) + 10**15,
        "source": pa.array([f"s{k}" for k in source[order]])}))
    assert out.late.num_rows <= 1.2 * 0.01 * rows


def test_times_are_kept_apart_and_found():
    tops = fresh_tops()
    assert behind(tops, 10**15) == NEVER
    for top in range(0, 1000, 3):
        note_top(tops, top, 100.0)
    assert behind(tops, 998) == 996
    assert 970 < behind(tops, 985) <= 985
    assert behind(tops, 100) == NEVER, "what is older than a buffer and a half is not kept"
