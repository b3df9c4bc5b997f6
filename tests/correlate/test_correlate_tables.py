"""Whole tables: five algorithms, one answer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater import Roles
from slackwater.core.errors import ConfigError, UnknownColumn
from slackwater.correlate import (
    ALGORITHMS,
    Histogram,
    Normal,
    Point,
    Predicate,
    Triangular,
    Uniform,
    correlate_tables,
    find_pairs,
)
from tests.correlate.oracle_pairs import intervals, oracle

SHAPES = st.sampled_from([Uniform(), Uniform(), Normal(), Triangular(0.2), Point(0.3),
                          Histogram((1, 0, 3))])
PREDICATES = st.one_of(
    st.integers(0, 700).map(lambda d: Predicate.of(within=d)),
    st.integers(-300, 600).map(lambda d: Predicate.of(deadline=d)),
    st.integers(-300, 600).map(lambda d: Predicate.of(delay=d)))
SIDE = st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 200)), max_size=25)
US = Roles(time_min="time_min", time_max="time_max", unit="us")


@settings(max_examples=150)
@given(SIDE, SIDE, PREDICATES, st.sampled_from([1.0, 0.8, 0.5, 0.1]), SHAPES, SHAPES,
       st.one_of(st.none(), st.integers(0, 2000)), st.integers(1, 3), st.booleans())
def test_all_algorithms_give_the_oracles_pairs(left, right, predicate, confidence, one, two,
                                               horizon, keys, every):
    left, right = intervals(left), intervals(right)
    codes = tuple(np.arange(len(side[0])) % keys for side in (left, right))
    expected = oracle(left, right, predicate, confidence, (one, two), horizon, codes)
    for algorithm in ALGORITHMS:
        found = find_pairs(left, right, predicate, confidence, keys=codes, horizon=horizon,
                           distribution=(one, two), probability=every, algorithm=algorithm)
        pairs = list(zip(found.left.tolist(), found.right.tolist(), strict=True))
        assert len(pairs) == len(set(pairs))
        assert set(pairs) == set(expected), algorithm
        for pair, p in zip(pairs, found.probability.tolist(), strict=True):
            assert p == expected[pair] or (np.isnan(p) and not every)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_horizon_shorter_than_the_intervals_leaves_nothing_certain(algorithm):
    """Then one base says nothing of another."""
    left = np.array([100, 0]), np.array([200, 190])
    right = np.array([0, 1000, 2000]), np.array([200, 1300, 2000])
    found = find_pairs(left, right, Predicate.of(deadline=0), 0.5, horizon=0, algorithm=algorithm)
    assert list(zip(found.left, found.right, strict=True)) == [(0, 0)]


def test_probes_are_saved():
    rng = np.random.default_rng(4)
    first = np.sort(rng.integers(0, 100_000, (2, 1000)), axis=1)
    last = first + rng.integers(20, 200, (2, 1000))
    seen = {}
    for algorithm in ALGORITHMS:
        found = find_pairs((first[0], last[0]), (first[1], last[1]), Predicate.of(within=2000), 0.9,
                           algorithm=algorithm)
        seen[algorithm] = found.counters
    assert seen["simple"]["probes"] == 1_000_000
    assert seen["lazy"]["probes"] < 20_000
    assert seen["lazy"]["taken_unseen"] > 10_000
    lookup = seen["lazy-lookup"]
    assert lookup["lookup_hits"] > 0
    assert lookup["probes"] + lookup["lookup_hits"] == seen["lazy"]["probes"]


def test_columns_nulls_and_keys():
    left = pa.table({"id": [1, 2, 3, 4], "k": ["a", None, "b", "a"], "flow": [.1, .2, .3, .4],
                     "time_min": [0, 0, 0, None], "time_max": [10, 10, 10, 10]})
    right = pa.table({"id": [7, 8], "key": ["a", "b"], "time_min": [5, 30], "time_max": [15, 20]})
    pairs = correlate_tables(left, right, within=20, by=(("k", "key"),), roles=US)
    assert pairs.column_names == ["id_left", "k", "flow", "time_min_left", "time_max_left",
                                  "id_right", "key", "time_min_right", "time_max_right",
                                  "probability"]
    assert pairs.select(["id_left", "id_right"]).to_pylist() == [{"id_left": 1, "id_right": 7}]
    assert pairs["probability"].to_pylist() == [None]


def test_tables_in_chunks_and_points():
    left = pa.concat_tables([pa.table({"time": [0]}), pa.table({"time": [100]})])
    right = pa.table({"time": [60, 200]})
    pairs = correlate_tables(left, right, deadline=70, roles=Roles(unit="us"), confidence=1)
    assert set(zip(*(pairs[c].to_pylist() for c in ("time_left", "time_right")), strict=True)) == {
        (0, 60), (100, 60)}


def test_mistakes_are_told():
    table = pa.table({"time_min": [0], "time_max": [1]})
    with pytest.raises(ConfigError, match="80 % is written"):
        correlate_tables(table, table, within=1, confidence=80, roles=US)
    with pytest.raises(UnknownColumn, match="did you mean 'time_max'"):
        correlate_tables(table, table, within=1,
                         roles=Roles(time_min="time_min", time_max="tim_max"))
    with pytest.raises(ConfigError, match="none of them"):
        correlate_tables(table, table, roles=US)
