"""The reorder kernel against the literal rule: any input, any cut, any restart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle

from slackwater import Reorder, Roles
from slackwater.core.kernel import MemoryStore
from slackwater.reorder import POLICIES

START = 1_700_000_000_000_000
ROLES = Roles("time", "arrival", key=("key",), unit="us")

arrivals = st.lists(
    st.tuples(
        st.integers(0, 40),      # gap to the previous arrival, ms: many ties
        st.integers(-20, 200),   # delay, ms: clocks may run ahead
        st.sampled_from("abc"),
    ),
    max_size=60,
)
SMALL = {
    "Static": "Static(buffer=60ms)",
    "LatestDelay": "LatestDelay(initial=50ms, threshold=10ms, offset=20ms)",
    "WeightedMean": "WeightedMean(n=3, initial=75ms, offset=10ms)",
    "DelayRange": "DelayRange(n=4, initial=75ms, offset=5ms)",
    "MeanPlusRange": "MeanPlusRange(n=4, initial=75ms, offset=5ms)",
    "Kalman": "Kalman(initial=75ms, offset=20ms)",
    "KSlack": "KSlack(initial=75ms)",
    "MaxDelay": "MaxDelay(n=4, initial=75ms)",
}


def rows_of(events):
    clock, rows = 0, []
    for gap, delay, key in events:
        clock += gap
        rows.append((START + (clock - delay) * 1000, START + clock * 1000, key))
    return rows


def batch_of(rows, first=0):
    time, arrival, key = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.record_batch({
        "row": pa.array(range(first, first + len(rows)), pa.int64()),
        "time": pa.array(time, pa.int64()), "arrival": pa.array(arrival, pa.int64()),
        "key": pa.array(key, pa.string()),
    })


def fates(batch):
    stamps = batch["_released"].cast(pa.int64()).to_pylist()
    return list(zip(batch["row"].to_pylist(), stamps, strict=True))


@pytest.mark.parametrize("name", sorted(SMALL))
@given(events=arrivals, cuts=st.lists(st.integers(0, 60), max_size=6), data=st.data())
def test_kernel_follows_the_rule(name, events, cuts, data):
    rows = rows_of(events)
    oracle, kernel = Oracle(SMALL[name]), Reorder(SMALL[name], ROLES)
    store = MemoryStore() if data.draw(st.booleans(), "store apart") else None
    logic = kernel.start(store)
    ready, late = [], []

    def note(out):
        ready.extend(fates(out.ready))
        late.extend(fates(out.late))
        assert out.quarantined.num_rows == 0
        assert out.notes["held"] == sum(len(s.held) for s in oracle.streams.values())

    edges = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
    for begin, end in pairwise(edges):
        for row in rows[begin:end]:
            oracle.arrive(*row)
        note(logic.push(batch_of(rows[begin:end], begin)))
        if data.draw(st.booleans(), "tick"):
            now = rows[end - 1][1] + data.draw(st.integers(0, 300), "later") * 1000
            oracle.tick(now)
            note(logic.tick(now))
        if data.draw(st.booleans(), "restart"):
            logic = kernel.restore(logic.snapshot(), store)
    oracle.finish()
    end = logic.finish()
    if rows:
        note(end)
    else:
        assert len(end) == 0
    assert ready == oracle.ready
    assert late == oracle.late


def test_every_policy_is_tried_here():
    from slackwater.reorder import DelayPolicy
    assert set(SMALL) == {n for n, k in POLICIES.items() if issubclass(k, DelayPolicy)}


def test_an_equal_time_is_in_order_and_an_older_one_late():
    logic = Reorder("Static(buffer=10ms)", Roles("time", "arrival", unit="ms")).start()
    s = 1_700_000_000_000
    batch = pa.record_batch({"row": [0, 1, 2, 3],
                             "time": [s, s, s - 1, s + 50], "arrival": [s, s + 20, s + 20, s + 50]})
    out = logic.push(batch)
    assert out.ready["row"].to_pylist() == [0, 1]
    assert out.late["row"].to_pylist() == [2]
    assert out.late["_reason"].to_pylist() == ["came 1 ms behind the watermark"]
    assert logic.finish().ready["row"].to_pylist() == [3]


@pytest.mark.parametrize("policy", [SMALL["KSlack"], "DropRatio(ratio=10%)", "Tide(loss=10%)"])
def test_where_keys_share_an_estimate_a_tick_makes_no_row_late(policy):
    """Between two rows of one key another's delay makes both wait longer again."""
    rng = np.random.default_rng(3)
    arrival = 1_700_000_000_000 + np.cumsum(rng.integers(0, 4, 4000))
    time = arrival - (rng.exponential(20, 4000) * rng.choice([1, 1, 1, 8], 4000)).astype(int)
    batch = pa.record_batch({"row": np.arange(4000), "time": time, "arrival": arrival,
                             "key": rng.integers(0, 50, 4000)})
    kernel = Reorder(policy, Roles("time", "arrival", key=("key",), unit="ms"), scope=())
    late = []
    for ticks in (False, True):
        logic, found = kernel.start(), []
        for j in range(4000):
            if ticks and j:
                logic.tick(int(arrival[j - 1] + arrival[j]) * 500)
            found += logic.push(batch.slice(j, 1)).late["row"].to_pylist()
        late.append(found)
    assert late[0] == late[1]
    assert late[0]


@given(events=arrivals, scope=st.sampled_from([(), ("key",)]))
def test_a_shared_scope_estimates_over_its_keys(events, scope):
    """One estimate for all keys: the buffer time in force is that of the whole stream."""
    rows = rows_of(events)
    roles = Roles("time", "arrival", key=("key",), unit="us")
    logic = Reorder(SMALL["KSlack"], roles, scope=scope).start()
    got = logic.push(batch_of(rows)) if rows else None
    policy = Reorder(SMALL["KSlack"], roles).policy
    state = {}
    held, greatest, late, reach = {}, {}, [], {}
    for row, (time, arrival, key) in enumerate(rows):
        group = key if scope else ""
        s = state.setdefault(group, np.asarray([policy.initial_state()], float))
        upto = reach[group] = max(reach.get(group, 0), arrival - np.ceil(s[0, 0]))
        due = [e for e in held.get(key, []) if e <= upto]
        held[key] = [e for e in held.get(key, []) if e > upto]
        greatest[key] = max([greatest.get(key, 0), *due])
        policy.buffers(np.array([float(arrival - time)]), np.zeros(1, np.int64), s, np.empty(1),
                       np.empty(1))
        if time < greatest[key]:
            late.append(row)
        else:
            held[key].append(time)
    assert (got.late["row"].to_pylist() if rows else []) == late
