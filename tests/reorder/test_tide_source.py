"""What `Tide` learns of one source: its frontier with sequence numbers, and its rhythm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.reorder.tide.source import foretold, frontier, learn_gap, move_on
from slackwater.reorder.tide.state import COUNT, EXPECTED, FRONTIER, GAP_TIME, NEVER, fresh_source


def source():
    fresh = fresh_source()
    return fresh["whole"].copy(), fresh["real"].copy()


@given(order=st.integers(2, 40).flatmap(lambda n: st.permutations(range(1, n))))
def test_the_frontier_stops_at_the_first_missing_number(order):
    """Number k is stamped 10·k. The oracle: the last number up to which all are there."""
    whole, _ = source()
    move_on(whole, 0, 0, NEVER)
    there = {0}
    for k in order:
        move_on(whole, 10 * k, k, NEVER)
        there.add(k)
        complete = next(n for n in range(len(order) + 2) if n not in there)
        assert whole[EXPECTED] == complete
        gap = complete <= max(there)
        assert (whole[GAP_TIME] != NEVER) == gap
        assert whole[FRONTIER] <= 10 * (complete - 1), "beyond a missing event"
        if not gap:
            assert whole[FRONTIER] == 10 * max(there)


def test_a_missing_number_is_given_up_when_its_time_has_been_released():
    whole, _ = source()
    for k in (0, 1, 3, 4):
        move_on(whole, 10 * k, k, NEVER)
    assert (whole[FRONTIER], whole[EXPECTED]) == (10, 2)
    move_on(whole, 50, 5, 30)
    assert (whole[FRONTIER], whole[EXPECTED], whole[GAP_TIME]) == (50, 6, NEVER)


@pytest.mark.parametrize("numbers", [(7, 8, 0, 1), (7, 8, 500, 501)])
def test_a_producer_may_number_anew(numbers):
    whole, _ = source()
    for at, k in enumerate(numbers):
        move_on(whole, 10 * at, k, NEVER)
    assert (whole[FRONTIER], whole[EXPECTED]) == (30, numbers[-1] + 1)


def test_copies_move_nothing():
    whole, _ = source()
    for k in (0, 1, 1, 0, 2):
        move_on(whole, 10 * k, k, NEVER)
    assert (whole[FRONTIER], whole[EXPECTED]) == (20, 3)


def taught(gaps):
    whole, real = source()
    whole[FRONTIER] = 0
    surprises = []
    for gap in gaps:
        whole[COUNT] += 1
        surprises.append(learn_gap(whole, real, float(gap), True, False))
    return whole, real, surprises


def test_a_regular_source_foretells_nearly_its_period():
    rng = np.random.default_rng(1)
    whole, real, surprises = taught(1000 + rng.uniform(-20, 20, 2000))
    assert 900 < foretold(whole, real) <= 985
    assert sum(surprises) <= 8
    assert frontier(whole, real) == np.floor(foretold(whole, real))


def test_a_poisson_source_foretells_nothing():
    rng = np.random.default_rng(2)
    whole, real, surprises = taught(rng.exponential(1000, 5000))
    assert foretold(whole, real) == 0
    assert sum(surprises) <= 2


def test_a_source_that_swaps_events_is_held_back_by_that():
    rng = np.random.default_rng(3)
    whole, real, surprises = taught(rng.normal(100, 300, 5000))
    assert -1800 < foretold(whole, real) < -400
    assert np.mean(surprises[1000:]) < 0.02


def test_one_outlier_costs_little():
    whole, real, _ = taught([1000.0] * 200)
    before = foretold(whole, real)
    whole[COUNT] += 1
    assert learn_gap(whole, real, -5000.0, True, False)
    assert before - foretold(whole, real) < 200
