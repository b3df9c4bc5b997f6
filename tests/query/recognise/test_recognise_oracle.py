"""Queries drawn from the grammar, in any arrival order, cut and restarted, against the oracle."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.events import Roles
from slackwater.query.recognise import RecogniseQuery
from tests.query.recognise import generate, oracle

SLACK = 5


def run(query: RecogniseQuery, rows: list[dict], sizes: list[int], *, restarts: bool,
        ticks: bool = False) -> list[dict]:
    """The results, however the rows are cut."""
    logic, found, at, late = query.start(), [], 0, 0
    for size in sizes:
        piece = rows[at:at + size]
        at += size
        out = logic.push(pa.RecordBatch.from_pylist(piece, generate.SCHEMA))
        found += out.ready.to_pylist()
        late += out.late.num_rows + out.quarantined.num_rows
        if ticks and at < len(rows):  # without an arrival column, time is the clock
            found += logic.tick(max(r["t"] for r in rows[:at])).ready.to_pylist()
        if restarts:
            logic = query.restore(logic.snapshot())
    out = logic.finish()
    assert late + out.late.num_rows == 0
    assert out.notes["held"] == 0
    return found + out.ready.to_pylist()


def plain(rows: list[dict], key: str | None) -> list[dict]:
    """Rows of a partition, with the last digits of sums left out."""
    return [{name: round(v, 9) if isinstance(v, float) else v for name, v in sorted(r.items())}
            for r in rows if key is None or r["k"] == key]


def compare(text: str, rows: list[dict], pick: Any) -> None:
    query = RecogniseQuery(text, generate.SCHEMA, Roles("t", unit="us"), slack=f"{SLACK} us")
    expected = oracle.recognise(text, rows)
    for restarts, ticks, shuffled in ((False, False, False), (False, True, True),
                                      (True, False, True)):
        given = list(rows)
        if shuffled:
            place = {id(r): r["t"] + pick(range(10 * SLACK)) / 10 for r in given}
            given.sort(key=lambda r, place=place: place[id(r)])
        sizes = [len(given)] if not shuffled else [pick((1, 2, 3)) for _ in given]
        found = run(query, given, sizes, restarts=restarts, ticks=ticks)
        for key in ("p", "q") if "PARTITION BY" in text else (None,):
            assert plain(found, key) == plain(expected, key), text


@settings(max_examples=40)
@given(st.data())
def test_against_the_oracle(data):
    def pick(some):
        return data.draw(st.sampled_from(list(some)))

    text = generate.query(pick)
    rows = generate.rows(pick, data.draw(st.integers(1, 10)), distinct_ties="ORDER BY t," in text)
    compare(text, rows, pick)


@pytest.mark.parametrize("seed", range(60))
def test_seeded_queries(seed):
    chance = random.Random(seed)
    text = generate.query(chance.choice)
    rows = generate.rows(chance.choice, chance.randrange(1, 14),
                         distinct_ties="ORDER BY t," in text)
    compare(text, rows, chance.choice)
