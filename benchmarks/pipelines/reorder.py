"""Reorder on Spark against Spark's own watermarked window, on the same files."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.result import Result
from benchmarks.workloads import micro_batches
from slackwater.spark import local_session, reorder

ROWS, BATCHES, WARM_UP = 400_000, 10, 3


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    return (spark.readStream.schema(spark.read.parquet(str(folder)).schema)
            .option("maxFilesPerTrigger", 1).parquet(str(folder)))


def batches(df: DataFrame, checkpoint: Path) -> list[dict]:
    """Progress of each micro-batch with rows, after the warm-up."""
    query = (df.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
             .trigger(availableNow=True).start())
    query.awaitTermination()
    return [p for p in query.recentProgress if p["numInputRows"]][WARM_UP:]


def seconds(progress: list[dict]) -> float:
    return statistics.median(p["durationMs"]["triggerExecution"] for p in progress) / 1000


def changed_bytes(checkpoint: Path, batch: int) -> int:
    """Bytes of state that a micro-batch wrote: the changelog files of its version."""
    return sum(f.stat().st_size for f in checkpoint.glob(f"state/*/*/**/{batch + 1}*.changelog"))


def run() -> list[Result]:
    spark = local_session("slackwater-bench")
    folder = Path(tempfile.mkdtemp())
    try:
        few, many = folder / "16", folder / "100000"
        micro_batches(few, BATCHES, ROWS, keys=16)
        micro_batches(many, BATCHES, ROWS, keys=100_000)
        columns = {"time": "time", "arrival": "arrival", "by": "key"}

        def native(df: DataFrame) -> DataFrame:
            return (df.withWatermark("time", "2 seconds")
                    .groupBy(F.window("time", "1 second"), "key").agg(F.max("value")))

        reference = seconds(batches(native(stream(spark, few)), folder / "c0"))
        ours16 = batches(reorder(stream(spark, few), "Static(buffer=2s)", **columns), folder / "c1")
        again = seconds(batches(native(stream(spark, few)), folder / "c2"))
        reference = (reference + again) / 2
        ours100k = seconds(batches(reorder(stream(spark, many), "Static(buffer=2s)", **columns),
                                   folder / "c3"))
        # a buffer five times as long holds five times the rows; what is written should not follow
        batches(reorder(stream(spark, few), "Static(buffer=60s)", **columns), folder / "c4")
        small = statistics.median(changed_bytes(folder / "c1", b) for b in range(5, BATCHES))
        large = statistics.median(changed_bytes(folder / "c4", b) for b in range(5, BATCHES))
        return [
            Result("reorder on Spark, 400 k rows, 16 keys", seconds(ours16),
                   "groupBy(window, key).max", reference, limit=2),
            Result("reorder on Spark, 100 000 keys", ours100k, "16 keys", seconds(ours16), limit=3),
            Result("state written a batch, buffer 60 s (MB)", large / 1e6, "buffer 2 s (MB)",
                   small / 1e6, limit=1.5, detail="bytes, not seconds"),
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()
