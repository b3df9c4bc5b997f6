"""Correlate on Spark: cost a pair as the input grows, and against Spark's own stream-stream join.

Spark joins two streams only by an equality, so the peer gets what a careful user would write by
hand: right rows copied to the narrow buckets of time where partners may be, a time range that lets
the state be dropped, and the probability in SQL.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.pipelines.reorder import changed_bytes, stream
from benchmarks.result import Result, best_of
from benchmarks.workloads import STAMP, START
from slackwater.spark import correlate, local_session, ready

GAP, D, SHORTEST, LONGEST, DELAY = 100, 500, 20, 200, 2_000_000  # microseconds
CONFIDENCE, ROWS, BATCHES, WARM_UP = 0.8, 50_000, 7, 2
WIDTH = 2 * (D + LONGEST)  # of the peer's buckets: narrower ones copy more, wider ones probe more
SIDES = ("left", "right")

PROBABILITY = """
(pow(greatest(c + n, 0), 2) - pow(greatest(c + n - m, 0), 2)
 - pow(greatest(c, 0), 2) + pow(greatest(c - m, 0), 2)
 - pow(greatest(e + n, 0), 2) + pow(greatest(e + n - m, 0), 2)
 + pow(greatest(e, 0), 2) - pow(greatest(e - m, 0), 2)) / (2.0D * n * m)
"""


def write_side(folder: Path, files: int, rows: int, seed: int) -> None:
    """Intervals of 20 to 200 µs, one every 100 µs, a file a micro-batch, up to 2 s late."""
    rng = np.random.default_rng(seed)
    total = files * rows
    first = START + rng.integers(0, total * GAP, total)
    last = first + rng.integers(SHORTEST, LONGEST + 1, total)
    arrival = last + rng.integers(0, DELAY, total)
    order = np.argsort(arrival, kind="stable")
    stamps = {"time_min": first, "time_max": last, "arrival": arrival}
    table = pa.table({"id": pa.array(np.arange(total)),
                      **{n: pa.array(c[order]).cast(STAMP) for n, c in stamps.items()}})
    folder.mkdir(parents=True)
    for b in range(files):
        file = folder / f"{b:04}.parquet"
        pq.write_table(table.slice(b * rows, rows), file)
        os.utime(file, (1_700_000_000 + b,) * 2)  # Spark takes the oldest file first


def ours(left: DataFrame, right: DataFrame) -> DataFrame:
    return ready(correlate(
        left, right, within=f"{D}us", confidence=CONFIDENCE, arrival="arrival",
        shortest=f"{SHORTEST}us", longest=f"{LONGEST}us", max_delay=f"{DELAY}us"))


def native(left: DataFrame, right: DataFrame) -> DataFrame:
    """The same pairs by Spark's join: by bucket and time range, then the formula."""
    reach = D + LONGEST

    def side(df: DataFrame, letter: str) -> DataFrame:
        last = F.unix_micros("time_max")
        return (df.withColumn("micro", last).withColumn("length", last - F.unix_micros("time_min"))
                .select(*[F.col(c).alias(f"{letter}_{c}")
                          for c in ("id", "time_max", "micro", "length")])
                .withWatermark(f"{letter}_time_max", f"{DELAY} microseconds"))

    one = side(left, "l").withColumn("bucket", F.expr(f"l_micro div {WIDTH}"))
    two = side(right, "r").withColumn("r_bucket", F.explode(F.expr(
        f"sequence((r_micro - {reach}) div {WIDTH}, (r_micro + {reach}) div {WIDTH})")))
    near = F.expr(f"bucket = r_bucket AND r_time_max >= l_time_max - INTERVAL {reach} MICROSECONDS"
                  f" AND r_time_max <= l_time_max + INTERVAL {reach} MICROSECONDS")
    start = "(l_micro - l_length) - (r_micro - r_length)"
    return (one.join(two, near)
            .withColumns({"n": F.col("l_length"), "m": F.col("r_length"),
                          "c": F.expr(f"double({D} + {start})"),
                          "e": F.expr(f"double(-{D} + {start})")})
            .withColumn("probability", F.expr(PROBABILITY))
            .where(f"probability >= {CONFIDENCE} - 1e-12"))


