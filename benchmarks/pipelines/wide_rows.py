"""Rows of 100 kB through reorder on Spark, against Spark's own shuffle of the same rows.

Two gigabytes in 20 micro-batches.  What such rows cost is copying, so the reference copies them,
too: a shuffle by key, which is the least that any operator with state by key must do.
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
from pyspark.sql import DataFrame

from benchmarks.pipelines.reorder import stream
from benchmarks.result import Result
from benchmarks.workloads import STAMP, START
from slackwater.spark import local_session, reorder

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


def seconds(df: DataFrame, checkpoint: Path) -> float:
    begin = time.perf_counter()
    (df.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
     .trigger(availableNow=True).start().awaitTermination())
    return time.perf_counter() - begin


def run() -> list[Result]:
    spark = local_session("slackwater-bench")
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
        return [Result("reorder, 20,000 rows of 100 kB", times["ours"], "Spark's shuffle by key",
                       times["shuffle"], limit=2, detail=f"{BATCHES} micro-batches, 2 GB")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()
