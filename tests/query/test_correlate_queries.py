"""Queries over two streams give the pairs of `correlate_tables`, filtered by plain Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.events import Roles
from slackwater.correlate import Correlate, correlate_tables
from slackwater.query import (
    QueryError,
    correlate_query,
    make_query,
    query_kind,
    run_correlate_query,
)

STAMP = pa.timestamp("us", "UTC")
LEFT = pa.schema([("id", pa.int64()), ("room", pa.string()), ("value", pa.float64()),
                  ("time_min", STAMP), ("time_max", STAMP)])
RIGHT = pa.schema([("id", pa.int64()), ("place", pa.string()), ("on", pa.bool_()),
                   ("time_min", STAMP), ("time_max", STAMP)])
MISTAKES = yaml.safe_load((Path(__file__).parent / "correlate_mistakes.yaml").read_text())
SECOND = 1_000_000


def table(schema: pa.Schema, rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    first = 1_700_000_000 * SECOND + rng.integers(0, 60 * SECOND, rows)
    last = first + rng.integers(0, 2 * SECOND, rows)
    texts = pa.array(rng.choice(["hall", "attic", "cellar"], rows), mask=rng.random(rows) < 0.1)
    third = (pa.array(rng.random(rows) < 0.5) if schema.field(2).name == "on"
             else pa.array(rng.normal(size=rows)))
    return pa.table([pa.array(np.arange(rows)), texts, third, pa.array(first).cast(STAMP),
                     pa.array(last).cast(STAMP)], schema=schema)


A, B = table(LEFT, 150, 1), table(RIGHT, 120, 2)


def ran(where: str, select: str = "a.id, b.id AS other", streams: str = "A a, B b"):
    found = run_correlate_query(f"SELECT {select} FROM {streams} WHERE {where}",
                                {"A": A, "B": B})
    return found.to_pylist()


def expected(keep=lambda pair: True, **options):
    return [pair for pair in correlate_tables(A, B, **options).to_pylist() if keep(pair)]


def ids(pairs, left="id", right="other"):
    return sorted((pair[left], pair[right]) for pair in pairs)


@pytest.mark.parametrize(("condition", "options"), [
    ("|@a − @b| <= 2 seconds CONFIDENCE 70%", {"within": "2s", "confidence": 0.7}),
    ("|@b - @a| ≤ 2 seconds CONFIDENCE 0.7", {"within": "2s", "confidence": 0.7}),
    ("2 seconds >= |@a - @b|", {"within": "2s"}),
    ("@a + 2 seconds >= @b CONFIDENCE 90%", {"deadline": "2s", "confidence": 0.9}),
    ("@b - @a <= 2 seconds CONFIDENCE 90%", {"deadline": "2s", "confidence": 0.9}),
    ("@b <= 1 second + @a + 1 second CONFIDENCE 90%", {"deadline": "2s", "confidence": 0.9}),
    ("@a + 2 seconds <= @b", {"delay": "2s"}),
    ("@b − 2 seconds ≥ @a", {"delay": "2s"}),
    ("@b + 2 seconds >= @a", {"delay": -2 * SECOND}),
    ("@a <= @b WITHIN 5 seconds", {"delay": 0, "horizon": "5s"}),
])
def test_timing_conditions(condition, options):
    truth = ids(expected(**options), "id_left", "id_right")
    assert len(truth) > 100
    assert ids(ran(condition)) == truth


@pytest.mark.parametrize(("conditions", "keep", "by", "before"), [
    ("a.room = b.place", lambda p: p["room"] is not None and p["room"] == p["place"],
     (("room", "place"),), (False, False)),
    ("b.id = a.id", lambda p: p["id_left"] == p["id_right"], (("id", "id"),), (False, False)),
    ("value > 0 AND on", lambda p: p["value"] > 0 and p["on"], (), (True, True)),
    ("(on OR value > 1)", lambda p: p["on"] or p["value"] > 1, (), (False, False)),
    ("a.id < b.id AND a.room = place AND NOT on",
     lambda p: (p["id_left"] < p["id_right"] and p["room"] is not None
                and p["room"] == p["place"] and not p["on"]),
     (("room", "place"),), (False, True)),
    ("a.id = b.id + 1", lambda p: p["id_left"] == p["id_right"] + 1, (), (False, False)),
    ("value = b.id", lambda p: p["value"] == p["id_right"], (), (False, False)),
])
def test_further_conditions_go_where_they_are_cheapest(conditions, keep, by, before):
    timing = "|@a - @b| <= 6 seconds"
    assert ids(ran(f"{timing} AND {conditions}")) == ids(
        expected(keep, within="6s"), "id_left", "id_right")
    plan = correlate_query(f"SELECT * FROM A a, B b WHERE {conditions} AND {timing}", LEFT, RIGHT)
    assert plan.by == by
    assert tuple(side is not None for side in plan.before) == before


def test_probability_is_computed_where_it_is_asked_for():
    truth = expected(lambda p: p["probability"] < 0.9, within="3s", confidence=0.5,
                     probability=True)
    found = ran("|@a - @b| <= 3 s CONFIDENCE 50% AND probability < 0.9",
                "a.id, b.id AS other, PROBABILITY, 1 - PROBABILITY AS doubt")
    assert found
    assert ids(found) == ids(truth, "id_left", "id_right")
    assert sorted(p["probability"] for p in found) == sorted(p["probability"] for p in truth)
    assert all(p["doubt"] == 1 - p["probability"] for p in found)
    plan = correlate_query("SELECT a.id FROM A a, B b WHERE |@a - @b| <= 3 s", LEFT, RIGHT)
    assert not plan.options["probability"]


def test_star_is_what_correlate_gives():
    assert ran("|@a - @b| <= 2 s", "*") == expected(within="2s", probability=True)


def test_a_constant_is_selected_once_a_pair():
    assert ran("|@a - @b| <= 2 s", "1 AS one") == [{"one": 1}] * len(expected(within="2s"))


def test_names_of_streams():
    truth = ran("|@a - @b| <= 2 s", "room, place")
    assert ran("|@A - @B| <= 2 s", "room, place", "A, B") == truth
    assert ran('|@x - @"the lamp"| <= 2 s', "x.room, place", 'A AS x, B "the lamp"') == truth
    twice = ran("|@x - @y| <= 1 s AND x.id < y.id", "x.id, y.id AS other", "A x, A y")
    own = correlate_tables(A, A, within="1s").to_pylist()
    assert ids(twice) == ids([p for p in own if p["id_left"] < p["id_right"]],
                             "id_left", "id_right")


def test_points_and_roles():
    rows = pa.table({"id": [1, 2], "t": [1000, 5000]})
    found = run_correlate_query("SELECT a.id, b.id AS other FROM r a, r b WHERE @a + 2 s <= @b",
                                {"r": rows}, Roles("t", unit="ms"))
    assert found.to_pylist() == [{"id": 1, "other": 2}]


@given(st.integers(-20, 20), st.sampled_from(["<=", ">="]), st.booleans(), st.booleans())
def test_any_way_round_means_the_same(seconds, op, swap, move):
    """a + d op b, with its sides swapped, or the duration moved to the other side."""
    left, right = f"@a + {seconds} s" if seconds >= 0 else f"@a - {-seconds} s", "@b"
    if move:
        left, right = "@a", f"@b - {seconds} s" if seconds >= 0 else f"@b + {-seconds} s"
    if swap:
        left, right, op = right, left, {"<=": ">=", ">=": "<="}[op]
    form = "delay" if (op == "<=") != swap else "deadline"
    plan = correlate_query(f"SELECT room FROM A a, B b WHERE {left} {op} {right}", LEFT, RIGHT)
    assert plan.options[form] == seconds * SECOND


def test_the_plan_gives_the_kernel():
    text = "SELECT room FROM A a, B b WHERE @a + 2 s >= @b CONFIDENCE 90% AND a.id = b.id"
    plan = correlate_query(f"{text} WITHIN 1 minute", LEFT, RIGHT)
    assert plan.correlate(longest="5s") == Correlate(
        deadline=2 * SECOND, confidence=0.9, by=(("id", "id"),), horizon="1m", longest="5s")
    with pytest.raises(QueryError, match="add WITHIN 1 hour"):
        correlate_query(text, LEFT, RIGHT).correlate()


def test_kinds_of_queries_are_told_apart():
    assert query_kind("SELECT x FROM A a, B b WHERE |@a - @b| <= 1 s") == "correlate"
    assert query_kind('SELECT x FROM "my doors" AS a, B b WHERE @a <= @b') == "correlate"
    with pytest.raises(QueryError, match="a second stream"):
        query_kind("SELECT x FROM A a WHERE @a > 1")
    for one in ("SELECT x, y FROM A [RANGE 1 s, SLIDE 1 s] GROUP BY x, y",
                "SELECT x FROM A WHERE x IN ('FROM A a, B b', '@a') -- FROM A, B",
                'SELECT "x@y", `@` FROM A'):
        assert query_kind(one) == "select"
    with pytest.raises(QueryError, match="needs two tables"):
        make_query("SELECT room FROM A a, B b WHERE |@a - @b| <= 1 s", LEFT, Roles("time_max"))


def test_a_table_that_is_not_there():
    with pytest.raises(QueryError, match="did you mean 'Lamps'"):
        run_correlate_query("SELECT room FROM Doors a, Lamp b WHERE |@a - @b| <= 1 s",
                            {"Doors": A, "Lamps": B})


@pytest.mark.parametrize("entry", MISTAKES, ids=[m["query"] for m in MISTAKES])
def test_each_mistake_gets_its_message(entry):
    with pytest.raises(QueryError) as found:
        correlate_query(entry["query"], LEFT, RIGHT)
    assert str(found.value) == entry["message"]
