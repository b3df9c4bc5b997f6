"""An hour of a bad feed through a pipeline in some minutes: memory and state must stay flat.

1000 sources, regular, Poisson and bursty; stalls with backlogs; poison rows; a micro-batch for each
minute of arrivals.  ``python -m benchmarks.soak [FOLDER] [MINUTES]`` writes soak.csv and soak.png
there and prints how the last third of the run compares with the one before it.

What counts of the JVM is what a collection leaves of its heap: the resident size only tells how
much of its allowance it has touched so far.  RocksDB's block cache (8 MiB a store by default) is
small here: one that fills over an hour looks like growth.  Its memory is a saw-tooth: what was
written since its last snapshot, every tenth micro-batch.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from pyspark.sql import SparkSession

from slackwater.datasets import Bursty, Feed, Poisson, Regular, Stalls, generate
from slackwater.pipeline import load
from slackwater.spark.run import open_for, run_pipeline

MINUTES, SOURCES = 60, 1000
PIPELINE = """
name: soak
metrics: {log: run.jsonl}
spark: {spark.sql.streaming.stateStore.rocksdb.blockCacheSizeMB: 1}
sources:
  raw: {kind: files, path: in, format: parquet, max_files_per_batch: 1}
steps:
  clean: {reorder: raw, policy: tide, arrival: arrival, source: source, sequence: sequence}
  peaks: {query: "SELECT source, MAX(value) AS peak, COUNT(*) AS n FROM clean \
[RANGE 1 minute, SLIDE 30 seconds] GROUP BY source"}
sinks:
  peaks: {from: peaks, kind: parquet, path: peaks}
"""


def write_feed(folder: Path, minutes: int) -> int:
    """A Parquet file a minute of arrivals; how many rows in all."""
    feed = generate(Feed(sources=SOURCES, duration=f"{minutes} minutes", in_order=True,
                         rate=(Regular("4s"), Poisson("4s"), Bursty("4s")),
                         stalls=Stalls("10 minutes", "5s"), poison=0.001, seed=11))
    folder.mkdir(parents=True)
    table = feed.table.drop_columns(["true_time"])
    arrival = table["arrival"].cast("int64").to_numpy()
    minute = np.minimum((arrival - arrival[0]) // 60_000_000, minutes - 1)
    cuts = np.searchsorted(minute, np.arange(minutes + 1))
    for at, (begin, end) in enumerate(pairwise(cuts)):
        pq.write_table(table.slice(begin, end - begin), folder / f"{at:04}.parquet")
        os.utime(folder / f"{at:04}.parquet", (1_700_000_000 + at, 1_700_000_000 + at))
    return table.num_rows


def processes() -> set[int]:
    """This process and all that come from it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
    ours = {os.getpid()}
    while more := {p for p, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return ours


def resident() -> dict[str, float]:
    """MiB by kind, the JVM and all Python; a page that several share counts in parts."""
    found = {"jvm_mib": 0.0, "python_mib": 0.0}
    for process in processes():
        try:
            name = Path(f"/proc/{process}/comm").read_text().strip()
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        size = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        found["jvm_mib" if name == "java" else "python_mib"] += size / 1024
    return found


def live_heap(session: SparkSession) -> float:
    """MiB that the JVM's heap holds after a collection."""
    jvm = session._jvm
    assert jvm is not None
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def soak(folder: Path, minutes: int) -> list[dict[str, float]]:
    """Run it; one row of numbers a micro-batch."""
    rows = write_feed(folder / "in", minutes)
    (folder / "pipeline.yaml").write_text(PIPELINE)
    pipeline = load(folder / "pipeline.yaml")
    session = open_for(pipeline)
    memory: list[dict[str, float]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(3.0):
            memory.append({"heap_mib": live_heap(session), **resident()})

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.time()
    try:
        run_pipeline(pipeline, session, until_done=True)
    finally:
        done.set()
        watcher.join()
        session.stop()
    print(f"{rows} rows, {minutes} minutes of arrivals, in {time.time() - begin:.0f} s")
    lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    batches = [line for line in lines if line["event"] == "batch"]
    found = []
    for batch, at in zip(batches, np.linspace(0, len(memory) - 1, len(batches)), strict=True):
        found.append({"batch": batch["batch"], "rows": batch["rows"], "seconds": batch["seconds"],
                      "state_rows": batch["state_rows"], "state_mib": batch["state_bytes"] / 2**20,
                      **memory[int(at)]})
    return found


def report(found: list[dict[str, float]], folder: Path) -> None:
    with (folder / "soak.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    figure = Figure(figsize=(8, 7), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    x = [f["batch"] for f in found]
    for name, label in (("jvm_mib", "Spark's JVM"), ("heap_mib", "its heap after a collection"),
                        ("python_mib", "Python, workers included")):
        axes[0].plot(x, [f[name] for f in found], label=label)
    axes[0].set(ylabel="memory (MiB)", ylim=(0, None))
    axes[0].legend(frameon=False)
    axes[1].plot(x, [f["state_mib"] for f in found])
    axes[1].set(ylabel="state memory (MiB)", ylim=(0, None))
    axes[2].plot(x, [f["seconds"] for f in found])
    axes[2].set(ylabel="micro-batch (s)", xlabel="minute of the stream", ylim=(0, None))
    for one in axes:
        one.grid(alpha=0.3)
    figure.savefig(folder / "soak.png", dpi=140)
    third = len(found) // 3
    for name in ("jvm_mib", "heap_mib", "python_mib", "state_rows", "state_mib", "seconds"):
        values = np.array([f[name] for f in found])
        print(f"{name:>11}: after warm-up {values[third:2 * third].mean():9.1f}, "
              f"at the end {values[2 * third:].mean():9.1f}, "
              f"ratio {values[2 * third:].mean() / values[third:2 * third].mean():.2f}")


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("artifacts/soak")
    out.mkdir(parents=True, exist_ok=True)
    length = int(sys.argv[2]) if len(sys.argv) > 2 else MINUTES
    with tempfile.TemporaryDirectory() as scratch:
        report(soak(Path(scratch) / "run", length), out)
    print(out / "soak.png")
