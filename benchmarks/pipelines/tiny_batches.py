"""What a micro-batch costs however small it is: 500 rows each, against Spark's own window.

The same tiny files go through a query that only reads them, Spark's watermarked window, reorder,
and reorder with a window behind it, in turn.  With so few rows what is left is the fixed cost:
planning, offsets and commits, tasks, state stores, and the round trips between the JVM and Python.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.pipelines.reorder import batches, seconds, stream
from benchmarks.result import Result
from benchmarks.workloads import micro_batches
from slackwater.spark import local_session, query, reorder

ROWS, BATCHES = 500, 40
SELECT = "SELECT key, MAX(value) AS top FROM rows [RANGE 1 second, SLIDE 1 second] GROUP BY key"


def run() -> list[Result]:
    spark = local_session("slackwater-bench")
    folder = Path(tempfile.mkdtemp())
    try:
        files = folder / "files"
        micro_batches(files, BATCHES, ROWS, keys=16, gap=2_000)

        def rows() -> DataFrame:
            return stream(spark, files)

        ways = {
            "bare": rows(),
            "native": rows().withWatermark("time", "2 seconds").groupBy(
                F.window("time", "1 second"), "key").agg(F.max("value")),
            "reorder": reorder(rows(), "Static(buffer=2s)", arrival="arrival", by="key"),
            "window": query(rows(), SELECT, arrival="arrival", slack="2s"),
        }
        times: dict[str, float] = {}
        for lap in range(2):  # the first compiles the JVM's code
            for name, df in ways.items():
                times[name] = seconds(batches(df, folder / f"{name}{lap}"))
        detail = ", ".join(f"{name} {1000 * t:.0f} ms" for name, t in times.items())
        return [
            Result("tiny micro-batch, reorder", times["reorder"], "Spark's window",
                   times["native"], limit=1.2, detail=detail),
            Result("tiny micro-batch, reorder and window", times["window"], "Spark's window",
                   times["native"]),
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()
