"""What `slackwater warm` has run no command compiles again; what it packs is found elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROWS = """time,arrival,source,type,v
2026-01-01T00:00:00Z,2026-01-01T00:00:01Z,a,A,1
2026-01-01T00:00:02Z,2026-01-01T00:00:03Z,b,B,2
2026-01-01T00:00:01Z,2026-01-01T00:00:04Z,a,A,3
2026-01-01T00:00:05Z,2026-01-01T00:00:06Z,b,B,4
2026-01-01T00:00:09Z,2026-01-01T00:00:10Z,a,A,5
"""
COMMANDS = [
    ["evaluate", "rows.csv"],
    ["profile", "rows.csv"],
    ["advise", "rows.csv"],
    ["reorder", "rows.csv", "--out", "out.csv"],
    ["synchronise", "rows.csv", "--out", "out.csv"],
    ["correlate", "rows.csv", "rows.csv", "--within", "1s", "--time", "time"],
    ["query", "SELECT avg(v) FROM r [RANGE 2 SECONDS, SLIDE 1 SECOND]", "--data", "rows.csv"],
    ["query", "SELECT source, MAX(v) AS m FROM r [RANGE 2 s] GROUP BY source", "--data",
     "rows.csv"],
    ["query", "EVENT SEQ(A a, B b) WHERE a.v < b.v WITHIN 5 SECONDS RETURN a.v, b.v AS w",
     "--data", "rows.csv"],
    ["query", "SELECT * FROM r MATCH_RECOGNIZE (PARTITION BY source ORDER BY time MEASURES "
     "COUNT(*) AS n PATTERN (A B+) WITHIN 1 minute DEFINE B AS B.v > A.v)", "--data", "rows.csv"],
]
# in one process: what the workloads have compiled or loaded is not asked of the cache again
CODE = """
import json, sys
from numba.core import event
from typer.testing import CliRunner
from slackwater.cli.command_line import app
from slackwater.warm import workloads

for workload in workloads():
    workload.run()
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event):
        pass
for command in json.loads(sys.argv[1]):
    with event.install_listener("numba:compile", Listener()):
        done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, (command, done.output, done.exception)
print(json.dumps(compiled))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def test_no_command_compiles_what_the_workloads_have_used(folder):
    said = subprocess.run([sys.executable, "-c", CODE, json.dumps(COMMANDS)], cwd=folder,
                          capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout.splitlines()[-1]) == []


PACK = """
import sys
from pathlib import Path
from slackwater.core.state.order import order_of
from slackwater.warm import archive
import numpy as np

rows = np.arange(100_000) % 977
order_of(rows)
from slackwater.core.state import order
print(sum(order._by_places.stats.cache_hits.values()))
if len(sys.argv) > 1:
    archive(Path(sys.argv[1]))
"""


def test_what_is_packed_is_found_where_it_is_unpacked(folder):
    def run(*more: str, cache: str) -> str:
        done = subprocess.run([sys.executable, "-c", PACK, *more], cwd=folder, text=True,
                              env={**os.environ, "NUMBA_CACHE_DIR": str(folder / cache)},
                              capture_output=True, check=True)
        return done.stdout.split()[-1]

    assert run("packed.tar.gz", cache="here") == "0"
    with tarfile.open(folder / "packed.tar.gz") as packed:
        packed.extractall(folder / "there", filter="data")
    assert run(cache="there") == "1"
