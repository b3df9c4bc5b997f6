"""No single row, and no producer whose clock is wrong, changes what happens to the others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slackwater import Reorder, Roles
from slackwater.checks.subject import collect, cut
from slackwater.core.kernel import MemoryStore
from slackwater.dedupe import Dedupe
from slackwater.synchronise import FrontierSync

START = 1_700_000_000_000_000
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
STAMP = pa.timestamp("us", "UTC")
FAR = (HOUR, 30 * HOUR, 75 * 365 * DAY)
LEARNING = ["WeightedMean", "DelayRange", "MeanPlusRange", "Kalman", "KSlack", "MaxDelay",
            "DropRatio"]


def honest(rows: int, seed: int, step: int = SECOND // 50) -> np.ndarray:
    """Times in the order in which rows come, the latest up to twenty steps late."""
    rng = np.random.default_rng(seed)
    time = START + np.arange(rows) * step
    return time[np.argsort(time + rng.integers(0, 20 * step, rows), kind="stable")]


def batch(time, source, honest, arrival=None) -> pa.RecordBatch:
    columns = {"row": np.arange(len(time)), "time": pa.array(time).cast(STAMP),
               "source": [f"s{s}" for s in source], "honest": honest, "key": ["k"] * len(time)}
    if arrival is not None:
        columns["arrival"] = pa.array(arrival).cast(STAMP)
    return pa.record_batch(columns)


def with_a_wrong_producer(time, share: float, off: int, seed: int,
                          at_once: int = 1) -> pa.RecordBatch:
    """One source among five is wrong by `off`."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 4, len(time))
    where = 1 + np.sort(rng.choice(len(time) - 1, int(share * len(time) / at_once), replace=False))
    where = np.repeat(where, at_once)
    good = np.insert(np.ones(len(time), bool), where, False)
    clock = np.maximum.accumulate(time) + SECOND
    return batch(np.insert(time, where, time[where] + off), np.insert(source, where, 9), good,
                 np.insert(clock, where, clock[where]))


def fates(kernel, events: pa.RecordBatch, size: int = 97):
    """What became of each honest row, and which left before the end."""
    logic = kernel.start()
    outs = [logic.push(piece) for piece in cut(events, size)]
    left = sum(sum(out.ready["honest"].to_pylist()) for out in outs)
    outs.append(logic.finish())
    at = np.cumsum(events["honest"]) - 1  # without the others it would be this row
    return {int(at[r["row"]]): kind for kind, rows in collect(outs).items()
            for r in rows if r["honest"]}, left


KERNELS = {
    "Static": lambda roles: Reorder("Static(buffer=500ms)", roles),
    "by key": lambda roles: Reorder("Static(buffer=500ms)", Roles(
        roles.time, roles.arrival, roles.source, key=("key",))),
}


@pytest.mark.parametrize("sourced", [False, True])
@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=30)
@given(st.integers(0, 10 ** 6), st.sampled_from(FAR), st.floats(0.005, 0.25),
       st.sampled_from([1, 2, 12]))
def test_a_producer_that_is_far_ahead_makes_nobody_late(name, sourced, seed, off, share, at_once):
    """Without arrivals; where sources are known also many rows of it, and some at once."""
    time = honest(800, seed)
    if not sourced:
        share, at_once = min(share, 0.01), 1
    kernel = KERNELS[name](Roles("time", source="source" if sourced else None))
    events = with_a_wrong_producer(time, share, off, seed, at_once=at_once)
    wrong = np.flatnonzero(~np.array(events["honest"].to_pylist()))
    # two of an unknown producer, side by side, look like a stream that has paused
    assume(sourced or (np.diff(wrong) > 2).all())
    expected, _ = fates(kernel, batch(time, np.zeros(800, int), np.ones(800, bool)))
    found, _ = fates(kernel, events)
    assert found == expected


@pytest.mark.parametrize("policy", LEARNING)
@settings(max_examples=20)
@given(st.integers(0, 10 ** 6), st.sampled_from([*FAR, -HOUR, -DAY, -50 * 365 * DAY]),
       st.floats(0.005, 0.25), st.booleans(), st.booleans())
