"""Kill a streaming job's driver (SIGKILL) at random moments, resume it, compare with the kernel.

    python tests/spark/kill_driver.py --kills 10
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
from spark_feed import expected, fates, feed, write_files

JOB = Path(__file__).with_name("driver_job.py")


def committed(folder: Path) -> int:
    """How many micro-batches the query has committed."""
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def start(folder: Path) -> subprocess.Popen:
    log = (folder / "job.log").open("ab")
    return subprocess.Popen([sys.executable, str(JOB), str(folder)], stdout=log, stderr=log,
                            start_new_session=True)


def kill(process: subprocess.Popen) -> None:
    """SIGKILL for the driver and the JVM it started, at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def disturb(folder: Path, kills: int, batches: int, seed: int, patience: float = 600) -> int:
    """Run the job to its end, killing it `kills` times; returns how many kills hit it at work."""
    rng = random.Random(seed)
    hits = 0
    for left in range(kills, 0, -1):
        process = start(folder)
        # some moment between this many commits and the next: in planning, in a task, in a commit
        goal = committed(folder) + max((batches - committed(folder)) // (left + 1), 1)
        until = time.monotonic() + patience
        while process.poll() is None and committed(folder) < goal and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 1.5))
        if process.poll() is None:
            hits += 1
            kill(process)
        else:
            break
    process = start(folder)
    if process.wait(timeout=patience) != 0:
        raise RuntimeError((folder / "job.log").read_text()[-4000:])
    return hits


def result(folder: Path) -> dict:
    """The sink's rows per key, in the order of release."""
    log = folder / "out" / "_spark_metadata"
    assert log.exists(), "the file sink's log is what makes its files exactly-once"
    files = committed_files(log)
    table = pa.concat_tables([pq.read_table(folder / "out" / name) for name in files])
    # Spark's Parquet has timestamps without a zone, in its own old format; they are UTC
    at = table.schema.get_field_index("_released")
    stamps = table.column(at).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    return fates(table.select(["row", "key", "_status", "_reason"])
                 .append_column("_released", stamps).to_pylist())


def committed_files(log: Path) -> list[str]:
    """Files that the sink's log names, by micro-batch; others are of attempts that died."""
    import json

    batches: dict[int, list[str]] = {}
    for entry in log.iterdir():
        stem = entry.name.removesuffix(".compact")
        if not stem.isdigit():
            continue
        names = [json.loads(line)["path"].rsplit("/", 1)[1]
                 for line in entry.read_text().splitlines()[1:]]
        batches[int(stem)] = names
    compacted = [int(e.name.removesuffix(".compact")) for e in log.glob("*.compact")]
    newest = max(compacted, default=-1)
    return [name for batch in sorted(batches) if batch >= newest for name in batches[batch]]


def run(kills: int, files: int, rows: int, seed: int) -> int:
    """Disturb a job and assert that its result is the undisturbed one."""
    from slackwater import Reorder, Roles

    table = feed(rows, seed=seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_files(table, folder / "in", files)
        hits = disturb(folder, kills, files, seed)
        kernel = Reorder("KSlack(initial=100ms)", Roles("time", "arrival", key=("key",)))
        truth, got = expected(kernel, table, finish=False), result(folder)
        for key in sorted(truth.keys() | got.keys()):
            lost = sorted(set(truth.get(key, [])) - set(got.get(key, [])), key=str)
            extra = sorted(set(got.get(key, [])) - set(truth.get(key, [])), key=str)
            assert not lost + extra, f"{key}: lost {lost[:3]}, extra {extra[:3]}"
        assert {k: len(v) for k, v in got.items()} == {k: len(v) for k, v in truth.items()}
    return hits


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    at_work = run(arguments.kills, files=4 * arguments.kills, rows=2000 * arguments.kills,
                  seed=arguments.seed)
    print(f"{at_work} kills at work; the sink holds exactly what an undisturbed run gives")
