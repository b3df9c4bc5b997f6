"""The alert rules and the board ask for metrics that there are, in PromQL that Prometheus takes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from slackwater.pipeline.exposition import METRICS

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "operations"
NAME = re.compile(r"slackwater_[a-z_]+")


def rules() -> dict[str, str]:
    text = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
    return {rule["alert"]: rule["expr"] for group in text["groups"] for rule in group["rules"]}


def panels() -> dict[str, list[str]]:
    board = json.loads((FOLDER / "board.json").read_text())
    return {panel["title"]: [one["expr"] for one in panel["targets"]]
            for panel in board["panels"]}


@pytest.fixture
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian: apt install prometheus)")
    return found


def said(*command: str) -> str:
    run = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=60,
                         check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_they_ask_for_metrics_that_there_are():
    asked = [*rules().values(), *(expr for some in panels().values() for expr in some)]
    names = {name for expr in asked for name in NAME.findall(expr)}
    assert len(names) > 10
    assert names <= set(METRICS)


def test_panels_do_not_lie_over_each_other():
    board = json.loads((FOLDER / "board.json").read_text())
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in board["panels"]]
    assert len(set(places)) == len(places) == len({p["id"] for p in board["panels"]})


def test_promtool_takes_the_rules_and_their_test(promtool):
    assert f"{len(rules())} rules found" in said(promtool, "check", "rules", "alerts.yaml")
    assert "SUCCESS" in said(promtool, "test", "rules", "alerts_test.yaml")


def test_promtool_takes_the_scrape_configuration(promtool):
    assert "SUCCESS" in said(promtool, "check", "config", "scrape.yaml")


def test_promtool_takes_what_the_board_asks(promtool, tmp_path):
    asked = [expr.replace("$pipeline", ".*") for some in panels().values() for expr in some]
    made = {"groups": [{"name": "board", "rules": [
        {"record": f"panel:{at}", "expr": expr} for at, expr in enumerate(asked)]}]}
    (tmp_path / "board.yaml").write_text(yaml.safe_dump(made))
    assert f"{len(asked)} rules found" in said(promtool, "check", "rules",
                                               str(tmp_path / "board.yaml"))
