"""`Tide` as a kernel: cuts, restarts and ticks do not matter, keys do not see each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from feeds import START, batch_of, regular
from hypothesis import given
from hypothesis import strategies as st

from slackwater import Reorder, Roles
from slackwater.core.errors import ConfigError, DataError, SnapshotError
from slackwater.core.kernel import MemoryStore
from slackwater.reorder import Tide, as_policy

KEYED = Roles("time", "arrival", source="source", sequence="sequence", key=("key",), unit="us")
QUICK = Tide(loss=0.1)

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
    policy = Tide(loss=0.1, sources="a b z" if declared else None,
                  max_timeout="300ms" if declared else None)
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


@given(events=arrivals, ticks=st.lists(st.integers(0, 80), max_size=20), scope=st.booleans())
def test_ticks_release_earlier_but_make_no_row_late(events, ticks, scope):
    """A tick at the moment of an arrival, or halfway to it, knows what came before it."""
    kernel, batch = Reorder(QUICK, KEYED, scope=() if scope else None), keyed_batch(events)
    whole = kernel.start()
    expected = everything([whole.push(batch), whole.finish()])
    logic, outs = kernel.start(), []
    arrival = batch["arrival"].to_pylist()
    for j in range(len(events)):
        if j in ticks:
            outs.append(logic.tick(arrival[j]))
        if j + 100 in ticks and j:
            outs.append(logic.tick((arrival[j - 1] + arrival[j]) // 2))
        outs.append(logic.push(batch.slice(j, 1)))
    outs.append(logic.finish())
    found = everything(outs)
    assert [r["row"] for r in found[1]] == [r["row"] for r in expected[1]]
    for key in "xy":
        assert ([r["row"] for r in found[0] if r["key"] == key]
                == [r["row"] for r in expected[0] if r["key"] == key])


@given(events=arrivals, factor=st.sampled_from([60, 3600, 86_400]))
def test_nothing_depends_on_the_scale_of_time(events, factor):
    """All times multiplied: the same rows leave in the same order, the same are late."""
    base = keyed_batch(events)

    def scaled(by):
        columns = base.to_pydict()
        for name in ("time", "arrival"):
            columns[name] = [START + (t - START) // 1000 * by for t in columns[name]]
        return pa.record_batch(columns, schema=base.schema)

    runs = []
    for by in (1000 * 16, 1000 * 16 * factor):
        logic = Reorder(QUICK, KEYED, max_future_skew="1000000 days", forget_after=None).start()
        runs.append(everything([logic.push(scaled(by)), logic.finish()]))
    for kind in (0, 1):
        assert [r["row"] for r in runs[0][kind]] == [r["row"] for r in runs[1][kind]]


def test_rows_of_one_instant_are_never_late_by_each_other():
    """A poll brings what happened since the last one, in any order, all at one time."""
    rng = np.random.default_rng(3)
    rows = [(poll * 60 + x, (poll + 1) * 60.0, f"s{n}", None)
            for poll in range(200) for n, x in enumerate(rng.uniform(0, 59, 20))]
    rng.shuffle(rows)
    batch = batch_of(rows)
    logic, outs = Reorder(Tide(), Roles("time", "arrival", source="source", unit="us")).start(), []
    for begin in range(0, batch.num_rows, 7):
        outs.append(logic.push(batch.slice(begin, 7)))
    assert sum(out.late.num_rows for out in outs) == 0
    ready = [t for out in outs for t in out.ready["time"].to_pylist()]
    assert len(ready) > 3800, "and none waits for the poll after the next"
    assert ready == sorted(ready)


def test_a_snapshot_writes_only_what_changed():
    rng = np.random.default_rng(1)
    rows = [r for n in range(3000) for r in regular(rng, f"s{n:04}", end=2.0, period=1.0)]
    store = MemoryStore()
    logic = Reorder(Tide(), Roles("time", "arrival", source="source", unit="us")).start(store)
    logic.push(batch_of(rows))
    logic.snapshot()
    before = dict(store)
    # at once after the last one: later, the silence of others would change them, too
    now = max(r[1] for r in rows) + 1e-5
    logic.push(batch_of([(now - 0.1, now, "s0000", 9)]))
    index = logic.snapshot()
    changed = {name for name, blob in store.items() if before.get(name) != blob}
    written = [name for name in changed if name.startswith("tide-sources")]
    assert len(written) <= 2, "its own page, and that of the source which all wait for"
    assert len([name for name in store if name.startswith("tide-sources")]) > 2
    assert len(index) < 5000


def test_a_source_that_goes_idle_on_a_page_of_its_own_is_written():
    """Its page sees no arrival; only the silence of the source changes it."""
    rng = np.random.default_rng(4)
    steady = [r for n in range(2) for r in regular(rng, f"s{n}", end=200.0, period=0.2)]
    brief = [r for n in range(2000) for r in regular(rng, f"b{n:04}", end=3.0, period=1.0)]
    batch, store = batch_of(steady + brief), MemoryStore()
    kernel = Reorder(Tide(), Roles("time", "arrival", source="source", unit="us"))
    whole, logic, outs = kernel.start(), kernel.start(store), []
    expected = everything([whole.push(batch), whole.finish()])
    for begin in range(0, batch.num_rows, 500):
        outs.append(logic.push(batch.slice(begin, 500)))
        logic = kernel.restore(logic.snapshot(), store)
    notes = outs[-1].notes["sources"]
    outs.append(logic.finish())
    assert everything(outs) == expected
    assert notes["idle"] > 0


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
    ("Tide(max_timeout=soon)", "not a duration|cannot be read|is no duration"),
    ("Tide(sources=a a)", "each source once"),
    ("Tide(los=1%)", "not a parameter"),
])
def test_mistakes_are_named(text, said):
    with pytest.raises(ConfigError, match=said):
        as_policy(text)


def test_it_is_found_by_name_and_prints_itself():
    policy = as_policy("tide(loss=0.5%, sources=a b, max_timeout=2s)")
    assert policy == Tide(loss=0.005, sources=("a", "b"), max_timeout="2s")
    assert eval(str(policy), {"Tide": Tide}) == policy
    assert as_policy("tide(sources=7)") == Tide(sources="7")


def test_a_number_of_sources_is_not_their_names():
    with pytest.raises(ConfigError, match="each source once"):
        Tide(sources=7)


def test_a_sequence_that_is_no_number_is_refused():
    batch = pa.record_batch({"time": [START], "arrival": [START], "source": ["a"],
                             "sequence": ["one"], "key": ["x"]})
    with pytest.raises(DataError, match="no whole numbers"):
        Reorder(QUICK, KEYED).start().push(batch)
