"""What a size costs: rows, keys, held rows, micro-batches, shards, and a key that is hot.

    python -m benchmarks.scale            one core, two cores, a standalone cluster of two workers
    python -m benchmarks.scale --only 2   two cores alone

Prints the tables of docs/scale.md.  A micro-batch takes `fixed + rows × cost`; both are fitted to
the medians of two sizes, with the same rows on every place, so that the places can be compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from parts.spark_cluster import SparkCluster

from benchmarks.pipelines.reorder import batches, seconds, stream
from benchmarks.workloads import disordered, micro_batches
from slackwater import Reorder, Roles
from slackwater.core.kernel import MemoryStore
from slackwater.spark import open_session, query, reorder

SMALL, LARGE, BATCHES = 20_000, 200_000, 12
SELECT = "SELECT key, MAX(value) AS top FROM rows [RANGE 1 second, SLIDE 1 second] GROUP BY key"
PLACES = {"1": "local[1]", "2": "local[2]", "cluster": "two workers of one core"}


@contextmanager
def session(place: str, folder: Path) -> Iterator[SparkSession]:
    """A Spark at a place; everything that it started is ended."""
    cluster = SparkCluster(folder / "cluster") if place == "cluster" else None
    if cluster is not None:
        cluster.start()
    spark = open_session("slackwater-scale", master=cluster.address if cluster else PLACES[place],
                         log=folder / "spark.log")
    try:
        yield spark
    finally:
        spark.stop()
        if cluster is not None:
            cluster.stop()


def ordered(df: DataFrame, shards: int | None = None) -> DataFrame:
    return reorder(df, "Static(buffer=2s)", arrival="arrival", by="key", shards=shards)


def fitted(times: dict[int, float]) -> tuple[float, float]:
    """Seconds per micro-batch, and per row."""
    cost = (times[LARGE] - times[SMALL]) / (LARGE - SMALL)
    return times[SMALL] - SMALL * cost, cost


def on_spark(place: str, folder: Path) -> None:
    """Rows per second, the fixed cost, a shard's share of it, and a hot key."""
    spread = {size: folder / f"rows-{size}" for size in (SMALL, LARGE)}
    hot = folder / "hot"
    if not hot.exists():
        for size, files in spread.items():
            micro_batches(files, BATCHES, size, keys=64, gap=20)
        _hot(spread[LARGE], hot)
    with session(place, folder / place) as spark:
        first = _first(spark, spread[SMALL], folder / f"first-{place}")
        ways = {
            "reorder": lambda files: ordered(stream(spark, files)),
            "reorder and window": lambda files: query(stream(spark, files), SELECT,
                                                      arrival="arrival", slack="2s"),
        }
        print(f"\n{PLACES[place]}: first micro-batch {first:.1f} s, in a new session")
        for lap in range(2):  # the first compiles the JVM's code
            for name, way in ways.items():
                times = {size: seconds(batches(way(files), folder / f"{place}-{lap}-{name}-{size}"))
                         for size, files in spread.items()}
                fixed, cost = fitted(times)
                if lap:
                    print(f"  {name}: {1000 * fixed:.0f} ms per micro-batch, "
                          f"{1e6 * cost:.2f} µs per row ({1 / cost / 1e3:.0f} k rows/s)")
        many = seconds(batches(ordered(stream(spark, spread[SMALL]), shards=64),
                               folder / f"{place}-64"))
        few = seconds(batches(ordered(stream(spark, spread[SMALL])), folder / f"{place}-8"))
        print(f"  a shard: {1000 * (many - few) / 56:.1f} ms per micro-batch (64 against 8)")
        even = seconds(batches(ordered(stream(spark, spread[LARGE])), folder / f"{place}-even"))
        half = seconds(batches(ordered(stream(spark, hot)), folder / f"{place}-hot"))
        print(f"  half of all rows with one key: {half / even:.2f} × the time of even keys")


def _first(spark: SparkSession, files: Path, checkpoint: Path) -> float:
    """Seconds of the very first micro-batch, in which workers start and kernels are loaded."""
    done = (ordered(stream(spark, files)).writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())
    done.awaitTermination()
    return float(done.recentProgress[0]["durationMs"]["triggerExecution"]) / 1000


def _hot(files: Path, into: Path) -> None:
    """The same files, every second row with the same key."""
    into.mkdir()
    for file in sorted(files.glob("*.parquet")):
        table = pq.read_table(file)
        key = table["key"].to_numpy().copy()
        key[::2] = 0
        pq.write_table(table.set_column(0, "key", pa.array(key)), into / file.name)
        stamp = file.stat().st_mtime
        os.utime(into / file.name, (stamp, stamp))


def in_process() -> None:
    """One core without Spark: rows per second, and bytes of state."""
    roles = Roles("time", "arrival", key=("key",))
    table = disordered(2_000_000, keys=64, gap=20)
    parts = table.to_batches(max_chunksize=100_000)
    logic = Reorder("Static(buffer=2s)", roles).start()
    logic.push(parts[0])
    begin = time.perf_counter()
    for part in parts[1:]:
        logic.push(part)
    cost = (time.perf_counter() - begin) / (table.num_rows - parts[0].num_rows)
    print(f"kernel alone, one core: {1e6 * cost:.2f} µs per row ({1 / cost / 1e3:.0f} k rows/s)")
    for policy in ("Static(buffer=1h)", "Tide(loss=0.1%)"):
        sizes = {}
        for keys, rows in ((1_000, 100_000), (100_000, 100_000), (1_000, 1_000_000)):
            store = MemoryStore()
            given = disordered(rows, keys=keys, gap=20)
            number = np.arange(rows) % keys
            given = given.set_column(0, "key", pa.array(number))
            logic = Reorder(policy, roles).start(store)
            out = [logic.push(part) for part in given.to_batches(max_chunksize=100_000)]
            size = len(logic.snapshot()) + sum(map(len, store.values()))
            sizes[keys, rows] = size, int(out[-1].notes["held"])
        (few, held), (many, held_too) = sizes[1_000, 100_000], sizes[100_000, 100_000]
        (rows_more, held_more) = sizes[1_000, 1_000_000]
        row = (rows_more - few) / max(held_more - held, 1)
        key = (many - few - (held_too - held) * row) / 99_000
        print(f"state, {policy}: {key:.0f} bytes per key" + (
            f", {row:.0f} bytes per held row of four columns" if held_more - held > 100_000
            else ""))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=[*PLACES, "kernel"])
    only = parser.parse_args().only
    folder = Path(tempfile.mkdtemp(prefix="slackwater-scale-"))
    try:
        if only in (None, "kernel"):
            in_process()
        for place in PLACES:
            if only in (None, place):
                (folder / place).mkdir()
                on_spark(place, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
