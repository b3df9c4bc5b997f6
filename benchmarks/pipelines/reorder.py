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

        def native() -> DataFrame:
            return (stream(spark, few).withWatermark("time", "2 seconds")
                    .groupBy(F.window("time", "1 second"), "key").agg(F.max("value")))

        def ours(files: Path, buffer: str) -> DataFrame:
            return reorder(stream(spark, files), f"Static(buffer={buffer})", arrival="arrival",
                           by="key")

        # in turn, and twice: the first round compiles the JVM's code, the second is measured
        times: dict[str, float] = {}
        for lap in range(2):
            times["native"] = seconds(batches(native(), folder / f"native{lap}"))
            times["16"] = seconds(batches(ours(few, "2s"), folder / f"few{lap}"))
            times["100k"] = seconds(batches(ours(many, "2s"), folder / f"many{lap}"))
        # 600 000 rows held, and 2 000 000: what a micro-batch writes is the rows it brings
        for buffer in ("60s", "200s"):
            batches(ours(few, buffer), folder / buffer)
        written = {b: statistics.median(changed_bytes(folder / b, n) for n in range(5, BATCHES))
                   for b in ("60s", "200s")}
        return [
            Result("reorder on Spark, 400 k rows, 16 keys", times["16"],
                   "groupBy(window, key).max", times["native"], limit=1.5),
            Result("reorder on Spark, 100 000 keys", times["100k"], "16 keys", times["16"],
                   limit=3),
            Result("state written a batch, 2 M rows held (MB)", written["200s"] / 1e6,
                   "600 k held (MB)", written["60s"] / 1e6, limit=1.2, detail="bytes, not seconds"),
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()
