"""A real `slackwater run`, its driver and JVM killed in the middle of their work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq

from spark_feed import expected, feed, write_files
from test_pipeline_on_spark import KERNEL, TEXT, rows_of, write


def test_the_command_killed_and_stopped(tmp_path):
    """A real `slackwater run`: SIGKILL in the middle, then to the end; each row once."""
    table = feed(2000, seed=9)
    write_files(table, tmp_path / "in", 4)
    lines = [line for line in TEXT.splitlines() if not line.startswith(("  bad:", "  high: {from"))]
    file = write(tmp_path, "\n".join(lines).replace("batch: 2", "batch: 1"))
    log = (tmp_path / "command.log").open("ab")
    command = [sys.executable, "-c", "from slackwater.cli import main; main()", "run", str(file),
               "--master", "local[2]", "--until-done", "--json"]
    commits = tmp_path / ".slackwater" / "plant" / "queries" / "clean" / "commits"
    first = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    deadline = time.monotonic() + 300
    while len(list(commits.glob("[0-9]*"))) < 2:
        assert first.poll() is None, (tmp_path / "command.log").read_text()[-2000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    second = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert second.returncode == 0, second.stderr
    told = json.loads(second.stdout)["streams"]
    assert 0 < told["raw"]["in"] < 2000
    truth = expected(KERNEL, table, finish=False)
    for sink, status in (("clean", "ready"), ("late", "late")):
        want = sorted(row for (_, s), rows in truth.items() if s == status for row, _, _ in rows)
        folder = tmp_path / "out" / sink
        assert all((b / "_SUCCESS").exists() for b in folder.glob("batch_id=*"))
        got = (rows_of(folder) if sink == "late" else
               [r for f in folder.glob("batch_id=*/*.parquet") for r in
                pq.ParquetFile(f).read(["row"]).to_pylist()])
        assert sorted(r["row"] for r in got) == want
