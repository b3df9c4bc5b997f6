"""`slackwater report` and `slackwater dashboard`, as commands."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import httpx
import pytest

from runs_for_view import add_second, plant
from slackwater.pipeline.metrics import Numbers

SLACKWATER = [sys.executable, "-c", "from slackwater.cli import main; main()"]


def half_a_run(log) -> Numbers:
    """A run that was killed: its log has no end."""
    numbers = Numbers(plant(log.with_suffix(".whole")))
    with numbers.told():
        for at in range(3):
            add_second(numbers, at)
    lines = log.with_suffix(".whole").read_text().splitlines(keepends=True)
    assert '"stop"' in lines[-1]
    log.write_text("".join(lines[:-1]) + lines[-1][:20])
    return numbers


def slackwater(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([*SLACKWATER, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False)


def model_in(html: str) -> dict:
    return json.loads(re.search(r'id="model">(.*?)</script>', html, re.DOTALL)[1])


def test_the_report_of_a_run_that_has_not_ended(tmp_path):
    numbers = half_a_run(tmp_path / "run.jsonl")
    said = slackwater("report", tmp_path, "--out", tmp_path / "pages" / "run.html")
    assert (said.returncode, said.stderr) == (0, "")
    model = model_in((tmp_path / "pages" / "run.html").read_text())
    assert model["state"] == "running"
    assert model["streams"]["clean"]["totals"] == json.loads(
        json.dumps(numbers.summary()))["clean"]


def test_no_report_of_what_is_no_run(tmp_path):
    (tmp_path / "data.jsonl").write_text('{"time": 1}\n')
    for run in (tmp_path, tmp_path / "data.jsonl", tmp_path / "absent.jsonl"):
        said = slackwater("report", run, "--out", tmp_path / "run.html")
        assert said.returncode == 2
        assert "run log" in said.stderr
        assert "Traceback" not in said.stderr
    assert not (tmp_path / "run.html").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_dashboard_follows_a_log(tmp_path, how):
    log = tmp_path / "run.jsonl"
    with subprocess.Popen([*SLACKWATER, "dashboard", str(log)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as running:
        try:
            url = running.stdout.readline().rpartition(": ")[2].strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", url)
            with httpx.Client(follow_redirects=True, timeout=20) as client:
                assert client.get(url).status_code == 200
                base = url.partition("?")[0]
                assert client.get(base + "model.json").json()["state"] == "waiting"
                half_a_run(log)
                with client.stream("GET", base + "events") as events:
                    for line in events.iter_lines():
                        change = json.loads(line.removeprefix("data: ") if line.startswith("data: ")
                                            else "{}")
                        if change.get("streams"):
                            break
                assert change["streams"]["raw"]["totals"]["in"] == 300
            running.send_signal(how)
            assert running.wait(20) == 0
        finally:
            running.kill()
