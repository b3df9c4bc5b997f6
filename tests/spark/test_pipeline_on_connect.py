"""`slackwater run --remote`: the same pipeline by way of a Spark Connect server."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from slackwater import Reorder, Roles
from spark_feed import expected, feed, write_files

TEXT = """
name: far
sources:
  raw: {kind: files, path: in, format: parquet, max_files_per_batch: 1}
steps:
  clean: {reorder: raw, policy: kslack(initial=100ms), arrival: arrival, source: key}
sinks:
  clean: {from: clean, kind: json, path: out/clean}
  late: {from: clean.late, kind: json, path: out/late}
"""


def test_run_on_a_server(tmp_path):
    """In a process of its own: one that has a classic session cannot have a remote one."""
    pytest.importorskip("grpc", reason="grpcio, which Spark Connect needs, is missing")
    table = feed(1000, seed=6)
    write_files(table, tmp_path / "in", 2)
    file = tmp_path / "pipeline.yaml"
    file.write_text(TEXT)
    done = subprocess.run(
        [sys.executable, "-c", "from slackwater.cli import main; main()", "run", str(file),
         "--remote", "local[2]", "--until-done", "--json"],
        capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)["streams"]
    truth = expected(Reorder("KSlack(initial=100ms)", Roles("time", "arrival")), table,
                     finish=True)
    for sink, status in (("clean", "ready"), ("late", "late")):
        want = sorted(row for (_, s), rows in truth.items() if s == status for row, _, _ in rows)
        got = [json.loads(line)["row"] for f in (tmp_path / "out" / sink).glob("batch_id=*/part-*")
               for line in f.read_text().splitlines()]
        assert sorted(got) == want
        assert told["clean"][status] == len(want)
    assert told["raw"]["in"] == 1000
