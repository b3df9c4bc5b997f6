"""The order of times against numpy's, with ties, crowds and the ends of 64 bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.state.order import order_of

ENDS = np.iinfo(np.int64)


def check(time, n):
    assert (order_of(time) == np.argsort(time, kind="stable")).all()
    assert (order_of(time, n) == np.lexsort((n, time))).all()
    assert (order_of(time, np.arange(len(time))) == np.argsort(time, kind="stable")).all()


@given(st.integers(0, 2**32), st.sampled_from([3, 511, 512, 4_000]),
       st.sampled_from([1, 2, 50, 10**4, 10**9, 2**50, 2**62]),
       st.sampled_from(["rising", "falling", "shuffled", "runs"]), st.floats(0, 1))
def test_any_times(seed, rows, spread, numbers, crowd):
    rng = np.random.default_rng(seed)
    time = rng.integers(0, spread, rows) - spread // 2
    time[rng.random(rows) < crowd] = time[0]
    n = np.arange(rows)
    if numbers == "falling":
        n = n[::-1].copy()
    elif numbers == "shuffled":
        n = rng.permutation(n)
    elif numbers == "runs":  # as held rows of several runs come
        n = np.concatenate([n[k::7] for k in range(7)])
    check(time, n)


@pytest.mark.parametrize("rows", [10, 2_000])
def test_times_at_both_ends_of_64_bits(rows):
    rng = np.random.default_rng(rows)
    time = rng.choice([ENDS.min, ENDS.min + 1, 0, ENDS.max - 1, ENDS.max], rows)
    check(time, rng.permutation(rows))
    check(rng.integers(ENDS.min, ENDS.max, rows), rng.permutation(rows))


def test_a_crowd_of_equal_times_takes_no_longer_than_a_sort():
    """It took minutes: each row was moved past all the others."""
    rows = 1_000_000
    time = np.zeros(rows, np.int64)
    assert (order_of(time, np.arange(rows)[::-1].copy()) == np.arange(rows)[::-1]).all()
