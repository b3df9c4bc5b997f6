"""`slackwater correlate` on files."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from slackwater.cli.correlate import command
from slackwater.core.errors import SlackwaterError

APP = typer.Typer()
APP.command()(command)

LEFT = """id,room,from,to,got
a,1,2024-01-01T00:00:00Z,2024-01-01T00:00:01Z,2024-01-01T00:00:02Z
b,2,2024-01-01T00:00:10Z,2024-01-01T00:00:11Z,2024-01-01T00:01:30Z
"""
RIGHT = """id,room,from,to,got
x,1,2024-01-01T00:00:03Z,2024-01-01T00:00:04Z,2024-01-01T00:00:05Z
y,2,2024-01-01T00:00:06Z,2024-01-01T00:00:07Z,2024-01-01T00:00:08Z
"""
COLUMNS = ["--time-min", "from", "--time-max", "to", "--arrival", "got"]


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "left.csv", tmp_path / "right.csv"
    for path, body in zip(paths, (LEFT, RIGHT), strict=True):
        path.write_text(body)
    return [str(path) for path in paths]


def pairs(*args: str) -> list[dict]:
    result = CliRunner().invoke(APP, [*args, *COLUMNS, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def names(found: list[dict]) -> set[tuple[str, str]]:
    return {(pair["left"]["id"], pair["right"]["id"]) for pair in found}


def test_within(files):
    found = pairs(*files, "--within", "5s", "--confidence", "0.8")
    assert names(found) == {("a", "x"), ("b", "y")}
    assert found[0]["left"]["from"] == "2024-01-01T00:00:00Z"
    assert found[0]["probability"] is None
    assert pairs(*files, "--within", "3s", "--confidence", "0.5", "--probability")[0][
        "probability"] == 0.5


def test_deadline_delay_and_keys(files):
    assert names(pairs(*files, "--deadline", "0s")) == {("b", "x"), ("b", "y")}
    assert names(pairs(*files, "--deadline", "0s", "--by", "room")) == {("b", "y")}
    assert names(pairs(*files, "--deadline", "0s", "--by", "room=room")) == {("b", "y")}
    assert names(pairs(*files, "--delay", "4s")) == {("a", "y")}
    assert names(pairs(*files, "--delay", "4s", "--horizon", "5s")) == set()


def test_a_row_beyond_the_delay_is_left_out(files):
    assert names(pairs(*files, "--within", "5s", "--max-delay", "10s")) == {("a", "x")}


def test_for_people_and_into_a_file(files, tmp_path):
    out = tmp_path / "pairs.csv"
    result = CliRunner().invoke(APP, [*files, *COLUMNS, "--within", "5s", "--out", str(out)],
                                catch_exceptions=False)
    assert result.exit_code == 0
    assert len(out.read_text().splitlines()) == 3
    result = CliRunner().invoke(APP, [*files, *COLUMNS, "--within", "5s"], catch_exceptions=False)
    assert "probability" in result.stdout


@pytest.mark.parametrize(("extra", "text"), [
    ([], "one timing predicate"), (["--within", "5 secnds"], "did you mean"),
    (["--within", "5s", "--confidence", "80"], "80 % is written 0.8"),
    (["--within", "5s", "--by", "rom"], "did you mean 'room'"),
    (["--within", "5s", "--distribution", "norml"], "did you mean 'normal'")])
def test_mistakes_are_told(files, extra, text):
    with pytest.raises(SlackwaterError, match=text):
        CliRunner().invoke(APP, [*files, *COLUMNS, *extra], catch_exceptions=False)
