"""The protocol around the rule: keys, stores, notes, quarantine, errors, the module."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.core.events import Roles
from slackwater.core.kernel import Kernel, Logic, MemoryStore
from slackwater.papers.synchronisation.streams import Streams
from slackwater.synchronise import (
    FrontierSync,
    MergedTreeSync,
    RedBlackSync,
    SyncModule,
    TreeSync,
    named,
)
from tests.synchronise.test_sync_rule import BASE, METHODS, ROLES, batch_of, replay, scripts

KEYED = Roles("time", "arrival", source="source", key=("room",), unit="us")


def in_order_streams(streams, events, seed):
    """Streams that are each in order, with random delays that keep each in order."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, streams, events)
    time = BASE + np.cumsum(rng.integers(0, 50, events))
    arrival = time + rng.integers(0, 400, events)
    for s in range(streams):
        mine = source == s
        arrival[mine] = np.maximum.accumulate(arrival[mine])
    order = np.argsort(arrival, kind="stable")
    return pa.record_batch({"time": time[order], "arrival": arrival[order],
                            "source": pa.array(source[order]).cast(pa.string()),
                            "n": np.arange(events)})


@settings(max_examples=25)
@given(steps=scripts(in_order=True, plain=True), failures=st.sampled_from([None, 2]),
       max_delay=st.sampled_from([None, 6]))
def test_method_1_is_never_earlier_and_never_other(steps, failures, max_delay):
    outs = []
    for method in (MergedTreeSync, TreeSync):
        config = method(ROLES, max_delay=max_delay, max_failures=failures)
        logic, ready, late, stamps, keep = replay(config.start(), steps, lambda i: 0)
        keep(logic.finish())
        outs.append(([n for n, _ in ready], late, stamps))
    (two, late_two, when_two), (one, late_one, when_one) = outs
    assert one == two
    assert late_one == late_two
    assert all(a >= b for a, b in zip(when_one, when_two, strict=True))


@pytest.mark.parametrize("streams", [3, 70, 200])
def test_all_methods_release_the_same_sequence_over_several_words(streams):
    batch = in_order_streams(streams, 3000, seed=streams)
    want = batch["n"].take(pa.compute.sort_indices(
        pa.table(batch), [("time", "ascending"), ("n", "ascending")])).to_pylist()
    for method in METHODS:
        logic = method(ROLES, sources=tuple(map(str, range(streams))), max_delay=None).start()
        got = []
        for cut in (batch.slice(0, 1000), batch.slice(1000, 1), batch.slice(1001)):
            got += logic.push(cut).ready["n"].to_pylist()
            logic = logic.config.restore(logic.snapshot())
        assert len(got) > 1000
        assert got + logic.finish().ready["n"].to_pylist() == want, method


@pytest.mark.parametrize("method", METHODS)
def test_learned_sources_over_several_words(method):
    batch = in_order_streams(150, 2500, seed=1)
    ours = method(ROLES, max_delay="100us", max_failures=2).start()
    reference = FrontierSync(ROLES, max_delay="100us", max_failures=2).start()
    one, two = ours.push(batch), reference.push(batch)
    if method is TreeSync:  # may still hold what the others have let go
        first = one.ready["n"].to_pylist() + ours.finish().ready["n"].to_pylist()
        assert first == two.ready["n"].to_pylist() + reference.finish().ready["n"].to_pylist()
    else:
        assert one.ready.equals(two.ready)
    assert one.late.equals(two.late)
    assert one.late.num_rows
    assert ours.health() == reference.health()


@pytest.mark.parametrize("method", METHODS)
def test_keys_are_independent(method):
    parts = [in_order_streams(4, 400, seed=s) for s in range(3)]
    rooms = [p.append_column("room", pa.array([f"r{i}"] * p.num_rows)) for i, p in enumerate(parts)]
    table = pa.concat_tables([pa.Table.from_batches([r]) for r in rooms])
    mixed = table.take(pa.compute.sort_indices(table, [("arrival", "ascending")]))
    mixed = mixed.combine_chunks().to_batches()[0]
    for sources in (None, ("0", "1", "2", "3")):
        config = method(KEYED, sources=sources, max_delay="150us", max_failures=3)
        logic = config.start()
        outs = [logic.push(mixed.slice(0, 500)), logic.push(mixed.slice(500))]
        outs += [logic.tick(int(mixed["arrival"][-1].as_py()) + 120), logic.finish()]
        together = pa.Table.from_batches([o.ready for o in outs])
        for i, room in enumerate(rooms):
            single = method(ROLES, sources=sources, max_delay="150us", max_failures=3).start()
            alone = [single.push(room), single.tick(int(mixed["arrival"][-1].as_py()) + 120),
                     single.finish()]
            mine = together.filter(pa.compute.equal(together["room"], f"r{i}"))
            want = pa.Table.from_batches([o.ready for o in alone])
            assert mine["n"].to_pylist() == want["n"].to_pylist()
            assert mine["_released"].to_pylist() == want["_released"].to_pylist()
            assert mine["_reason"].to_pylist() == want["_reason"].to_pylist()