def drained(df: DataFrame, checkpoint: Path) -> dict[str, float]:
    """A run over all files: seconds a micro-batch, pairs, and the state at the end of it."""
    query = (df.observe("made", F.count(F.lit(1)).alias("pairs"))
             .writeStream.format("noop").option("checkpointLocation", str(checkpoint))
             .trigger(availableNow=True).start())
    query.awaitTermination()
    progress = query.recentProgress
    steady = [p for p in progress if p["numInputRows"]][WARM_UP:]

    def state(figure: str) -> float:
        return statistics.median(sum(op[figure] for op in p["stateOperators"]) for p in steady)

    return {
        "seconds": statistics.median(p["durationMs"]["triggerExecution"] for p in steady) / 1000,
        "pairs": sum(p["observedMetrics"]["made"]["pairs"] for p in progress
                     if p["observedMetrics"].get("made")),
        "rows": state("numRowsTotal"), "memory": state("memoryUsedBytes"),
        "written": statistics.median(changed_bytes(checkpoint, p["batchId"]) for p in steady),
    }


def against_spark(spark: SparkSession, folder: Path) -> list[Result]:
    for seed, name in enumerate(SIDES):
        write_side(folder / name, BATCHES, ROWS, seed)

    def sides() -> list[DataFrame]:
        return [stream(spark, folder / name) for name in SIDES]

    # in turn, and twice: the first round compiles the JVM's code, the second is measured
    for lap in range(2):
        theirs = drained(native(*sides()), folder / f"native{lap}")
        mine = drained(ours(*sides()), folder / f"ours{lap}")
    assert mine["pairs"] == theirs["pairs"], f"{mine['pairs']} pairs, Spark {theirs['pairs']}"
    peer = "stream-stream join + formula"
    return [
        Result(f"correlate on Spark, 2 × {ROWS:,} rows a batch", mine["seconds"], peer,
               theirs["seconds"], limit=1, detail=f"{mine['pairs']:,} pairs, the same"),
        Result("correlate, state written a batch (MB)", mine["written"] / 1e6, peer,
               theirs["written"] / 1e6, limit=1, detail="bytes, not seconds"),
        Result("correlate, rows in the state store (thousands)", mine["rows"] / 1e3, peer,
               theirs["rows"] / 1e3, limit=1, detail="rows, not seconds; ours hold many events"),
        Result("correlate, memory of the state store (MB)", mine["memory"] / 1e6, peer,
               theirs["memory"] / 1e6, limit=1, detail="bytes, not seconds"),
    ]


def growth(spark: SparkSession, folder: Path, few: int = 100_000) -> Result:
    """Batch without keys: time a pair when there are ten times as many rows at the same rate."""
    seconds, pairs = [], []
    for rows in (few, 10 * few):
        for seed, name in enumerate(SIDES):
            write_side(folder / f"{name}{rows}", 2, rows // 2, seed)
        df = ours(*[spark.read.parquet(str(folder / f"{name}{rows}")) for name in SIDES])
        pairs.append(df.count())
        seconds.append(best_of(
            3 if rows == few else 2,
            lambda df=df: df.write.format("noop").mode("overwrite").save()))  # type: ignore[misc]
    return Result("correlate on Spark, rows × 10: time for a million pairs",
                  seconds[1] / pairs[1] * 1e6, f"{few:,} rows a side", seconds[0] / pairs[0] * 1e6,
                  limit=1.3, detail=f"{pairs[0]:,} → {pairs[1]:,} pairs")


def run() -> list[Result]:
    spark = local_session("slackwater-bench")
    folder = Path(tempfile.mkdtemp())
    try:
        return [growth(spark, folder / "growth"), *against_spark(spark, folder / "streams")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()
