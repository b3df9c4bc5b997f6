"""What SELECT has beside plain aggregates, against an oracle."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slackwater
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.query import QueryError, compile

SCHEMA = pa.schema([("time", pa.int64()), ("room", pa.string()), ("x", pa.int64())])
ROLES = Roles("time", unit="s")
ITEMS = """MAX(x) - MIN(x) AS spread, AVG(x) * 2 AS twice, window_start AS a, window_end AS b,
    CASE WHEN SUM(x) > 9 THEN 'much' WHEN COUNT(x) = 0 THEN 'none' ELSE 'some' END AS what,
    SUM(CASE room WHEN 'r' THEN x ELSE 0 END) AS mine, CAST(AVG(x) AS INTEGER) AS whole,
    COUNT(DISTINCT room) AS rooms, count(distinct x % 3) AS rests"""
BY_SLIDE = f"SELECT {ITEMS} FROM s [RANGE 4 seconds, SLIDE 2 seconds] HAVING COUNT(*) > 1"
BY_SESSION = f"SELECT {ITEMS} FROM s [SESSION 2 seconds] HAVING COUNT(*) > 1"
BY_ROW = f"SELECT time, {ITEMS} FROM s [RANGE 4 seconds] HAVING COUNT(*) > 1"
ROWS = st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["r", "q"]),
                          st.none() | st.integers(-9, 9)), max_size=12)


def stamp(second: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(second, dt.UTC)


def result(rows: list[tuple[int, str, int | None]], start: int, end: int) -> dict[str, Any]:
    values = [x for _, _, x in rows if x is not None]
    mean = sum(values) / len(values) if values else None
    mine = [x if room == "r" else 0 for _, room, x in rows]
    known = [x for x in mine if x is not None]
    return {
        "spread": max(values) - min(values) if values else None,
        "twice": None if mean is None else mean * 2, "a": stamp(start), "b": stamp(end),
        "what": "much" if values and sum(values) > 9 else "some" if values else "none",
        "mine": sum(known) if known else None, "whole": None if mean is None else int(mean),
        "rooms": len({room for _, room, _ in rows}), "rests": len({abs(x) % 3 * (x > 0 or -1)
                                                                    for x in values})}


def oracle_by_slide(rows: list[tuple[int, str, int | None]]) -> list[dict[str, Any]]:
    windows = [(s, [r for r in rows if s <= r[0] < s + 4]) for s in range(-4, 14, 2)]
    return [result(inside, s, s + 4) for s, inside in windows if len(inside) > 1]


def oracle_by_row(rows: list[tuple[int, str, int | None]]) -> list[dict[str, Any]]:
    found = []
    for t, _, _ in sorted(rows, key=lambda r: r[0]):
        inside = [r for r in rows if t - 4 < r[0] <= t]
        if len(inside) > 1:
            found.append({"time": t, **result(inside, t - 4, t)})
    return found


def oracle_by_session(rows: list[tuple[int, str, int | None]]) -> list[dict[str, Any]]:
    times = sorted({t for t, _, _ in rows})
    firsts = [t for i, t in enumerate(times) if i == 0 or t > times[i - 1] + 2]
    found = []
    for first, after in zip(firsts, [*firsts[1:], 99], strict=False):
        inside = [r for r in rows if first <= r[0] < after]
        if len(inside) > 1:
            found.append(result(inside, first, max(t for t, _, _ in inside) + 2))
    return found


@pytest.mark.parametrize(("text", "oracle"), [
    (BY_SLIDE, oracle_by_slide), (BY_ROW, oracle_by_row), (BY_SESSION, oracle_by_session)])
@given(rows=ROWS, data=st.data())
def test_any_order_any_cut_any_restart(text, oracle, rows, data):
    kernel = compile(text, SCHEMA, ROLES, slack="20s")
    logic = kernel.start()
    found, at = [], 0
    while at < len(rows):
        size = data.draw(st.integers(1, len(rows) - at))
        batch = pa.RecordBatch.from_pylist(
            [dict(zip(SCHEMA.names, row, strict=True)) for row in rows[at:at + size]], SCHEMA)
        found += logic.push(batch).ready.to_pylist()
        at += size
        if data.draw(st.booleans()):
            logic = kernel.restore(logic.snapshot())
    found += logic.finish().ready.to_pylist()
    assert found == oracle(rows)


def test_on_a_frame():
    table = pa.table({"time": [0, 2, 1, 9], "x": [1, 10, 100, 1000]})
    text = "SELECT CASE WHEN x > 50 THEN CAST(x AS TEXT) END AS big FROM s"
    found = slackwater.query(table, text, time="time", unit="s", slack="3s")
    assert found.ready["big"].to_pylist() == [None, "100", None, "1000"]


@pytest.mark.parametrize(("text", "says"), [
    ("SELECT CASE WHEN x THEN 1 END FROM s", "WHEN needs a condition"),
    ("SELECT CASE WHEN x > 1 THEN 1 ELSE 'a' END FROM s", "CASE needs values of one kind"),
    ("SELECT CAST(x AS BLOB) FROM s", "there is no type 'BLOB'"),
    ("SELECT CAST(x > 1 AS TIMESTAMP) FROM s", "cannot be cast"),
    ("SELECT COUNT(*) FROM s [RANGE 1 s] HAVING", "HAVING needs a condition"),
    ("SELECT COUNT(*) FROM s [RANGE 1 s] HAVING COUNT(*)", "HAVING needs a condition"),
    ("SELECT x FROM s HAVING COUNT(*) > 1", "needs a window"),
    ("SELECT SUM(DISTINCT x) FROM s [RANGE 1 s]", "there is no function 'sum_distinct'"),
    ("SELECT window_end FROM s", "needs a window"),
])
def test_mistakes_are_told(text, says):
    with pytest.raises(QueryError, match=says):
        compile(text, SCHEMA, ROLES)


def test_case_between_events():
    kernel = compile("EVENT SEQ(A a, B b) WHERE CASE WHEN a.x > 5 THEN b.x ELSE a.x END = 3 "
                     "WITHIN 9 s RETURN a.time AS at", SCHEMA.append(pa.field("type", pa.string())),
                     Roles("time", type="type", unit="s"), slack="9s")
    logic = kernel.start()
    rows = pa.record_batch({"time": [0, 1, 2, 3], "room": ["r"] * 4, "x": [3, 7, 4, 3],
                            "type": ["A", "A", "B", "B"]})
    found = logic.push(rows).ready.to_pylist() + logic.finish().ready.to_pylist()
    assert sorted(row["at"] for row in found) == [0, 0, 1]


@pytest.mark.parametrize("clause", ["DRATIO 1%", None])
@pytest.mark.parametrize("policy", [None, "Tide(loss=1%)"])
def test_sessions_with_a_bound_on_loss_or_a_policy(clause, policy):
    rows = [(t, room, t % 7) for t in (0, 1, 2, 9, 11, 30, 30, 33) for room in "rq"]
    bounded = BY_SESSION.replace("2 seconds]", f"2 seconds, {clause}]")
    text = BY_SESSION if clause is None else bounded
    if clause is not None and policy is not None:
        with pytest.raises(ConfigError, match="the order is asked for twice"):
            compile(text, SCHEMA, ROLES, policy=policy)
        return
    roles = Roles("time", source="room", unit="s") if policy else ROLES
    logic = compile(text, SCHEMA, roles, policy=policy).start()
    batch = pa.RecordBatch.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)
    found = logic.push(batch).ready.to_pylist() + logic.finish().ready.to_pylist()
    assert found == oracle_by_session(rows)


def test_a_list_of_any_length_is_no_deep_tree():
    rows = pa.table({"time": pa.array([0, 1], pa.timestamp("us", "UTC")), "n": [4_999, 5_001]})
    listed = ", ".join(map(str, range(5_000)))
    found = slackwater.query(rows, f"SELECT n FROM s WHERE n IN ({listed})", slack="0s")
    assert found.ready["n"].to_pylist() == [4_999]
    found = slackwater.query(rows, f"SELECT n FROM s WHERE n NOT IN ({listed}, NULL)", slack="0s")
    assert found.ready.num_rows == 0


@pytest.mark.parametrize("text", [
    "SELECT r.room AS place, COUNT(*) AS n FROM s AS r [RANGE 10 seconds, SLIDE 10 seconds] "
    "GROUP BY place HAVING n > 1",
    "SELECT s.room AS place, COUNT(*) AS n FROM s r [RANGE 10 seconds, SLIDE 10 seconds] "
    "GROUP BY r.room HAVING COUNT(*) > 1"])
def test_results_and_streams_can_be_named(text):
    rows = pa.table({"time": pa.array([0, 1_000_000, 2_000_000], pa.timestamp("us", "UTC")),
                     "room": ["a", "b", "a"]})
    found = slackwater.query(rows, text, slack="0s")
    assert found.ready.to_pylist() == [{"place": "a", "n": 2}]


def test_a_column_of_the_input_goes_before_a_result_of_its_name():
    rows = pa.table({"time": pa.array([0, 1], pa.timestamp("us", "UTC")), "n": [7, 7]})
    text = ("SELECT COUNT(*) AS n FROM s [RANGE 10 seconds, SLIDE 10 seconds] "
            "GROUP BY n HAVING n = 7")
    assert slackwater.query(rows, text, slack="0s").ready.to_pylist() == [{"n": 2}]


def test_every_column_by_the_name_of_its_stream():
    rows = pa.table({"time": pa.array([0], pa.timestamp("us", "UTC")), "n": [7]})
    found = slackwater.query(rows, "SELECT s.*, n + 1 AS m FROM s", slack="0s").ready
    assert found.column_names == ["time", "n", "m"]
