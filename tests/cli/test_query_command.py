"""`slackwater query` with EVENT queries: the plan, the matches as JSON, the options."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slackwater.cli import main
from slackwater.query import explain

Query = Callable[..., tuple[int, str, str]]

ROWS = """time,kind,id,v
2024-01-01T00:00:00Z,A,1,1
2024-01-01T00:00:05Z,C,1,9
2024-01-01T00:00:02Z,B,1,2
2024-01-01T00:00:20Z,A,2,3
2024-01-01T00:00:22Z,D,2,4
2024-01-01T00:00:21Z,D,2,5
2024-01-01T00:00:25Z,C,2,6
"""
NEGATED = "EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 10 s RETURN a.id, c.v - a.v AS rise"
KLEENE = "EVENT SEQ(A a, D+ d[], C c) WHERE [id] WITHIN 10 s RETURN count(d) AS op_count, d.v"
LAST = re.compile(r"[\d,]+ rows?: [\d,]+ ready, [\d,]+ late, [\d,]+ quarantined, [\d,]+ unusable"
                  r"(, [\d,]+ left out by WHERE)?; loss [\d.e+-]+ %; [\d,]+ results?")
CSV = ("--data", "rows.csv", "--type", "kind")


@pytest.fixture
def query(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
          tmp_path: Path) -> Query:
    """Runs ``slackwater query …`` beside rows.csv: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(ROWS)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["slackwater", "query", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out, printed.err

    return run


def told(query: Query, *arguments: str) -> list[dict[str, Any]]:
    code, out, err = query(*arguments, "--json")
    assert code == 0, err
    assert LAST.fullmatch(err.splitlines()[-1]), err
    return [json.loads(line) for line in out.splitlines()]


def test_a_match_is_an_object_of_four(query: Query) -> None:
    (row,) = told(query, NEGATED, *CSV, "--slack", "10s")
    assert list(row) == ["match_id", "op", "events", "return"]
    assert row["op"] == "+"
    assert row["return"] == {"id": 2, "rise": 3}
    assert row["events"] == {
        "a": {"time": "2024-01-01T00:00:20Z", "kind": "A", "id": 2, "v": 3},
        "c": {"time": "2024-01-01T00:00:25Z", "kind": "C", "id": 2, "v": 6}}


def test_a_kleene_variable_is_a_list_of_rows(query: Query) -> None:
    rows = told(query, KLEENE, *CSV, "--slack", "10s", "--select", "skip_till_next")
    assert [row["return"] for row in rows] == [{"op_count": 2, "v": [5, 4]}]
    assert [event["v"] for event in rows[0]["events"]["d"]] == [5, 4]
    assert len(told(query, KLEENE, *CSV, "--slack", "10s")) == 3


def test_without_return_the_object_is_empty(query: Query) -> None:
    rows = told(query, "EVENT A a WITHIN 1 s", *CSV, "--slack", "10s")
    assert [(list(row), row["return"]) for row in rows] == [
        (["match_id", "op", "events", "return"], {})] * 2


def test_eager_takes_back_under_the_same_id(query: Query) -> None:
    rows = told(query, NEGATED, *CSV, "--slack", "10s", "--emit", "eager")
    assert [(row["op"], row["return"]["id"]) for row in rows] == [("+", 1), ("-", 1), ("+", 2)]
    first, second, third = (row["match_id"] for row in rows)
    assert first == second != third
    assert rows[0]["events"] == rows[1]["events"]


def test_slack_decides_what_is_late(query: Query) -> None:
    # without slack the B comes too late to undo the first match
    rows = told(query, NEGATED, *CSV, "--slack", "0s")
    assert [row["return"]["id"] for row in rows] == [1, 2]
    assert [row["return"]["id"] for row in told(query, NEGATED, *CSV, "--slack", "3s")] == [2]


def test_the_type_column_must_be_told_where_it_has_another_name(query: Query) -> None:
    code, out, err = query(NEGATED, "--data", "rows.csv", "--json")
    assert (code, out) == (2, "")
    assert "type" in err
    Path("rows.csv").write_text(ROWS.replace("kind", "type"))
    assert len(told(query, NEGATED, "rows.csv", "--slack", "10s")) == 1


def test_explain_prints_the_plan_and_reads_nothing(query: Query) -> None:
    code, out, err = query(f"EXPLAIN {NEGATED}")
    assert (code, err) == (0, "")
    assert out == explain(NEGATED) + "\n"
    assert "partition  by id" in out
    assert "negation   no b between a and c" in out
    assert json.loads(query(f"explain {NEGATED}", "--json")[1]) == {"plan": out.splitlines()}


@pytest.mark.parametrize(("arguments", "says"), [
    ((NEGATED,), "a FILE behind the query"),
    ((NEGATED, "rows.csv", "--data", "rows.csv"), "the query reads one stream"),
    (("rows.csv", "--file", "none.sql"), "with --file, the rows are named by --data"),
    ((NEGATED, *CSV, "--emit", "eagre"), "did you mean 'eager'"),
    ((NEGATED, *CSV, "--select", "strickt"), "did you mean 'strict'"),
    (("SELECT COUNT(*) FROM s [RANGE 1 s]", *CSV, "--emit", "eager"), "needs an EVENT query"),
    (("EXPLAIN EVENT SEQ(A a, B b)",), "WITHIN"),
])
def test_mistakes(query: Query, arguments: tuple[str, ...], says: str) -> None:
    code, out, err = query(*arguments)
    assert (code, out) == (2, "")
    assert says in err


@pytest.mark.parametrize(("arguments", "raw", "says"), [
    (("SELECT v FROM s", "--data", "-"), b"\x1f\x8bxxxx", "reading standard input: is not gz"),
    (("SELECT v FROM s", "--data", "in.csv"), b"time,v\n1,2\n3\n", "line 3 has 1 cell"),
    (("--file", "in.csv", "--data", "rows.csv"), b"SELECT \xfc FROM s", "the query is not UTF-8"),
    (("--file", "none.sql", "--data", "rows.csv"), b"", "none.sql: No such file"),
    (("SELECT v FROM s", "--data", "rows.csv", "--out", "rows.csv/x.csv"), b"", "rows.csv"),
])
def test_what_cannot_be_read_or_written_ends_in_a_message(
        query: Query, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], raw: bytes,
        says: str) -> None:
    Path("in.csv").write_bytes(raw)
    with Path("in.csv").open() as text:
        monkeypatch.setattr(sys, "stdin", text)
        code, out, err = query(*arguments)
    assert (code, out) == (2, "")
    assert says in err


