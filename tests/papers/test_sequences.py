"""Paper 5: its examples step by step, its algorithms against each other, its experiments small."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.papers.catalogue import run
from slackwater.papers.sequences.ais import BUILT, MATCHES, new_ais, push, push_ordered, stacks

A, B, D, OTHER = 0, 1, 2, -1
STREAM = [(A, 3), (B, 6), (A, 7), (OTHER, 9), (D, 10), (B, 11), (OTHER, 13), (D, 15), (OTHER, 16)]


def fed(events, *, window=10, slack=100, clock=True, divider=True):
    ais = new_ais(3, 20)
    for kind, time in events:
        push(ais, np.array([kind]), np.array([time]), window, slack, clock, divider, True)
    return ais


def times(ais):
    return [[t for t, _ in own] for own in stacks(ais)]


def test_example_1_the_stacks_of_figure_2():
    ais = fed(STREAM)
    assert stacks(ais) == [[(3, None), (7, None)], [(6, 3), (11, 7)], [(10, 6), (15, 11)]]


def test_example_5_a_late_b8():
    before = fed(STREAM, divider=False)
    built = int(before.tally[BUILT])
    after = fed([*STREAM, (OTHER, 17), (B, 8)], divider=False)
    assert stacks(after)[1] == [(6, 3), (8, 7), (11, 7)]
    assert stacks(after)[2] == [(10, 8), (15, 11)]  # the RIP of d10 is reset from b6 to b8
    # a3 b8 d10, a7 b8 d10, a3 b8 d15, a7 b8 d15
    assert int(after.tally[BUILT]) - built == 4


@pytest.mark.parametrize(("upto", "left"), [
    ((D, 10), [[3, 7], [6], [10]]),
    ((OTHER, 13), [[7], [6, 11], [10]]),       # a3 goes: 13 > 3 + 7 + 2
    ((OTHER, 16), [[7], [11], [10, 15]]),      # b6 goes: 16 > 6 + 7 + 2
    ((OTHER, 21), [[], [], [15]]),             # d10 goes, and a7, b11 with it
])
def test_example_6_purge_step_by_step(upto, left):
    """W = 7, K = 2: the order is a3 when c13 is met, b6 when f16 is, d10 when f21 is."""
    events = [*STREAM, (OTHER, 21)]
    ais = fed(events[: events.index(upto) + 1], window=7, slack=2)
    assert times(ais) == left


def test_example_6_the_divider():
    """K = 10: with the divider d15 builds a7 b11 d15 alone; without it three sequences.

    The paper says W = 7, for which a7 is outdated as well (7 + 7 < 15): it holds for W = 8.
    """
    upto = STREAM[: STREAM.index((D, 15))]
    for divider, built in ((True, 1), (False, 3)):
        before = fed(upto, window=8, slack=10, divider=divider)
        after = fed([*upto, (D, 15)], window=8, slack=10, divider=divider)
        assert int(after.tally[BUILT] - before.tally[BUILT]) == built
    assert times(after) == [[3, 7], [6, 11], [10, 15]]
    before, after = (fed(e, window=7, slack=10) for e in (upto, [*upto, (D, 15)]))
    assert after.tally[BUILT] == before.tally[BUILT]


def test_the_divider_loses_matches_when_other_types_move_the_clock():
    """f14 moves CLOCK; d12 is in order for the stacks, and a3 b6 d12 lies within 10."""
    events = [(A, 3), (B, 6), (OTHER, 14), (D, 12)]
    assert int(fed(events, divider=True).tally[MATCHES]) == 0
    assert int(fed(events, divider=False).tally[MATCHES]) == 1


@given(st.permutations(list(range(12))), st.lists(st.sampled_from([A, B, D]), min_size=12,
                                                  max_size=12), st.booleans(), st.booleans())
def test_any_order_gives_all_matches(order, kinds, clock, divider):
    window = 5
    ais = fed([(kinds[t], t) for t in order], window=window, clock=clock, divider=divider)
    expected = sum(1 for a, b, c in combinations(range(12), 3)
                   if (kinds[a], kinds[b], kinds[c]) == (A, B, D) and c - a <= window)
    assert int(ais.tally[MATCHES]) == expected


def test_sase_finds_the_same_in_order():
    rng = np.random.default_rng(3)
    kinds, at = rng.integers(0, 3, 300), np.arange(300)
    ready, relies = new_ais(3, 301), new_ais(3, 301)
    push(ready, kinds, at, 9, 40, True, True, True)
    push_ordered(relies, kinds, at, 9)
    assert ready.tally[MATCHES] == relies.tally[MATCHES] > 0
    assert ready.tally[BUILT] >= relies.tally[BUILT]


@pytest.mark.parametrize("name", ["seq-fig6", "seq-fig7", "seq-fig8", "seq-fig9"])
def test_files_are_written(name: str, tmp_path: Path) -> None:
    files = run(name, tmp_path, quick=True).files
    assert [f.suffix for f in files] == [".csv", ".png", ".pdf"]
    assert all(f.stat().st_size for f in files)
