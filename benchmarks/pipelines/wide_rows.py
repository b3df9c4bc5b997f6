"""Rows of 100 kB through reorder on Spark, against Spark's own shuffle of the same rows.

Two gigabytes in 20 micro-batches, then through a pipeline with its own bounds, then in a single
micro-batch and a single shard.  What such rows cost is copying, so the reference copies them, too:
a shuffle by key, which is the least that any operator with state by key must do.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

from benchmarks.memory import PeakMemory
from benchmarks.pipelines.reorder import stream
from benchmarks.result import Result
from benchmarks.workloads import STAMP, START
from slackwater.pipeline import load
from slackwater.spark import drain, local_session, reorder
from slackwater.spark.run import run_pipeline

BATCHES, ROWS, BYTES, KEYS = 20, 1000, 100_000, 16


def write(folder: Path) -> None:
    """One file a micro-batch, rows of random bytes up to a second out of order."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    for b in range(BATCHES):
        arrival = START + (b * ROWS + np.arange(ROWS)) * 10_000
        offsets = np.arange(ROWS + 1, dtype=np.int32) * BYTES
        payload = pa.Array.from_buffers(
            pa.binary(), ROWS, [None, pa.py_buffer(offsets), pa.py_buffer(rng.bytes(ROWS * BYTES))])
        table = pa.table({
            "key": rng.integers(0, KEYS, ROWS),
            "time": pa.array(arrival - rng.integers(0, 1_000_000, ROWS)).cast(STAMP),
            "arrival": pa.array(arrival).cast(STAMP), "payload": payload})
        file = folder / f"{b:04}.parquet"
        pq.write_table(table, file, compression="none", use_dictionary=False)
        os.utime(file, (1_700_000_000 + b,) * 2)


PIPELINE = """
name: wide
sources:
  raw: {{kind: files, path: "{files}", format: parquet}}
steps:
  clean: {{reorder: raw, policy: Static(buffer=1s), arrival: arrival, by: [key]}}
sinks:
  clean: {{from: clean, kind: parquet, path: clean}}
  late: {{from: clean.late, kind: parquet, path: late}}
"""


def seconds(df: DataFrame, checkpoint: Path, out: Path | None = None) -> float:
    begin = time.perf_counter()
    writer = df.writeStream.format("noop" if out is None else "parquet")
    if out is not None:
        writer = writer.option("path", str(out))
    (writer.option("checkpointLocation", str(checkpoint))
     .trigger(availableNow=True).start().awaitTermination())
    return time.perf_counter() - begin


def pipeline(spark: SparkSession, files: Path, folder: Path) -> float:
    folder.mkdir()
    file = folder / "wide.yaml"
    file.write_text(PIPELINE.format(files=files))
    begin = time.perf_counter()
    run_pipeline(load(file), spark, until_done=True)
    took = time.perf_counter() - begin
    count = sum(spark.read.parquet(str(part)).count()
                for name in ("clean", "late") for part in (folder / name).glob("batch_id=*"))
    assert count == BATCHES * ROWS, f"every row comes out once: {count}"
    return took


def at_once(spark: SparkSession, files: Path, folder: Path) -> float:
    """All rows in one micro-batch and in one shard; some leave with the drain that follows."""
    counts: list[int] = []
    whole = (spark.readStream.schema(spark.read.parquet(str(files)).schema)
             .parquet(str(files)))

    def make() -> DataStreamWriter:
        df = reorder(whole, "Static(buffer=1s)", arrival="arrival").select("_status", "payload")
        return df.writeStream.foreachBatch(
            lambda rows, _: counts.append(rows.select("_status").count())).option(
            "checkpointLocation", str(folder))

    begin = time.perf_counter()
    drain(make)
    took = time.perf_counter() - begin
    assert sum(counts) == BATCHES * ROWS, f"every row comes out once: {counts}"
    return took


def run() -> list[Result]:
    # Spark's own Parquet writer dies of such rows in the heap of an embedded session
    spark = local_session("slackwater-bench", extra={"spark.driver.memory": "3g"})
    folder = Path(tempfile.mkdtemp())
    try:
        files = folder / "files"
        write(files)
        times: dict[str, float] = {}
        for lap in range(2):  # the first compiles the JVM's code
            times["shuffle"] = seconds(stream(spark, files).repartition("key"),
                                       folder / f"shuffle{lap}")
            times["ours"] = seconds(
                reorder(stream(spark, files), "Static(buffer=1s)", arrival="arrival", by="key"),
                folder / f"ours{lap}")
            times["written"] = seconds(stream(spark, files).repartition("key"),
                                       folder / f"written{lap}", folder / f"out{lap}")
            times["pipeline"] = pipeline(spark, files, folder / f"pipeline{lap}")
            shutil.rmtree(folder / f"out{lap}")
            shutil.rmtree(folder / f"pipeline{lap}")
        memory = PeakMemory(os.getpid())
        memory.start()
        times["whole"] = at_once(spark, files, folder / "whole")
        memory.stop()
        told = ", ".join(f"{kind} {size / 2**30:.2f} GiB" for kind, size in memory.peaks.items())
        return [Result("reorder, 20,000 rows of 100 kB", times["ours"], "Spark's shuffle by key",
                       times["shuffle"], limit=2, detail=f"{BATCHES} micro-batches, 2 GB"),
                Result("a pipeline, 20,000 rows of 100 kB", times["pipeline"],
                       "Spark's shuffle by key to Parquet", times["written"], limit=2),
                Result("reorder, 20,000 rows of 100 kB at once, one shard", times["whole"],
                       "Spark's shuffle by key", times["shuffle"], detail=f"at most {told}")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()


if __name__ == "__main__":
    for result in run():
        print(f"{result.name}: {result.ours_s:.1f} s, ratio {result.ratio:.2f} ({result.detail})")
