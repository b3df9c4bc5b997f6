"""GROUP BY over 100 000 keys on Spark: ours against Spark's own window with a fixed watermark.

The same disordered files go through both, two seconds a micro-batch: delays whose mean changes
every ten seconds, which no fixed watermark fits.  Time per row and rows lost stand side by side:
Spark drops a row behind its watermark without a word (and its watermark stands where it stood two
micro-batches ago, so that it loses the less the longer these are); ours hands every late row out,
with `_status` "late".
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.pipelines.reorder import batches, seconds, stream
from benchmarks.result import Result
from benchmarks.workloads import STAMP, START
from slackwater.spark import local_session, query

ROWS, BATCHES, KEYS, RATE = 100_000, 30, 100_000, 50_000
WATERMARK, SPAN = 5, 10  # seconds
SELECT = ("SELECT key, COUNT(*) AS n, MAX(value) AS top "
          "FROM rows [RANGE {span} seconds, SLIDE {span} seconds{dratio}] GROUP BY key")


def write(folder: Path, seed: int = 1) -> tuple[int, float]:
    """One file a micro-batch in arrival order, then two lone rows that close Spark's windows.

    Returns how many rows there are, without those two, and by when all their windows have ended.
    """
    rng = np.random.default_rng(seed)
    rows = ROWS * BATCHES
    time = np.cumsum(rng.exponential(1 / RATE, rows))
    mean = rng.uniform(0.2, 3.0, int(time[-1] // SPAN) + 1)
    arrival = time + rng.exponential(mean[(time // SPAN).astype(int)])
    order = np.argsort(arrival, kind="stable")
    table = _table(rng.integers(0, KEYS, rows), time[order], arrival[order], rng.random(rows))
    parts = [table.slice(b * ROWS, ROWS) for b in range(BATCHES)]
    for hours in (1, 2):
        after = time[-1:] + 3600.0 * hours
        parts.append(_table(np.zeros(1, np.int64), after, after, np.zeros(1)))
    folder.mkdir()
    for b, part in enumerate(parts):
        file = folder / f"{b:04}.parquet"
        pq.write_table(part, file)
        os.utime(file, (1_700_000_000 + b,) * 2)
    return rows, START / 1e6 + time[-1] + SPAN


def _table(key: np.ndarray, time: np.ndarray, arrival: np.ndarray, value: np.ndarray) -> pa.Table:
    return pa.table({"key": key, "time": _stamps(time), "arrival": _stamps(arrival),
                     "value": value})


def _stamps(seconds_in: np.ndarray) -> pa.Array:
    return pa.array(START + (seconds_in * 1e6).astype(np.int64)).cast(STAMP)


def native(spark: SparkSession, files: Path) -> DataFrame:
    return (stream(spark, files).withWatermark("time", f"{WATERMARK} seconds")
            .groupBy(F.window("time", f"{SPAN} seconds"), "key")
            .agg(F.count("*").alias("n"), F.max("value").alias("top")))


def ours(spark: SparkSession, files: Path, *, dratio: bool) -> DataFrame:
    text = SELECT.format(span=SPAN, dratio=", DRATIO 1%" if dratio else "")
    return query(stream(spark, files), text, arrival="arrival",
                 slack=None if dratio else f"{WATERMARK}s")


def written(df: DataFrame, spark: SparkSession, folder: Path, name: str) -> DataFrame:
    """What a whole run writes."""
    (df.writeStream.format("parquet").option("checkpointLocation", str(folder / f"{name}-to"))
     .trigger(availableNow=True).start(str(folder / name)).awaitTermination())
    return spark.read.parquet(str(folder / name))


def run() -> list[Result]:
    spark = local_session("slackwater-bench")
    folder = Path(tempfile.mkdtemp())
    try:
        files = folder / "files"
        rows, end = write(files)
        ways = {"native": native(spark, files), "slack": ours(spark, files, dratio=False),
                "dratio": ours(spark, files, dratio=True)}
        # a first round, which also compiles the JVM's code, tells what is lost; the second is timed
        lost = {}
        for name, df in ways.items():
            out = written(df, spark, folder, name)
            if name == "native":
                counted = out.where(F.col("window.end").cast("double") <= end).agg(F.sum("n"))
                lost[name] = rows - int(counted.collect()[0][0])
            else:
                lost[name] = out.where("_status = 'late'").count()
        times = {name: seconds(batches(df, folder / f"{name}-timed")[:-2])
                 for name, df in ways.items()}
        label = f"groupBy(window, key), watermark {WATERMARK} s"

        def told(name: str, how: str) -> str:
            return (f"{1e6 * times[name] / ROWS:.2f} µs a row against "
                    f"{1e6 * times['native'] / ROWS:.2f}; {how}: {lost[name]} of {rows} rows late "
                    f"({100 * lost[name] / rows:.3f} %), all handed out; Spark lost "
                    f"{lost['native']} ({100 * lost['native'] / rows:.3f} %)")

        return [
            Result(f"GROUP BY {KEYS} keys, slack", times["slack"], label, times["native"],
                   limit=1.2, detail=told("slack", f"slack {WATERMARK} s")),
            Result(f"GROUP BY {KEYS} keys, DRATIO", times["dratio"], label, times["native"],
                   limit=1.2, detail=told("dratio", "DRATIO 1 %")),
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()
