"""Streams: any arrival order within the delay, any cut, any restart gives the oracle's pairs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater import Roles
from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.core.kernel import MemoryStore
from slackwater.correlate import (
    ALGORITHMS,
    Correlate,
    Normal,
    Predicate,
    Triangular,
    Uniform,
    bucketed,
)
from tests.correlate.oracle_pairs import oracle

DELAY = 400
ROLES = Roles(time_min="lo", time_max="hi", arrival="at", unit="us")
ROWS = st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 200), st.integers(-50, DELAY),
                          st.sampled_from("ab")), max_size=30)


def stream(rows) -> pa.RecordBatch:
    """Rows (start, length, delay, key) in order of arrival."""
    rows = sorted(rows, key=lambda r: r[0] + r[1] + r[2])
    return pa.record_batch({
        "id": pa.array(range(len(rows)), pa.int64()),
        "k": pa.array([r[3] for r in rows], pa.string()),
        "lo": pa.array([r[0] for r in rows], pa.int64()),
        "hi": pa.array([r[0] + r[1] for r in rows], pa.int64()),
        "at": pa.array([r[0] + r[1] + r[2] for r in rows], pa.int64()),
    })


def ends(batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
    return batch["lo"].to_numpy(), batch["hi"].to_numpy()


def pushes(left, right, cuts: list[int]):
    """Both streams by arrival, cut into batches of the sizes in `cuts`, in turn."""
    todo = {"left": left, "right": right}
    cuts = list(cuts) or [5]
    turn = 0
    while any(b.num_rows for b in todo.values()):
        # whichever side is behind on the arrival clock comes next
        side = min((s for s in todo if todo[s].num_rows), key=lambda s: todo[s]["at"][0].as_py())
        size = cuts[turn % len(cuts)]
        turn += 1
        yield todo[side].slice(0, size), side
        todo[side] = todo[side].slice(size)


def pairs_of(out) -> list[tuple[int, int]]:
    return list(zip(out.ready["id_left"].to_pylist(), out.ready["id_right"].to_pylist(),
                    strict=True)) if out.ready.num_rows else []


def run(config, left, right, cuts, restart: bool = False, store=None, tick: bool = False):
    logic = config.start(store)
    found, bad, held = [], 0, 0
    for batch, side in pushes(left, right, cuts):
        out = logic.push(batch, side)
        found += pairs_of(out)
        bad += out.late.num_rows + out.quarantined.num_rows
        held = max(held, out.notes["held"])
        if tick:
            found += pairs_of(logic.tick(int(batch["at"][batch.num_rows - 1].as_py())))
        if restart:
            logic = config.restore(logic.snapshot(), store)
    return found + pairs_of(logic.finish()), bad, held


CONFIGS = st.builds(
    lambda predicate, confidence, algorithm, block, keys, dists: Correlate(
        **predicate, confidence=confidence, by=("k",) if keys else (), roles=ROLES,
        distribution=dists, max_delay=DELAY, longest=200, algorithm=algorithm,
        **(block if algorithm.startswith("lazy") else {})),
    st.sampled_from([{"within": 500}, {"within": 90}, {"deadline": 100, "horizon": 700},
                     {"delay": -60, "horizon": 500}]),
    st.sampled_from([1.0, 0.7, 0.2]), st.sampled_from(ALGORITHMS),
    st.sampled_from([{}, {"block": 7}, {"every": 300}, {"block": 9, "every": 200}]),
    st.booleans(), st.sampled_from([(Uniform(), Uniform()), (Normal(), Triangular(0.3))]))


@settings(max_examples=150)
@given(ROWS, ROWS, CONFIGS, st.lists(st.integers(1, 12), max_size=5), st.booleans(), st.booleans())
def test_the_oracles_pairs_each_once(left, right, config, cuts, restart, external):
    left, right = stream(left), stream(right)
    keys = (left["k"].to_pylist(), right["k"].to_pylist()) if config.by else None
    expected = oracle(ends(left), ends(right), config.predicate, config.confidence,
                      config.distribution, config.horizon, keys)
    store = MemoryStore() if external else None
    found, bad, _ = run(config, left, right, cuts, restart, store)
    assert bad == 0
    assert len(found) == len(set(found))
    assert set(found) == set(expected)


@settings(max_examples=60)
@given(ROWS, ROWS, st.sampled_from(["lazy", "lazy-lookup", "eager"]),
       st.lists(st.integers(1, 12), max_size=5))
def test_ticks_change_nothing(left, right, algorithm, cuts):
    # a tick at an arrival that both sides have reached
    left, right = stream(left), stream(right)
    config = Correlate(within=300, roles=ROLES, max_delay=DELAY, longest=200, algorithm=algorithm)
    plain, _, _ = run(config, left, right, cuts)
    logic = config.start()
    found = []
    for batch, side in pushes(left, right, [1]):
        found += pairs_of(logic.tick(int(batch["at"][0].as_py())))
        found += pairs_of(logic.push(batch, side))
    assert sorted(found) == sorted(plain)


@settings(max_examples=40)
@given(ROWS, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_a_cut_does_not_even_change_the_order(rows, cuts):
    left, right = stream(rows), stream([(a + 100, n, d, k) for a, n, d, k in rows])
    config = Correlate(within=300, roles=ROLES, max_delay=DELAY, longest=200)

    def pieces(batch, sizes):
        at = turn = 0
        while at < batch.num_rows:
            yield batch.slice(at, sizes[turn % len(sizes)])
            at += sizes[turn % len(sizes)]
            turn += 1

    def all_of(sizes):
        logic, found = config.start(), []
        for side, batch in (("left", left), ("right", right)):
            for piece in pieces(batch, sizes):
                found += pairs_of(logic.push(piece, side))
        return found

    assert all_of(cuts) == all_of([1000])


def test_state_is_bounded_and_only_what_changed_is_written():
    class Counting(MemoryStore):
        written = 0

        def put(self, name, blob):
            Counting.written += len(blob)
            super().put(name, blob)

    rng = np.random.default_rng(3)
    config = Correlate(within=500, roles=ROLES, max_delay=DELAY, longest=200)
    store = Counting()
    logic = config.start(store)
    most, index, writes, at = 0, 0, [], 0
    for _ in range(60):
        for side in ("left", "right"):
            rows = [(at + int(a), 50, int(d), "a")
                    for a, d in zip(rng.integers(0, 2000, 200), rng.integers(0, 300, 200),
                                    strict=True)]
            most = max(most, logic.push(stream(rows), side).notes["held"])
        before = Counting.written
        index = max(index, len(logic.snapshot()))
        writes.append(Counting.written - before)
        at += 2000
    assert most < 1000
    assert index < 6000
    assert sum(map(len, store.values())) < 6 * max(writes)
    # in the steady state a snapshot writes about one round of rows, no more than the first did
    assert max(writes[5:]) < 3 * writes[0]


def test_late_and_unusable_rows_leave_with_a_reason():
    config = Correlate(within=500, roles=ROLES, max_delay=DELAY, longest=200, by=("k",))
    logic = config.start()
    batch = pa.record_batch({
        "id": [0, 1, 2, 3, 4, 5], "k": ["a", "a", "a", "a", "a", None],
        "lo": [0, None, 50, 0, 100, 5], "hi": [10, 10, 20, 300, 110, 6],
        "at": [20, 20, 20, 300, 511, 520]})
    out = logic.push(batch, "left")
    assert out.late["id"].to_pylist() == [4]
    assert out.late["_reason"].to_pylist() == ["came 1us after max_delay"]
    assert dict(zip(out.quarantined["id"].to_pylist(), out.quarantined["_reason"].to_pylist(),
                    strict=True)) == {
        1: "no time in 'lo'", 2: "'lo' is after 'hi'",
        3: "an interval longer than 200us (see longest)", 5: "no value in key column 'k'"}
    assert out.notes["held_left"] == 1


def test_quarantined_rows_move_no_clock():
    config = Correlate(within=500, roles=ROLES, max_delay=DELAY, longest=200)
    logic = config.start()
    logic.push(stream([(0, 10, 0, "a")]), "left")
    logic.push(pa.record_batch({"id": [9], "k": ["a"], "lo": pa.array([None], pa.int64()),
                                "hi": [10**9], "at": [10**9]}), "right")
    assert pairs_of(logic.push(stream([(5, 10, 0, "a")]), "right")) == [(0, 0)]


@settings(max_examples=80)
@given(ROWS, ROWS, st.sampled_from([{"within": 300}, {"deadline": 100, "horizon": 700},
                                    {"delay": 100, "horizon": 700}]),
       st.integers(60, 3000), st.sampled_from([1.0, 0.8, 0.3]), st.integers(100, 200))
def test_buckets_find_each_pair_once(left, right, predicate, width, confidence, ring):
    left, right = stream(left), stream(right)
    config = Correlate(**predicate, confidence=confidence, roles=ROLES, max_delay=DELAY,
                       longest=200)
    spread = dataclasses.replace(config, by=("_bucket",), owner="_owner")
    logic, found = spread.start(), []
    for side, batch in (("left", left), ("right", right)):
        found += pairs_of(logic.push(bucketed(batch, side, config, width, ring=ring), side))
    assert len(found) == len(set(found))
    assert set(found) == set(oracle(ends(left), ends(right), config.predicate, confidence,
                                    config.distribution, config.horizon))


def test_a_copied_row_is_late_once():
    config = Correlate(within=300, roles=ROLES, max_delay=DELAY, longest=200)
    spread = dataclasses.replace(config, by=("_bucket",), owner="_owner")
    rows = bucketed(stream([(1000, 10, DELAY + 1, "a"), (1000, 300, 0, "a")]), "right", config, 100)
    assert rows.num_rows > 4
    out = spread.start().push(rows, "right")
    assert (out.late.num_rows, out.quarantined.num_rows) == (1, 1)
    assert "_owner" not in out.late.schema.names


def test_counters():
    config = Correlate(within=500, confidence=0.9, roles=ROLES, max_delay=DELAY, longest=200,
                       algorithm="lazy", block=2)
    logic = config.start()
    logic.push(stream([(0, 10, 0, "a"), (10, 10, 0, "a")]), "left")
    out = logic.push(stream([(20, 10, 5, "a")]), "right")
    assert out.ready.num_rows == 0
    out = logic.push(stream([(30, 10, 10, "a")]), "right")
    assert out.ready.num_rows == 4
    assert out.ready["_released"].cast(pa.int64()).to_pylist() == [50] * 4
    assert out.notes["pairs"] == 4
    assert out.notes["mean_response"] == 15  # at 50, two pairs since 30 and two since 40
    assert out.notes["taken_unseen"] == 4


def test_mistakes_are_told():
    with pytest.raises(ConfigError, match="horizon"):
        Correlate(deadline="5s")
    with pytest.raises(ConfigError, match="did you mean 'lazy"):
        Correlate(within="5s", algorithm="lazzy")
    with pytest.raises(ConfigError, match="not by blocks"):
        Correlate(within="5s", algorithm="eager", block=5)
    config = Correlate(within=500, roles=ROLES)
    with pytest.raises(ConfigError, match="'left' or 'right'"):
        config.start().push(stream([]), "lft")
    with pytest.raises(SnapshotError, match="confidence has changed"):
        dataclasses.replace(config, confidence=0.5).restore(config.start().snapshot())
    logic = config.start()
    logic.push(stream([]), "left")
    with pytest.raises(ConfigError, match="columns have changed"):
        logic.push(stream([]).drop_columns(["k"]), "left")


def test_predicate_forms_agree_with_the_tables():
    assert Correlate(within="1s").predicate == Predicate(-1_000_000, 1_000_000)
