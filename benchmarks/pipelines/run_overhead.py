"""A pipeline file against the same operators written by hand: files → reorder → window → Parquet.

Both read the same files in the same micro-batches in the same session, from start to end, three
times in turn; the first lap compiles, and the better of the others counts.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.result import Result
from benchmarks.workloads import micro_batches
from slackwater.pipeline import load
from slackwater.spark import local_session, query, ready, reorder
from slackwater.spark.run import run_pipeline

ROWS, BATCHES, LAPS = 200_000, 5, 3
POLICY = "tide(loss=0.1%)"
SELECT = ("SELECT key, MAX(value) AS peak, COUNT(*) AS n FROM clean "
          "[RANGE 2 seconds, SLIDE 1 second] GROUP BY key")


def by_hand(spark: SparkSession, files: Path, out: Path) -> None:
    df = (spark.readStream.schema(spark.read.parquet(str(files)).schema)
          .option("maxFilesPerTrigger", 1).parquet(str(files)))
    ordered = reorder(df, POLICY, arrival="arrival", source="key")
    clean = (ordered.where(F.col("_status") == "ready").drop("_status", "_reason", "arrival")
             .withColumnRenamed("_released", "released"))
    peaks = ready(query(clean, SELECT, arrival="released", slack="0s")).drop("_row")
    (peaks.writeStream.format("parquet").option("path", str(out / "peaks"))
     .option("checkpointLocation", str(out / "checkpoint"))
     .trigger(availableNow=True).start().awaitTermination())


MORE = """  clean: {from: clean, kind: parquet, path: clean}
  late: {from: clean.late, kind: json, path: late}
"""


def pipeline_file(files: Path, out: Path, more: str = "") -> Path:
    out.mkdir(parents=True)
    file = out / "pipeline.yaml"
    file.write_text(f"""
name: overhead
metrics: {{log: run.jsonl}}
sources:
  raw: {{kind: files, path: {files}, format: parquet, max_files_per_batch: 1}}
steps:
  clean: {{reorder: raw, policy: {POLICY}, arrival: arrival, source: key}}
  peaks: {{query: "{SELECT}"}}
sinks:
  peaks: {{from: peaks, kind: parquet, path: peaks}}
{more}""")
    return file


def run() -> list[Result]:
    spark = local_session("slackwater-bench")
    folder = Path(tempfile.mkdtemp())
    try:
        micro_batches(folder / "in", BATCHES, ROWS, keys=16)
        hand: list[float] = []
        ours: list[float] = []
        three: list[float] = []

        def one(lap: int) -> None:
            begin = time.perf_counter()
            by_hand(spark, folder / "in", folder / f"hand{lap}")
            hand.append(time.perf_counter() - begin)

        def other(lap: int) -> None:
            pipeline = load(pipeline_file(folder / "in", folder / f"run{lap}"))
            begin = time.perf_counter()
            run_pipeline(pipeline, spark, until_done=True, keep_held=True)
            ours.append(time.perf_counter() - begin)

        def more(lap: int) -> None:
            pipeline = load(pipeline_file(folder / "in", folder / f"more{lap}", MORE))
            begin = time.perf_counter()
            run_pipeline(pipeline, spark, until_done=True, keep_held=True)
            three.append(time.perf_counter() - begin)

        for lap in range(LAPS):
            for turn in (one, other, more) if lap % 2 else (more, other, one):
                turn(lap)
        rows = [spark.read.parquet(str(folder / f"{who}{lap}" / "peaks")).count()
                for who in ("hand", "run") for lap in range(LAPS)]
        assert len(set(rows)) == 1, f"the same rows must come out of both: {rows}"
        return [Result(f"slackwater run, {ROWS * BATCHES / 1e6:g} M rows, reorder and window",
                       min(ours[1:]), "the operators by hand", min(hand[1:]), limit=1.1,
                       detail=f"{rows[0]} results; laps {_told(hand)} by hand, {_told(ours)}"),
                Result("the same with three sinks", min(three[1:]), "with one sink", min(ours[1:]),
                       limit=1.3, detail=f"laps {_told(three)}")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()


def _told(seconds: list[float]) -> str:
    return "/".join(f"{s:.1f}" for s in seconds)


if __name__ == "__main__":
    for result in run():
        print(f"{result.name}: ratio {result.ratio:.2f} ({result.detail})")