class CountingStore(MemoryStore):
    written = 0

    def put(self, name, blob):
        self.written += len(blob)
        super().put(name, blob)


def test_a_snapshot_into_a_store_writes_what_changed():
    config = FrontierSync(ROLES, sources=("a", "silent"), max_delay="1 hour")
    store = CountingStore()
    logic = config.start(store)
    rows = [(i, i, "a", i) for i in range(50_000)]
    logic.push(batch_of(rows))
    index = logic.snapshot()
    first, store.written = store.written, 0
    logic = config.restore(index, store)
    logic.push(batch_of([(50_000, 50_000, "a", 50_000)]))
    index = logic.snapshot()
    assert len(index) < 3000
    assert store.written < first / 50
    logic = config.restore(index, store)
    out = logic.push(batch_of([(50_001, 60_000, "silent", 50_001)]))
    assert out.ready["n"].to_pylist() == list(range(50_001))
    assert logic.snapshot()
    assert sum(name.startswith("held/") for name in store) == 1


@pytest.mark.parametrize("method", METHODS)
def test_an_external_store_changes_nothing(method):
    batch = in_order_streams(5, 600, seed=3)
    config = method(ROLES, max_delay="100us", max_failures=2)
    plain, store = config.start(), MemoryStore()
    index = config.start(store).snapshot()
    for at in range(0, 600, 40):
        logic = config.restore(index, store)
        assert logic.push(batch.slice(at, 40)).ready.equals(plain.push(batch.slice(at, 40)).ready)
        index = logic.snapshot()
    assert config.restore(index, store).finish().ready.equals(plain.finish().ready)


@pytest.mark.parametrize("method", METHODS)
def test_notes_tell_each_source_health(method):
    logic = method(ROLES, sources=("a", "b"), max_delay=10, max_failures=1).start()
    assert isinstance(logic, Logic)
    assert isinstance(logic.config, Kernel)
    logic.push(batch_of([(0, 5, "a", 5), (1, 7, "stranger", 7)]))
    notes = logic.tick(BASE + 16).notes
    assert notes["sources"] == [
        {"key": "", "source": "a", "state": "live", "failures": 0, "last": BASE + 5},
        {"key": "", "source": "b", "state": "disabled", "failures": 1, "last": None},
        {"key": "", "source": "stranger", "state": "guest", "failures": 0, "last": BASE + 7}]
    assert (notes["live"], notes["disabled"], notes["guest"], notes["held"]) == (1, 1, 1, 1)
    assert notes["watermark"] == BASE + 5
    out = logic.push(batch_of([(2, 8, "b", 17)]))
    assert out.notes["sources"][1]["state"] == "live"


@pytest.mark.parametrize("method", METHODS)
def test_an_event_may_wait_exactly_max_delay(method):
    logic = method(ROLES, sources=("a", "b"), max_delay=10, max_failures=None).start()
    logic.push(batch_of([(0, 0, "a", 0), (1, 5, "a", 5)]))
    assert logic.tick(BASE + 10).ready.num_rows == 0
    out = logic.tick(BASE + 15)
    assert out.ready["n"].to_pylist() == [0]
    assert out.ready["_reason"].to_pylist() == ["waited longer than 10us"]
    assert [h["failures"] for h in out.notes["sources"]] == [0, 1]
    assert logic.tick(BASE + 16).ready["n"].to_pylist() == [1]


def test_quarantine_moves_no_clock():
    logic = FrontierSync(ROLES, sources=("a", "b"), max_delay=10).start()
    rows = [(0, 5, "a", 5), (1, 10**12, "b", 6), (2, 6, "b", 7)]
    out = logic.push(batch_of(rows))
    assert out.quarantined["n"].to_pylist() == [1]
    assert "ahead" in out.quarantined["_reason"][0].as_py()
    assert out.ready["n"].to_pylist() == [0]


