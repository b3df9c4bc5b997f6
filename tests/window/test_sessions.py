"""Sessions against the oracle, and what is kept of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_window import AGGREGATES, SCHEMA, batches, check, run, streams
from test_window_state import ASKED, actions, exact, rows_in_order
from test_window_state import SCHEMA as ORDERED
from test_window_state import run as run_with
from window_oracle import by_session

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.kernel import MemoryStore
from slackwater.reorder import Reorder, Static
from slackwater.window import Aggregate, Window, Windowed

ROLES = Roles("time", unit="us")


def sessions(gap, group=(), aggregates=AGGREGATES, buffer=20):
    roles = Roles("time", "arrival", unit="us", key=group)
    return Windowed(Reorder(Static(buffer), roles),
                    Window(aggregates, group=group, roles=roles, session=gap))


def ends(result):
    return tuple(round(result[c].timestamp() * 1e6) for c in ("window_start", "window_end"))


@given(streams(), st.lists(st.integers(0, 40), max_size=4), st.sets(st.integers(0, 5)),
       st.integers(1, 15), st.booleans())
@settings(deadline=None, max_examples=150)
def test_sessions_equal_the_oracle(rows, cuts, restarts, gap, grouped):
    group = ("room",) if grouped else ()
    ready, late = run(sessions(gap, group), batches(rows, cuts), restarts)
    assert not late
    wanted = {(start, end, name): inside for start, end, name, inside
              in by_session(rows, gap, "room" if grouped else None)}
    assert len(ready) == len(wanted)
    for result in ready:
        check(result, wanted[*ends(result), result.get("room")])


@given(streams(), st.lists(st.integers(0, 40), max_size=4), st.sets(st.integers(0, 5)),
       st.integers(1, 12))
@settings(deadline=None, max_examples=60)
def test_cuts_and_restarts_change_nothing_to_the_bit(rows, cuts, restarts, gap):
    kernel = sessions(gap, ("room",), buffer=5)  # too short: some rows are late
    whole = run(kernel, batches(rows, []))
    assert repr(run(kernel, batches(rows, cuts), restarts, MemoryStore())) == repr(whole)


@given(rows_in_order, actions, st.integers(1, 40), st.booleans())
@settings(deadline=None, max_examples=150)
def test_time_that_passes_changes_no_bit(rows, steps, gap, grouped):
    group = ("room",) if grouped else ()
    kernel = Window(ASKED, group=group, roles=ROLES, session=gap)
    whole, _ = run_with(kernel, rows, [])
    pieces, _ = run_with(kernel, rows, steps)
    assert exact(pieces) == exact(whole)
    found = by_session(rows, gap, "room" if grouped else None)
    assert sorted((*ends(r), r.get("room"), r["first_x"]) for r in pieces if r["count_x"]) == \
        sorted((start, end, name, next(r["x"] for r in inside if known(r["x"])))
               for start, end, name, inside in found if any(known(r["x"]) for r in inside))


def known(value):
    return value is not None and value == value


@given(streams(), st.integers(1, 12), st.integers(1, 9))
@settings(deadline=None, max_examples=60)
def test_ticks_close_sessions_earlier_and_change_none(rows, gap, every):
    kernel = sessions(gap, ("room",))
    logic, found = kernel.start(), []
    for i, row in enumerate(rows):
        if i % every == 0:
            found += logic.tick(row["arrival"]).ready.to_pylist()
        out = logic.push(pa.RecordBatch.from_pylist([row], SCHEMA))
        assert out.late.num_rows == 0
        found += out.ready.to_pylist()
    found += logic.finish().ready.to_pylist()
    whole, _ = run(kernel, batches(rows, []))
    assert exact(found) == exact(whole)


def at(*times, **more):
    return pa.record_batch({"time": pa.array(times, pa.int64()), **more})


@pytest.mark.parametrize(("second", "spans"), [(10, [(0, 20)]), (11, [(0, 10), (11, 21)])])
def test_a_row_exactly_at_the_end_still_belongs_to_the_session(second, spans):
    logic = Window([Aggregate("count")], session=10, roles=ROLES).start()
    found = logic.push(at(0, second)).ready.to_pylist() + logic.finish().ready.to_pylist()
    assert [ends(r) for r in found] == spans


def test_silence_closes_a_session_and_forgets_its_group():
    store = MemoryStore()
    kernel = Window(ASKED[:4], group=("room",), roles=ROLES, session=10)
    logic = kernel.start(store)
    logic.push(pa.RecordBatch.from_pylist([
        {"time": 0, "room": "a", "x": 1.0}, {"time": 6, "room": "b", "x": 2.0}], ORDERED))
    assert logic.tick(10).ready.num_rows == 0
    out = logic.tick(11)
    assert (out.ready["room"].to_pylist(), out.notes["groups"]) == (["a"], 1)
    out = logic.tick(17)
    assert (out.ready["room"].to_pylist(), out.notes["groups"], out.notes["retained"]) == (
        ["b"], 0, 0)
    late = logic.push(pa.RecordBatch.from_pylist([{"time": 16, "room": "b", "x": 2.0}],
                                                 ORDERED)).late
    assert late["time"].to_pylist() == [16]  # 17 was promised


@pytest.mark.parametrize("asked", [[Aggregate("max", "x")], [Aggregate("median", "few")],
                                   [Aggregate("count_distinct", "few")]],
                         ids=["panes", "ranks", "distinct"])
@pytest.mark.parametrize("group", [(), ("few",)], ids=["one group", "groups"])
def test_a_long_session_keeps_partials_and_not_rows(asked, group):
    n = 50_000
    kernel = Window(asked, group=group, roles=ROLES, session=10)
    store = MemoryStore()
    logic = kernel.start(store)
    rows = at(*range(n), x=np.arange(n) * 0.5, few=np.arange(n) % 5)
    for first in range(0, n, 5_000):
        out = logic.push(rows.slice(first, 5_000))
        assert out.ready.num_rows == 0
        assert out.notes["retained"] <= 5
        logic = kernel.restore(logic.snapshot(), store)
    assert logic.tick(n + 11).ready.num_rows == (5 if group else 1)
    assert logic.tick(n + 11).notes["retained"] == 0


def test_values_of_a_closed_session_are_dropped_when_the_next_begins():
    logic = Window([Aggregate("count_distinct", "x")], session=10, roles=ROLES).start()
    assert logic.push(at(*range(9), x=list(range(9)))).notes["retained"] == 9
    assert logic.push(at(50, x=[1])).notes["retained"] == 1


def test_sessions_that_no_timestamp_can_say_are_quarantined():
    last = 253_402_300_799_999_999
    logic = Window([Aggregate("count")], session=10, roles=ROLES).start()
    out = logic.push(at(-62_135_596_800_000_000, last - 10, last - 9))
    assert out.quarantined["time"].to_pylist() == [last - 9]
    assert logic.finish().ready["window_end"].cast(pa.int64()).to_pylist() == [last]


@pytest.mark.parametrize("lengths", [{"range": 5, "session": 5}, {"slide": 5, "session": 5}, {}])
def test_a_window_is_of_one_kind(lengths):
    with pytest.raises(ConfigError, match=r"session"):
        Window([Aggregate("count")], roles=ROLES, **lengths)
