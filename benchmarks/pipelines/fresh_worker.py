"""The first micro-batch of a reorder on a standalone worker that has never run anything.

What an executor must not wait for is a compiler: it finds the kernels compiled.  The rest is what
any first query costs there: a JVM whose code is cold, a Python worker that starts and imports.  So
Spark's own window, first on another fresh worker, stands beside it.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from parts.spark_cluster import SparkCluster

from benchmarks.pipelines.reorder import stream
from benchmarks.result import Result
from benchmarks.workloads import micro_batches
from slackwater.spark import open_session, reorder

ROWS, BATCHES = 2_000, 12
SECONDS = 3.0


def run() -> list[Result]:
    folder = Path(tempfile.mkdtemp())
    try:
        files = folder / "files"
        micro_batches(files, BATCHES, ROWS, keys=16, gap=500)
        ours, warm = first_and_warm(folder / "ours", lambda spark: reorder(
            stream(spark, files), "Static(buffer=2s)", arrival="arrival", by="key"))
        native, native_warm = first_and_warm(folder / "native", lambda spark: (
            stream(spark, files).withWatermark("time", "2 seconds")
            .groupBy(F.window("time", "1 second"), "key").agg(F.max("value"))))
        return [Result(
            "first micro-batch on a fresh worker, beyond a warm one", ours - warm,
            "three seconds", SECONDS, limit=1.0,
            detail=f"first {ours:.1f} s, warm {warm:.2f} s; Spark's window: first {native:.1f} s, "
                   f"warm {native_warm:.2f} s")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def first_and_warm(folder: Path, make: Callable[[SparkSession], DataFrame]) -> tuple[float, float]:
    """Seconds of the first micro-batch of a fresh cluster, and the median of its last ones."""
    folder.mkdir()
    cluster = SparkCluster(folder / "cluster")
    cluster.start()
    spark = open_session("slackwater-bench", master=cluster.address, log=folder / "spark.log")
    try:
        query = (make(spark).writeStream.format("noop")
                 .option("checkpointLocation", str(folder / "checkpoint"))
                 .trigger(availableNow=True).start())
        query.awaitTermination()
        times = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress
                 if p["numInputRows"]]
        return times[0], statistics.median(times[BATCHES // 2:])
    finally:
        spark.stop()
        cluster.stop()