def test_late_rows_say_by_how_much():
    logic = FrontierSync(ROLES, sources=("a",)).start()
    out = logic.push(batch_of([(0, 5000, "a", 5), (1, 3000, "b", 6)]))
    assert out.late["_reason"].to_pylist() == ["source b came 2 ms behind the watermark"]


def test_configuration_mistakes_are_named():
    with pytest.raises(ConfigError, match="which column tells the source"):
        FrontierSync(Roles("time"))
    with pytest.raises(ConfigError, match="declared twice"):
        FrontierSync(ROLES, sources=("a", "b", "a"))
    with pytest.raises(ConfigError, match="did you mean 'producer'"):
        FrontierSync(ROLES, blame="produce")
    with pytest.raises(ConfigError, match="at least one failure"):
        TreeSync(ROLES, max_failures=0)
    with pytest.raises(ConfigError, match="one text"):
        TreeSync(ROLES, sources="abc")
    logic = FrontierSync(ROLES, sources=("north", "south")).start()
    with pytest.raises(ConfigError, match="did you mean 'north'"):
        logic.remove_source("nort")


def test_a_snapshot_belongs_to_its_method_and_may_change_sources():
    logic = RedBlackSync(ROLES, sources=("a", "b"), max_delay=None).start()
    logic.push(batch_of([(0, 5, "a", 5)]))
    snapshot = logic.snapshot()
    with pytest.raises(SnapshotError, match="method has changed"):
        FrontierSync(ROLES, sources=("a", "b")).restore(snapshot)
    with pytest.raises(SnapshotError, match="learned"):
        RedBlackSync(ROLES).restore(snapshot)
    logic = RedBlackSync(ROLES, sources=("a", "c"), max_delay=None).restore(snapshot)
    states = {h["source"]: h["state"] for h in logic.health()}
    assert states == {"a": "live", "b": "guest", "c": "live"}
    assert logic.tick(BASE + 6).ready["n"].to_pylist() == [0]  # held before c joined


def test_the_module_bounds_its_queue_and_loses_nothing():
    got = []
    batch = in_order_streams(4, 1000, seed=9)

    def module():
        return SyncModule(FrontierSync(ROLES), lambda rows: got.extend(rows["n"].to_pylist()),
                          capacity=50)

    one, most = module(), 0
    for at in range(0, 1000, 100):
        out = one.push(batch.slice(at, 100))
        assert out.ready.num_rows == 0
        most = max(most, one.waiting)
        one.feed(7)
        two = module()
        two.restore(one.snapshot())
        one = two
    assert most == 50
    one.finish()
    plain = FrontierSync(ROLES).start()
    want = plain.push(batch).ready["n"].to_pylist() + plain.finish().ready["n"].to_pylist()
    assert got == want
    with pytest.raises(ConfigError, match="room"):
        SyncModule(FrontierSync(ROLES), print, capacity=0)


def test_the_generator_keeps_to_its_numbers():
    batch = Streams(3, 600, interval=1000, delay=(0, 7000), throughput=(4.0,)).batch()
    assert batch.num_rows == 600
    delay = np.asarray(batch["arrival"]) - np.asarray(batch["time"])
    source = np.asarray(batch["source"])
    assert set(delay[source == "1"]) == {7000}
    assert set(delay[source != "1"]) == {0}
    assert (np.diff(np.asarray(batch["arrival"])) >= 0).all()
    counts = [int((source == s).sum()) for s in "012"]
    assert abs(counts[0] - 4 * counts[1]) <= 4
    assert abs(counts[1] - counts[2]) <= 1


def test_visited_nodes_grow_linearly_with_the_streams():
    visited = {}
    for method in (TreeSync, MergedTreeSync, RedBlackSync):
        for n in (100, 200, 400):
            made = Streams(n, 4000)
            logic = method(ROLES, sources=made.names, max_delay=None).start()
            logic.push(made.batch())
            visited[method, n] = logic.counters["visited"]
    for method in (TreeSync, MergedTreeSync):
        growth = (visited[method, 400] - visited[method, 200]) / (
            visited[method, 200] - visited[method, 100])
        assert 1.7 < growth < 2.1
    assert all(visited[MergedTreeSync, n] <= visited[TreeSync, n] for n in (100, 200, 400))
    assert visited[RedBlackSync, 400] < 2 * visited[RedBlackSync, 100]


def test_methods_by_name():
    assert [m.__name__ for m in named.METHODS.values()] == [
        "FrontierSync", "TreeSync", "MergedTreeSync", "RedBlackSync", "LinkedListSync",
        "IndexedListSync"]
    with pytest.raises(ConfigError, match="did you mean 'frontier'"):
        named.method_named("fronteir")