def test_sessions_at_the_command(query: Query) -> None:
    found = told(query, "SELECT id, window_end, COUNT(*) AS n, AVG(v) AS mean "
                 "FROM rows [SESSION 3 seconds] GROUP BY id", "--data", "rows.csv", "--slack", "9s")
    assert found == [
        {"id": 1, "window_end": "2024-01-01T00:00:08Z", "n": 3, "mean": 4.0},
        {"id": 2, "window_end": "2024-01-01T00:00:28Z", "n": 4, "mean": 4.5}]


@pytest.mark.parametrize("command", [
    ("query", "SELECT id FROM s", "--data", "rows.csv", "--out", "rows.csv"),
    ("query", "SELECT id FROM s", "--data", "s=rows.csv", "--out", "./rows.csv"),
    ("query", "SELECT id FROM s", "--data", "rows.csv", "--late-out", "rows.csv"),
    ("query", "SELECT id FROM s", "--data", ".", "--out", "found.csv"),
    ("reorder", "rows.csv", "--out", "rows.csv"),
    ("synchronise", "rows.csv", "--source", "kind", "--out", "rows.csv"),
    ("correlate", "rows.csv", "rows.csv", "--within", "5s", "--time", "time", "--out", "rows.csv")])
def test_what_is_read_is_never_written_over(command: tuple[str, ...], monkeypatch, tmp_path,
                                            capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(ROWS)
    monkeypatch.setattr(sys, "argv", ["slackwater", *command])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "is among the files that are read" in capsys.readouterr().err
    assert Path("rows.csv").read_text() == ROWS


def test_two_outputs_in_one_file(query: Query) -> None:
    code, _, said = query("SELECT id FROM s", *CSV, "--out", "x.csv", "--late-out", "x.csv")
    assert code == 2
    assert "two outputs would be written into x.csv" in said
