"""`Tide` as a kernel: cuts, restarts and ticks do not matter, keys do not see each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from feeds import START, batch_of, regular
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater import Reorder, Roles
from slackwater.core.errors import ConfigError, DataError, SnapshotError
from slackwater.core.kernel import MemoryStore
from slackwater.reorder import Tide, as_policy
from slackwater.reorder.policy import Arrivals
from slackwater.reorder.tide.state import DEBT, PROMISE, TIMEOUT

KEYED = Roles("time", "arrival", source="source", sequence="sequence", key=("key",), unit="us")
QUICK = Tide(loss=0.1, timeout="200ms", max_timeout="1s", warmup="50ms")

arrivals = st.lists(
    st.tuples(
        st.integers(0, 60),        # ms since the arrival before
        st.integers(-30, 1500),    # delay, ms
        st.sampled_from("abc"),    # source
        st.integers(0, 12),        # sequence number: gaps, copies and restarts
        st.sampled_from("xy"),     # key
    ),
    max_size=80,
)


def keyed_batch(events, key="key"):
    clock, rows = 0, []
    for gap, delay, source, sequence, k in events:
        clock += gap
        rows.append((clock - delay, clock, source, None if sequence == 12 else sequence, k))
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), (), ()]
    return pa.record_batch({
        "row": pa.array(range(len(rows)), pa.int64()),
        "time": pa.array([START + t * 1000 for t in columns[0]], pa.int64()),
        "arrival": pa.array([START + a * 1000 for a in columns[1]], pa.int64()),
        "source": pa.array(columns[2], pa.string()),
        "sequence": pa.array(columns[3], pa.int64()),
        "key": pa.array(columns[4], pa.string()),
    })


def everything(outs):
    return [[row for out in outs for row in getattr(out, kind).to_pylist()]
            for kind in ("ready", "late", "quarantined")]


@given(events=arrivals, cuts=st.lists(st.integers(0, 80), max_size=6),
       declared=st.booleans(), apart=st.booleans())
def test_cuts_and_restarts_change_nothing(events, cuts, declared, apart):
    policy = Tide(loss=0.1, timeout="200ms", max_timeout="1s", warmup="50ms",
                  sources="a b z" if declared else None)
    kernel, batch = Reorder(policy, KEYED), keyed_batch(events)
    now = int(batch["arrival"][-1].as_py()) + 150_000 if events else START
    whole = kernel.start()
    expected = everything([whole.push(batch), whole.tick(now), whole.finish()])
    store = MemoryStore() if apart else None
    logic, outs = kernel.start(store), []
    for begin, end in pairwise(sorted({0, len(events), *(c for c in cuts if c < len(events))})):
        outs.append(logic.push(batch.slice(begin, end - begin)))
        logic = kernel.restore(logic.snapshot(), store)
    outs += [logic.tick(now), logic.finish()]
    assert everything(outs) == expected


@given(events=arrivals)
def test_keys_do_not_see_each_other(events):
    both = keyed_batch(events)
    logic = Reorder(QUICK, KEYED).start()
    together = everything([logic.push(both), logic.finish()])
    for key in "xy":
        alone = both.filter(pa.array([k == key for k in both["key"].to_pylist()], pa.bool_()))
        logic = Reorder(QUICK, KEYED).start()
        apart = everything([logic.push(alone), logic.finish()])
        assert [[r for r in rows if r["key"] == key] for rows in together] == apart


@settings(max_examples=60)
@given(events=arrivals)
def test_the_heap_agrees_with_a_look_at_every_source(events):
    """By time alone the threshold comes from a scan; an arrival then must not fall behind it."""
    batch = keyed_batch(events)
    time, arrival = (batch[c].to_numpy() for c in ("time", "arrival"))
    names = pa.array(sorted(set(batch["source"].to_pylist())), pa.string())
    code = np.array([names.to_pylist().index(s) for s in batch["source"].to_pylist()], np.int64)
    estimator, group = QUICK.estimator(), np.zeros(1, np.int64)
    promised = None
    for j in range(len(events)):
        if j:
            promised = estimator.thresholds(arrival[j:j + 1])[0]
        one = Arrivals(time[j:j + 1].copy(), arrival[j:j + 1].copy(), group, 1, code[j:j + 1],
                       None, names)
        theta, _ = estimator.advance(one)
        if promised is not None:
            assert theta[0] >= promised
            assert theta[0] == promised or theta[0] <= time[j], "only what it made known itself"
        whole, real = estimator._groups["whole"][0], estimator._groups["real"][0]
        assert 0 < real[TIMEOUT] <= 1_000_000
        assert real[DEBT] >= -3
        assert whole[PROMISE] >= theta[0]


def test_a_snapshot_writes_only_what_changed():
    rng = np.random.default_rng(1)
    rows = [r for n in range(3000) for r in regular(rng, f"s{n:04}", end=2.0, period=1.0)]
    store = MemoryStore()
    logic = Reorder(Tide(), Roles("time", "arrival", source="source", unit="us")).start(store)
    logic.push(batch_of(rows))
    logic.snapshot()
    before = dict(store)
    logic.push(batch_of([(3.0, 3.1, "s0000", 9)]))
    index = logic.snapshot()
    changed = {name for name, blob in store.items() if before.get(name) != blob}
    assert len([name for name in changed if name.startswith("tide-sources")]) == 1
    assert len([name for name in store if name.startswith("tide-sources")]) == 3
    assert len(index) < 5000


def test_a_source_that_goes_idle_on_a_page_of_its_own_is_written():
    """Its page sees no arrival; only the silence of the source changes it."""
    names = pa.array([f"s{n}" for n in range(1100)], pa.large_string())
    policy, store = Tide(timeout="1s", warmup=0), MemoryStore()
    estimator = policy.estimator()

    def arrive(second, source):
        at = np.full(len(source), START + second * 1_000_000)
        estimator.advance(Arrivals(at, at, np.zeros(len(source), np.int64), 1, source, None, names))
        meta = estimator.save(store)
        again = policy.estimator()
        again.load(store, meta)
        assert np.array_equal(again._sources["whole"], estimator._sources["whole"])

    for second in range(5):
        arrive(second, np.arange(1100))
    for second in range(5, 60):
        arrive(second, np.zeros(1, np.int64))
    assert estimator.notes(names)["sources"]["idle"] == 1099


def test_a_snapshot_of_another_policy_is_refused():
    batch = keyed_batch([(1, 2, "a", 0, "x")])
    logic = Reorder(QUICK, KEYED).start()
    logic.push(batch)
    with pytest.raises(SnapshotError, match="policy has changed"):
        Reorder("Static", KEYED).restore(logic.snapshot())


@pytest.mark.parametrize(("text", "said"), [
    ("Tide(loss=2)", "not a share"),
    ("Tide(loss=0%)", "not a share"),
    ("Tide(loss=some)", "not a share"),
    ("Tide(timeout=2 minutes)", "shorter than the timeout"),
    ("Tide(sources=a a)", "each source once"),
    ("Tide(los=1%)", "not a parameter"),
])
def test_mistakes_are_named(text, said):
    with pytest.raises(ConfigError, match=said):
        as_policy(text)


def test_it_is_found_by_name_and_prints_itself():
    policy = as_policy("tide(loss=0.5%, sources=a b, timeout=2s)")
    assert policy == Tide(loss=0.005, sources=("a", "b"), timeout="2s")
    assert eval(str(policy), {"Tide": Tide}) == policy


def test_a_sequence_that_is_no_number_is_refused():
    batch = pa.record_batch({"time": [START], "arrival": [START], "source": ["a"],
                             "sequence": ["one"], "key": ["x"]})
    with pytest.raises(DataError, match="no whole numbers"):
        Reorder(QUICK, KEYED).start().push(batch)
