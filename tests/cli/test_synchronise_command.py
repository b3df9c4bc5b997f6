"""`slackwater synchronise`: method, max delay, max failures, blame."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pc
import pytest
from typer.testing import CliRunner

from slackwater.cli import app
from slackwater.core.errors import ConfigError

ROWS = """time,arrival,source
1000,1100,a
1010,1110,b
1020,1120,a
1030,1130,b
1025,2000,a
9000,9100,a
20000,20100,a
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


def run(*arguments: str) -> dict:
    result = CliRunner().invoke(app, ["synchronise", *arguments, "--unit", "ms", "--json"])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.stdout)


@pytest.mark.parametrize("method", ["frontier", "tree", "merged", "redblack", "linked", "indexed"])
def test_every_method_merges_the_sources(file: Path, method: str) -> None:
    out = file.with_name(f"{method}.csv")
    said = run(str(file), "--out", str(out), "--method", method, "--max-delay", "none")
    assert (said["rows"], said["ready"], said["late"]) == (7, 7, 0)
    times = pc.read_csv(out)["time"].to_pylist()
    assert times == sorted(times)
    assert {s["source"] for s in said["sources"]} == {"a", "b"}


def test_max_delay_and_blame(file: Path) -> None:
    """b falls silent: blamed, it fails; a producer that is blamed is live again at its next row."""
    file.write_text("time,arrival,source\n1000,1100,b\n1010,1110,a\n9000,9100,a\n")
    failed = {}
    for blame in ("missing", "producer"):
        said = run(str(file), "--out", str(file.with_name("o.csv")), "--max-delay", "5s",
                   "--max-failures", "1", "--blame", blame, "--sources", "a,b")
        failed[blame] = {s["source"] for s in said["sources"] if s["state"] == "disabled"}
        assert said["ready"] + said["late"] == 3
    assert failed == {"missing": {"b"}, "producer": set()}


def test_a_bad_number_is_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match="--max-failures"):
        run(str(file), "--out", str(file.with_name("o.csv")), "--max-failures", "many")
