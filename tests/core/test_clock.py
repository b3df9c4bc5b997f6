"""Rows in doubt: the judge that passes over plain rows against one that asks about every row."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater import Reorder, Roles
from slackwater.checks.subject import collect, cut
from slackwater.core.clock import WITNESSES, Doubt
from slackwater.core.events import NEVER
from slackwater.synchronise import FrontierSync
from tests.core.test_lag import disordered

JUMP = 10


def by_the_row(arrival: list[int], scope: list[int], source: list[int] | None, clocks: list[int],
               last: int, waiting: int, first: bool,
               against: dict[int, int]) -> tuple[list[int], list[int], list[int]]:
    """Taken, refused and waiting rows, by the rules that the module's docstring states."""
    taken: list[int] = []
    refused: list[int] = []
    doubted: dict[int, list[int]] = {}
    for j in range(waiting):
        doubted.setdefault(scope[j], []).append(j)
    for j in range(waiting, len(arrival)):
        s, a = scope[j], arrival[j]
        last = max([last, *clocks])
        if clocks[s] == NEVER and last != NEVER and doubted.get(s):
            # the first rows of all, once there is a clock to go by
            fine = [d for d in doubted[s] if arrival[d] <= last + JUMP]
            if fine:
                against.pop(s, None)
                taken += fine
                doubted[s] = [d for d in doubted[s] if d not in fine]
                clocks[s] = max(arrival[d] for d in fine)
        # a scope without a clock goes by that of all, where first rows are judged
        base = clocks[s] if clocks[s] != NEVER or not first else max([last, *clocks])
        began = max([last, *clocks]) != NEVER
        if (base != NEVER and a - base > JUMP) or (not began and first):
            others = doubted.get(s, [])
            confirmed = [d for d in others if arrival[d] <= a + JUMP]
            witnesses = [d for d in confirmed
                         if not began or source is None or source[d] != source[j]]
            alone = len(others) + 1 < WITNESSES or against.get(s)
            outvoted = source is None and len(confirmed) < against.get(s, 0)
            if (not witnesses or outvoted) and alone:
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
        before, last = np.array(known, np.int64), max(known)
        verdict = doubt.judge(np.array(arrival, np.int64), np.array(scope, np.int64),
                              np.array(source) if sourced else None, before, last, len(left),
                              first)
        expected = by_the_row(arrival, scope, source if sourced else None, known, last,
                              len(left), first, against)
        assert (verdict.taken.tolist(), verdict.refused, verdict.waiting) == expected
        assert sorted(verdict.taken_by.tolist()) == verdict.taken_by.tolist()
        assert (verdict.taken_by >= verdict.taken).all()
        assert doubt.contradicted == against
        left = [here[j] for j in verdict.waiting]


ROLES = Roles("time", source="source", key=("key",))
KERNELS = {
    "Reorder": Reorder(None, ROLES),
    "without sources": Reorder(None, Roles("time", key=("key",))),
    "KSlack": Reorder("KSlack", ROLES),
    "by scope": Reorder("MeanPlusRange", ROLES, scope=()),
    "FrontierSync": FrontierSync(ROLES),
}


def fates(kernel, events: pa.RecordBatch, size: int) -> dict[int, str]:
    """What became of each row, and of none only at the end."""
    logic = kernel.start()
    outs = [logic.push(piece) for piece in cut(events, size)]
    assert sum(out.ready.num_rows for out in outs) > events.num_rows / 2, "all is held for ever"
    outs.append(logic.finish())
    return {row["row"]: kind for kind, rows in collect(outs).items() for row in rows}


@pytest.mark.parametrize("year", [1970, 2099])
@pytest.mark.parametrize("at", [0, 1, 150])
@pytest.mark.parametrize("name", KERNELS)
def test_the_clock_of_a_key_does_not_begin_with_a_wrong_row(name, at, year):
    """Without arrivals the clock of a key is its greatest time, and its first row may be wrong."""
    events = disordered(300).drop_columns(["arrival"])
    wrong = events.slice(at, 1)
    wrong = wrong.set_column(1, "time", pa.array([dt.datetime(year, 1, 1, tzinfo=dt.UTC)],
                                                 events.schema.field("time").type))
    wrong = wrong.set_column(0, "row", pa.array([-1]))
    mixed = pa.concat_batches([events.slice(0, at), wrong, events.slice(at)])
    expected = fates(KERNELS[name], events, 50)
    for size in (1, 50):
        found = fates(KERNELS[name], mixed, size)
        found.pop(-1)
        worse = {r: kind for r, kind in found.items() if kind not in (expected[r], "ready")}
        # Tide counts the wrong row, if it is late, among those that it may lose
        assert len(worse) <= (2 if name == "Reorder" else 0), worse
