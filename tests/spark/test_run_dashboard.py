"""`slackwater run --dashboard`: the page answers while the run lasts."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import httpx

TEXT = """
name: watched
sources:
  raw: {kind: files, path: in, format: json, columns: {time: timestamp, v: long}}
steps:
  clean: {reorder: raw, policy: sba(buffer=1s)}
sinks:
  out: {from: clean, kind: json, path: out}
"""


def test_the_page_of_a_run_under_way(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text("".join(
        json.dumps({"time": f"2024-05-01T10:00:{s:02d}Z", "v": s}) + "\n" for s in range(50)))
    (tmp_path / "p.yaml").write_text(TEXT)
    code = "from slackwater.cli import main; main()"
    with subprocess.Popen([sys.executable, "-c", code, "run", str(tmp_path / "p.yaml"),
                           "--dashboard"], stderr=subprocess.PIPE, text=True) as running:
        try:
            line = next(line for line in running.stderr if line.startswith("dashboard: "))
            url = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)[0]
            assert httpx.get(url.partition("?")[0]).status_code == 401
            with httpx.Client(follow_redirects=True, timeout=20) as client:
                assert client.get(url).status_code == 200
                until = time.monotonic() + 120
                model: dict = {}
                while time.monotonic() < until and running.poll() is None:
                    model = client.get(url.partition("?")[0] + "model.json").json()
                    if model["streams"].get("raw", {}).get("totals", {}).get("in") == 50:
                        break
                    time.sleep(0.5)
            assert model["streams"]["raw"]["totals"]["in"] == 50
            assert model["state"] == "running"
            running.send_signal(signal.SIGTERM)
            assert running.wait(90) == 0
        finally:
            running.kill()
