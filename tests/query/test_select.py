from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.query import SelectQuery, quality

ROWS = pa.record_batch({
    "time": pa.array([0, 2, 1, 9, 4], pa.int64()), "x": [1, 10, 100, 1000, 7],
    "room": ["a", "b", "a", "a", "b"]})
ROLES = Roles("time", unit="s")


def results(text, rows=ROWS, **options):
    options = options or {"slack": "6s"}
    logic = SelectQuery(text, rows.schema, ROLES, **options).start()
    return logic.push(rows).ready.to_pylist() + logic.finish().ready.to_pylist()


def test_per_row_windows():
    found = results("SELECT time, SUM(x) AS s, COUNT(*) AS n FROM r [RANGE 3 seconds]")
    assert [(r["time"], r["s"], r["n"]) for r in found] == [
        (0, 1, 1), (1, 101, 2), (2, 111, 3), (4, 17, 2), (9, 1000, 1)]


def test_groups_have_windows_of_their_own():
    found = results("SELECT room, time, SUM(x) AS s FROM r [RANGE 3 s] GROUP BY room")
    assert {(r["room"], r["time"]): r["s"] for r in found} == {
        ("a", 0): 1, ("a", 1): 101, ("b", 2): 10, ("b", 4): 17, ("a", 9): 1000}


def test_sliding_windows():
    found = results("SELECT window_start, room, MAX(x) - MIN(x) AS d FROM r "
                    "[RANGE 4 s, SLIDE 4 s] GROUP BY room")
    assert sorted((int(r["window_start"].timestamp()), r["room"], r["d"]) for r in found) == [
        (0, "a", 99), (0, "b", 0), (4, "b", 0), (8, "a", 0)]


def test_arguments_and_results_are_expressions():
    found = results("SELECT 2 * MAX(x + 1) - 1 AS m, x FROM r [RANGE 100 s] WHERE room = 'b'")
    assert found == [{"m": 21, "x": 10}, {"m": 21, "x": 7}]


def test_a_query_without_aggregates_gives_ordered_rows():
    found = results("SELECT * FROM r WHERE x < 500")
    assert [r["time"] for r in found] == [0, 1, 2, 4]


def test_names_of_columns():
    found = results("SELECT MAX(x), room, x AS v FROM r [RANGE 1 s]")
    assert list(found[0]) == ["MAX(x)", "room", "v"]


def test_quality_says_what_was_paid():
    rows = pa.record_batch({"time": [0, 100, 1], "x": [1, 2, 3], "room": ["a", "a", "a"]})
    query = SelectQuery("SELECT SUM(x) AS s FROM r [RANGE 3 s] WHERE x > 1", rows.schema, ROLES,
                        slack="2s")
    logic = query.start()
    logic.push(rows)
    logic = query.restore(logic.snapshot())
    told = quality(logic.finish().notes)
    assert told == {"rows": 2, "filtered": 1, "late": 0, "quarantined": 0, "late_share": 0.0,
                    "bound": None, "delay_ms": 2000.0}
    dratio = SelectQuery("SELECT SUM(x) AS s FROM r [RANGE 3 s, DRATIO 1%]", rows.schema, ROLES)
    told = quality(dratio.start().push(rows).notes)
    assert told["bound"] == 0.01
    assert told["delay_ms"] > 0


def test_late_rows_keep_their_columns():
    rows = pa.record_batch({"time": [0, 100, 200, 1], "x": [1, 2, 3, 4], "room": list("aaaa")})
    logic = SelectQuery("SELECT SUM(x + 1) AS s FROM r [RANGE 3 s]", rows.schema, ROLES,
                        slack="2s").start()
    out = logic.push(rows)
    assert out.late.schema.names == ["time", "x", "room", "_reason", "_released"]
    assert out.late["x"].to_pylist() == [4]


def test_a_query_travels():
    query = SelectQuery("SELECT SUM(x) AS s FROM r [RANGE 3 s]", ROWS.schema, ROLES, slack="6s")
    again = pickle.loads(pickle.dumps(query))
    assert again == query
    assert again.start().push(ROWS).ready == query.start().push(ROWS).ready


@pytest.mark.parametrize("options", [
    {"slack": "2s", "policy": "kslack"}, {"slack": "2s", "dratio": True}])
def test_the_order_is_asked_for_once(options):
    ratio = ", DRATIO 1%" if options.pop("dratio", False) else ""
    with pytest.raises(ConfigError, match="asked for twice"):
        results(f"SELECT SUM(x) AS s FROM r [RANGE 3 s{ratio}]", **options)


def test_the_command(tmp_path):
    import typer

    from slackwater.cli import query

    app = typer.Typer()
    app.command()(query.command)
    data = tmp_path / "rows.csv"
    data.write_text("time,arrival,x\n" + "".join(
        f"2024-01-01T00:00:{t:02d}Z,2024-01-01T00:00:{a:02d}Z,{x}\n"
        for t, a, x in [(0, 1, 5), (3, 4, 6), (2, 5, 7), (9, 10, 8)]))
    text = "SELECT time, MAX(x) AS m FROM s [RANGE 5 seconds] WHERE x > 5"
    ran = CliRunner().invoke(app, [text, "--data", str(data), "--slack", "3s", "--json"])
    assert ran.exit_code == 0, ran.output
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [r["m"] for r in rows] == [7, 7, 8]
    assert rows[0]["time"].startswith("2024-01-01T00:00:02")
    assert ran.stderr == ("4 rows: 3 ready, 0 late, 0 quarantined, 0 unusable, 1 left out by "
                          "WHERE; loss 0 %; 3 results\n")
