"""The least frontier of every key, against a plain dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.events import FOREVER
from slackwater.synchronise.frontiers import Frontiers, least_of, move, waits_behind

KEYS, MEMBERS = 4, 400
steps = st.lists(st.one_of(
    st.tuples(st.just("seat"), st.integers(0, KEYS - 1), st.sampled_from([1, 3, 17, 90])),
    st.tuples(st.just("move"), st.integers(0, 5), st.integers(-50, 50)),
    st.tuples(st.just("move"), st.integers(0, 10**6), st.integers(-50, 50)),
    st.tuples(st.just("rest"), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("go"), st.integers(0, 10**6), st.just(0))), min_size=10, max_size=80)


@settings(max_examples=60)
@given(steps)
def test_like_a_dictionary(script):
    frontiers, home, at = Frontiers(), {}, {}
    for what, which, value in script:
        if what == "seat":
            fresh = [m for m in range(MEMBERS) if m not in home][:value]
            home.update(dict.fromkeys(fresh, which))
            at.update(dict.fromkeys(fresh, FOREVER))
            frontiers.seat(np.full(len(fresh), which), np.array(fresh, np.int64))
        elif home:
            m = sorted(home)[which % len(home)]
            if what == "go":
                frontiers.unseat(np.array([home[m]]), np.array([m]))
                del home[m], at[m]
            else:
                at[m] = value if what == "move" else FOREVER
                move(frontiers.seats, home[m], m, at[m])
        for key in set(home.values()):
            mine = {m: at[m] for m in home if home[m] == key}
            assert least_of(frontiers.seats, key) == min(mine.values())
            for time in (-20, 0, 20, FOREVER):
                found = waits_behind(frontiers.seats, key, time).tolist()
                assert sorted(found) == sorted(m for m in mine if mine[m] < time)


def test_cells_that_were_left_are_used_again():
    """Sources that come and go for ever do not take more and more room."""
    frontiers = Frontiers()
    for first in range(0, 100_000, 100):
        some = np.arange(first, first + 100) % 1000
        frontiers.unseat(np.zeros(100, np.int64), some)
        frontiers.seat(np.zeros(100, np.int64), some)
    assert len(frontiers.seats.cell) < 20_000
