"""Sessions on Spark are those of Spark's own `session_window`, and a stream's are a table's."""

from __future__ import annotations

import random

import pyarrow as pa
from pyspark.sql import functions as F

from slackwater.spark import query, ready
from spark_feed import write_parts
from test_reorder_on_spark import drain, stream

TEXT = ("SELECT device, window_start, window_end, COUNT(*) AS n, SUM(v) AS total "
        "FROM s [SESSION 10 seconds] GROUP BY device")


def feed() -> pa.Table:
    """Rows of three devices, in the order of an arrival up to 20 s late; gaps are often 10 s."""
    chance = random.Random(4)
    rows = []
    for device in "abc":
        at = 1_700_000_000
        for _ in range(60):
            at += chance.choice([0, 1, 5, 9, 10, 10, 11, 30])
            rows.append({"device": device, "time": at * 10**6, "v": chance.randrange(9),
                         "arrival": (at + chance.randrange(20)) * 10**6})
    stamp = pa.timestamp("us", "UTC")
    schema = pa.schema([("device", pa.string()), ("time", stamp), ("v", pa.int64()),
                        ("arrival", stamp)])
    return pa.Table.from_pylist(sorted(rows, key=lambda r: r["arrival"]), schema)


def shown(df) -> list[tuple]:
    return sorted(tuple(row) for row in df.select(
        "device", F.col("window_start").cast("long"), F.col("window_end").cast("long"), "n",
        "total").collect())


def spark_says(df) -> list[tuple]:
    found = df.groupBy("device", F.session_window("time", "10 seconds")).agg(
        F.count("*").alias("n"), F.sum("v").alias("total"))
    return shown(found.select("device", F.col("session_window.start").alias("window_start"),
                              F.col("session_window.end").alias("window_end"), "n", "total"))


def test_batch_and_stream_have_the_sessions_of_spark(spark, tmp_path):
    table = feed()
    write_parts([table], tmp_path / "whole")
    rows = spark.read.parquet(str(tmp_path / "whole"))
    wanted = spark_says(rows)
    assert any(end - start > 10 and n > 2 for _, start, end, n, _ in wanted)
    options = {"time": "time", "arrival": "arrival", "slack": "30 seconds"}
    assert shown(ready(query(rows, TEXT, **options))) == wanted

    last = pa.Table.from_pylist(  # a stream does not end: two rows a day later close what is open
        [{"device": d, "time": 1_700_100_000_000_000 + at, "v": 0,
          "arrival": 1_700_100_000_000_000 + at}
         for at in (0, 10**9) for d in "abc"], table.schema)
    parts = [table.slice(0, 70), table.slice(70, 60), table.slice(130), last]
    write_parts(parts, tmp_path / "parts")
    parted = stream(spark, tmp_path / "parts", maxFilesPerTrigger=1)
    found = ready(drain(query(parted, TEXT, **options), "sessions", spark, tmp_path))
    assert [row for row in shown(found) if row[1] < 1_700_050_000] == wanted
