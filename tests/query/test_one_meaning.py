"""One meaning in every place: WHERE over one row, between events, RETURN, SELECT."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest

from slackwater.core.events import Roles
from slackwater.query import make_query
from slackwater.query.errors import QueryError
from slackwater.query.event.query import event_query
from slackwater.query.expr.arrow import compile, schema_lookup
from slackwater.query.expr.parse import parse_expression

MOST = 2**63 - 1
SCHEMA = pa.schema([("time", pa.int64()), ("type", pa.string()), ("v", pa.int64()),
                    ("w", pa.float64()), ("name", pa.string())])
ROLES = Roles("time", type="type", unit="s")


def matches(text: str, rows: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    logic = event_query(text, ROLES, slack="1 hour", **options).start()
    out = logic.push(pa.RecordBatch.from_pylist(rows, SCHEMA))
    return [*out.ready.to_pylist(), *logic.finish().ready.to_pylist()]


def run_of(values: list[Any], column: str) -> list[dict[str, Any]]:
    return [{"time": 0, "type": "A"}, *({"time": i + 1, "type": "B", column: x}
                                        for i, x in enumerate(values))]


def value(text: str, **row: Any) -> Any:
    table = pa.table({k: [x] for k, x in row.items()})
    made = compile(parse_expression(text), schema_lookup(table.schema, text), text)
    return made.evaluate(lambda name: table[name.name].combine_chunks(), 1).to_pylist()[0]


@pytest.mark.parametrize(("text", "v"), [
    ("v * v", 4_000_000_000), ("v * 2", 2**62), ("abs(v)", -(2**63)), ("-v", -(2**63)),
    ("v - 1", -(2**63)), ("v + 1", MOST), ("round(v, -19)", MOST)])
def test_overflow_gives_null(text: str, v: int) -> None:
    assert value(text, v=v) is None


def test_rounding_whole_numbers_stays_exact() -> None:
    assert value("round(v, 2)", v=2**53 + 1) == 2**53 + 1
    assert value("round(v, -1)", v=2**53 + 1) == 9007199254740990
    assert value("round(v, -2)", v=-250) == -300


@pytest.mark.parametrize("function", ["count", "sum", "avg", "min", "max", "first", "last"])
@pytest.mark.parametrize("column", ["v", "w"])
def test_aggregates_are_the_same_in_where_and_return(function: str, column: str) -> None:
    chance = random.Random(function + column)
    special: dict[str, list[Any]] = {
        "v": [0, 1, -5, MOST, -(2**63), 2**62, 2**53 + 1, None],
        "w": [0.0, 1.5, -2.0, 1e308, math.nan, math.inf, -math.inf, None]}
    for _ in range(40):
        rows = run_of([chance.choice(special[column]) for _ in range(chance.randrange(1, 5))],
                      column)
        call = f"{function}(b.{column})"
        [match] = matches(f"EVENT SEQ(A a, B+ b[]) WITHIN 99 s RETURN {call} AS x", rows,
                          select="skip_till_next")
        found = match["x"]
        if found is None:
            test = f"{call} IS NULL"
        elif isinstance(found, float) and math.isnan(found):
            test = f"{call} != {call} AND {call} IS NOT NULL"
        elif isinstance(found, float) and math.isinf(found):
            test = f"{call} {'>' if found > 0 else '<'} {math.copysign(1.7e308, found)}"
        elif isinstance(found, float):
            test = f"{call} = {found!r}"
        else:  # the smallest int64 cannot be written
            test = f"{call} = {found + 1} - 1"
        again = matches(f"EVENT SEQ(A a, B+ b[]) WHERE {test} WITHIN 99 s", rows,
                        select="skip_till_next")
        assert len(again) == 1, (rows, found, test)


@pytest.mark.parametrize(("values", "wanted"), [
    ([MOST, 1], None), ([MOST, 1, -1], MOST), ([-(2**63), -1], None), ([None, None], None),
    ([3, None, 4], 7)])
def test_a_sum_is_exact_or_null(values: list[Any], wanted: int | None) -> None:
    [match] = matches("EVENT SEQ(A a, B+ b[]) WITHIN 99 s RETURN sum(b.v) AS x",
                      run_of(values, "v"), select="skip_till_next")
    assert match["x"] == wanted


@pytest.mark.parametrize("test", ["b.w = a.w", "b.w < a.w", "b.w <= a.w", "b.w > a.w",
                                  "b.w >= a.w", "b.w != a.w", "b.w IN (a.w)",
                                  "b.w BETWEEN a.w AND a.w", "least(a.w, b.w) = 1.0",
                                  "greatest(b.w, a.w) = 1.0", "abs(b.w) IS NULL",
                                  "b.w + a.w IS NULL", "-b.w IS NULL", "floor(b.w) IS NULL"])
def test_nan_means_one_thing(test: str) -> None:
    """Between events as over one row: every comparison is false, except !=."""
    rows = [{"time": 0, "type": "A", "w": 1.0}, {"time": 1, "type": "B", "w": math.nan}]
    between = bool(matches(f"EVENT SEQ(A a, B b) WHERE {test} WITHIN 9 s", rows))
    alone = value(test.replace("b.w", "y").replace("a.w", "x"), x=1.0, y=math.nan)
    assert between == alone
    assert alone == (test.split()[1] in ("!=", "+", "IS") or "IS NULL" in test
                     or test.startswith(("least", "greatest")))


@pytest.mark.parametrize(("text", "problem"), [
    ("SELECT nonsense.v FROM s", "no stream 'nonsense'"),
    ("SELECT y[i-1].v FROM s", "a row has no elements"),
    ("SELECT MAX(v) FROM s [RANGE 5 s] GROUP BY other.name", "no stream 'other'"),
    ("SELECT v FROM s WHERE t.v > 1", "no stream 't'")])
def test_select_knows_one_stream(text: str, problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        make_query(text, SCHEMA, ROLES)


def test_select_takes_the_name_of_its_stream() -> None:
    logic = make_query("SELECT s.v FROM s WHERE s.v > 1", SCHEMA, ROLES, slack="0s").start()
    rows = pa.RecordBatch.from_pylist([{"time": 0, "v": 1}, {"time": 1, "v": 2}], SCHEMA)
    found = [*logic.push(rows).ready.to_pylist(), *logic.finish().ready.to_pylist()]
    assert found == [{"v": 2}]


@pytest.mark.parametrize("where", ["NULL", "NULL AND v > 0", "v > NULL"])
def test_where_null_is_never_true(where: str) -> None:
    rows = pa.RecordBatch.from_pylist([{"time": 0, "type": "A", "v": 1}], SCHEMA)
    logic = make_query(f"SELECT v FROM s WHERE {where}", SCHEMA, ROLES, slack="0s").start()
    assert logic.push(rows).ready.num_rows + logic.finish().ready.num_rows == 0
    assert not matches(f"EVENT A a WHERE {where.replace('v', 'a.v')} WITHIN 5 s",
                       rows.to_pylist())


@pytest.mark.parametrize(("where", "found"), [
    ("b.time - a.time <= 5 seconds", True), ("b.time - a.time > 5 seconds", False),
    ("b.time < a.time + 6 seconds", True), ("b.time - 5 s = a.time", True),
    ("abs(a.time - b.time) = 5 s", True), ("2 * (b.time - a.time) = 10 s", True),
    ("a.time >= '1970-01-01'", True), ("b.time > TIMESTAMP '1970-01-01T00:00:06Z'", False),
    ("b.time - a.time = 5", True)])
def test_whole_number_times_meet_durations(where: str, found: bool) -> None:
    rows = [{"time": 1, "type": "A"}, {"time": 6, "type": "B"}]
    assert bool(matches(f"EVENT SEQ(A a, B b) WHERE {where} WITHIN 99 s", rows)) == found


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_whole_number_times_in_every_unit(unit: str) -> None:
    second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    rows = pa.RecordBatch.from_pylist([{"time": second, "type": "A"},
                                       {"time": 6 * second, "type": "B"}], SCHEMA)
    for limit, wanted in (("5 s", 1), ("4999 ms", 0)):
        logic = event_query(f"EVENT SEQ(A a, B b) WHERE b.time - a.time <= {limit} WITHIN 99 s "
                            "RETURN b.time - a.time AS took",
                            Roles("time", type="type", unit=unit)).start()
        found = [*logic.push(rows).ready.to_pylist(), *logic.finish().ready.to_pylist()]
        assert [m["took"] for m in found] == [5 * second] * wanted


def test_select_compares_whole_number_times() -> None:
    logic = make_query("SELECT time FROM s WHERE time >= '1970-01-01T00:00:02Z'", SCHEMA, ROLES,
                       slack="0s").start()
    rows = pa.RecordBatch.from_pylist([{"time": 1}, {"time": 2}, {"time": 3}], SCHEMA)
    found = [*logic.push(rows).ready.to_pylist(), *logic.finish().ready.to_pylist()]
    assert found == [{"time": 2}, {"time": 3}]
