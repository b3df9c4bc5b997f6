"""Rows in doubt: the judge that passes over plain rows against one that asks about every row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.clock import WITNESSES, Doubt
from slackwater.core.events import NEVER

JUMP = 10


def by_the_row(arrival: list[int], scope: list[int], source: list[int] | None, clocks: list[int],
               waiting: int, first: bool,
               against: dict[int, int]) -> tuple[list[int], list[int], list[int]]:
    """Taken, refused and waiting rows, by the rules that the module's docstring states."""
    taken: list[int] = []
    refused: list[int] = []
    doubted: dict[int, list[int]] = {}
    for j in range(waiting):
        doubted.setdefault(scope[j], []).append(j)
    for j in range(waiting, len(arrival)):
        s, a = scope[j], arrival[j]
        began = clocks[s] != NEVER
        if (began and a - clocks[s] > JUMP) or (not began and first):
            others = doubted.get(s, [])
            confirmed = [d for d in others if arrival[d] <= a + JUMP]
            witnesses = [d for d in confirmed
                         if not began or source is None or source[d] != source[j]]
            if not witnesses and (len(others) + 1 < WITNESSES or against.get(s)):
                doubted.setdefault(s, []).append(j)
                continue
            against.pop(s, None)
            taken += confirmed
            doubted[s] = [d for d in others if d not in confirmed]
            clocks[s] = max([clocks[s], *(arrival[d] for d in confirmed)])
            if clocks[s] != NEVER and a - clocks[s] > JUMP:
                doubted[s].append(j)
                continue
        elif doubted.get(s):
            against[s] = against.get(s, 0) + 1
            if against[s] >= WITNESSES:
                refused += doubted.pop(s)
                del against[s]
        taken.append(j)
        clocks[s] = max(clocks[s], a)
    return taken, refused, sorted(d for rows in doubted.values() for d in rows)


rows = st.lists(st.tuples(
    st.one_of(st.integers(0, 12), st.integers(0, 60), st.sampled_from([200, 205, 400])),
    st.integers(0, 1), st.integers(0, 2)), max_size=60)


@given(rows, st.booleans(), st.booleans(), st.lists(st.sampled_from([NEVER, 0, 5]), min_size=2,
                                                     max_size=2), st.integers(1, 60))
def test_every_row_is_judged_as_if_it_were_asked(
        given_rows: list[tuple[int, int, int]], first: bool, sourced: bool, clocks: list[int],
        cut: int) -> None:
    """In two batches: what the first leaves in doubt is the beginning of the second."""
    doubt, against, known = Doubt(JUMP), dict[int, int](), list(clocks)
    left: list[tuple[int, int, int]] = []
    for batch in (given_rows[:cut], given_rows[cut:]):
        here = [*left, *batch]
        arrival, scope, source = ([r[i] for r in here] for i in range(3))
        before = np.array(known, np.int64)
        verdict = doubt.judge(np.array(arrival, np.int64), np.array(scope, np.int64),
                              np.array(source) if sourced else None, before, len(left), first)
        expected = by_the_row(arrival, scope, source if sourced else None, known, len(left),
                              first, against)
        assert (verdict.taken.tolist(), verdict.refused, verdict.waiting) == expected
        assert doubt.contradicted == against
        left = [here[j] for j in verdict.waiting]