def test_what_a_policy_learns_from_the_others_stands(policy, seed, off, share, sourced, arrival):
    """The wrong one is further behind than the stream is old, or others are known to know better.
    """
    time, sourced = honest(800, seed), sourced or off > 0
    roles = Roles("time", "arrival" if arrival and off < 0 else None,
                  "source" if sourced else None)
    events = with_a_wrong_producer(time, share, off, seed)
    clean = events.filter(events["honest"])
    expected, left = fates(Reorder(policy, roles), clean.set_column(
        0, "row", pa.array(range(clean.num_rows))))
    found, now_left = fates(Reorder(policy, roles), events)
    late = [sum(kind == "late" for kind in f.values()) for f in (expected, found)]
    assert late[1] <= 1.3 * late[0] + 15
    assert now_left >= left - 60, "rows are held because of wrong ones"
    assert set(found.values()) <= {"ready", "late"}


@settings(max_examples=20)
@given(st.integers(0, 10 ** 6), st.sampled_from((20 * SECOND, 4 * MINUTE, *FAR)),
       st.floats(0.01, 0.3), st.sampled_from([1, 7, 50]), st.booleans())
def test_all_rows_leave_in_the_same_order_however_the_input_is_cut(seed, off, share, size,
                                                                   restarts):
    """Those that are refused too, between those that have no time at all."""
    events = with_a_wrong_producer(honest(400, seed), share, off, seed)
    gone = np.random.default_rng(seed).random(events.num_rows) < 0.1
    stamps = pa.array(events["time"].cast(pa.int64()).to_numpy(), pa.int64(), mask=gone)
    events = events.set_column(1, "time", stamps.cast(STAMP)).drop_columns(["arrival"])
    for kernel in (Reorder("KSlack", Roles("time", key=("key",))),
                   FrontierSync(Roles("time", source="source"))):
        logic = kernel.start()
        whole = collect([logic.push(events), logic.finish()])
        store = MemoryStore()
        logic, outs = kernel.start(store), []
        for piece in cut(events, size):
            outs.append(logic.push(piece))
            if restarts:
                logic = kernel.restore(logic.snapshot(), store)
        outs.append(logic.finish())
        assert collect(outs) == whole
        assert sum(map(len, whole.values())) == events.num_rows


def test_refused_rows_stand_where_they_were_refused():
    """The order above is one that means something: that in which it happened."""
    time = honest(200, 1)
    wrong = np.insert(time, 50, START + 90 * 365 * DAY)
    mask = np.zeros(201, bool)
    mask[[10, 60, 150]] = True
    stamps = pa.array(wrong, mask=mask).cast(STAMP)
    events = pa.record_batch({"row": np.arange(201), "time": stamps})
    out = Reorder("Static(buffer=1s)", Roles("time")).start().push(events)
    assert out.quarantined["row"].to_pylist() == [10, 60, 50, 150]
    assert out.quarantined["_reason"].to_pylist()[2] == (
        "more than 5m ahead of all other rows")


@pytest.mark.parametrize("derived", [False, True])
@pytest.mark.parametrize("wrong", [0, 3000])
def test_ids_are_not_forgotten_because_of_rows_from_the_future(derived, wrong):
    """Two rows with one id, both stamped 2099: they are no reason to forget all other ids."""
    rows = [(START + i * SECOND // 10, f"id{i}") for i in range(12_000)]
    rows += [(at + 250 * SECOND, name) for at, name in rows[:9000]]
    rows.sort(key=lambda row: row[0])
    rows[wrong:wrong] = 2 * [(START + 75 * 365 * DAY, "far")]
    stamps = pa.array([at for at, _ in rows]).cast(STAMP)
    events = pa.record_batch({"row": np.arange(len(rows)), "time": stamps, "arrival": stamps,
                              "id": [name for _, name in rows]})
    roles = Roles("time", None if derived else "arrival", key=("id",))
    for size in (100, 1000, len(rows)) if derived else (20, 100):
        logic = Dedupe(roles).start()
        found = collect([*(logic.push(piece) for piece in cut(events, size)), logic.finish()])
        duplicates = [row for row in found["late"] if row["id"] != "far"]
        assert len(duplicates) == 9000
