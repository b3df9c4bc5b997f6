"""Reorder gives the same rows in-process, on Spark batch and on Spark streaming."""

from __future__ import annotations

import datetime
import time

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from slackwater import Reorder, Roles
from slackwater.core.errors import ConfigError, UnknownColumn
from slackwater.spark import late, quarantined, ready, reorder
from spark_feed import expected, fates, feed, write_files

ROLES = Roles("time", "arrival", key=("key",))
POLICY = "KSlack(initial=100ms)"


def utc(rows):
    """Collected timestamps are naive, in the session's zone, which is UTC."""
    return [{**r.asDict(), "_released": r["_released"].replace(tzinfo=datetime.UTC)} for r in rows]


def stream(spark, folder, **options):
    schema = spark.read.parquet(str(folder)).schema
    reader = spark.readStream.schema(schema)
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.parquet(str(folder))


def drain(df, name, spark, tmp_path):
    query = (df.writeStream.format("memory").queryName(name).trigger(availableNow=True)
             .option("checkpointLocation", str(tmp_path / f"{name}.checkpoint")).start())
    query.awaitTermination()
    return spark.table(name)


def test_batch_and_streaming_equal_the_kernel(spark, tmp_path):
    table = feed(3000)
    write_files(table, tmp_path / "in", files=4)
    kernel = Reorder(POLICY, ROLES)

    batch = reorder(spark.read.parquet(str(tmp_path / "in")), POLICY, arrival="arrival", by="key")
    assert fates(utc(batch.collect())) == expected(kernel, table, finish=True)

    df = stream(spark, tmp_path / "in", maxFilesPerTrigger=1)
    out = drain(df.transform(reorder, POLICY, arrival="arrival", by=["key"]), "streamed", spark,
                tmp_path)
    assert fates(utc(out.collect())) == expected(kernel, table, finish=False)
    kinds = {r["_status"]: r["count"] for r in out.groupBy("_status").count().collect()}
    assert ready(out).count() == kinds["ready"]
    assert ready(out).columns == df.columns
    assert late(out).count() == kinds["late"] > 0
    assert quarantined(out).count() == kinds["quarantined"] > 0


def test_spark_windows_follow_with_no_watermark_delay(spark, tmp_path):
    """What is ready is in order, so Spark's own window loses nothing with a delay of zero."""
    table = feed(3000, keys=1, poison=False)
    write_files(table, tmp_path / "in", files=3)
    df = reorder(stream(spark, tmp_path / "in", maxFilesPerTrigger=1), "Static(buffer=2s)",
                 arrival="arrival")
    counts = (ready(df).withWatermark("time", "0 seconds")
              .groupBy(F.window("time", "500 milliseconds")).count()
              .select("window.start", "count"))
    got = {r["start"].replace(tzinfo=datetime.UTC): r["count"]
           for r in drain(counts, "windows", spark, tmp_path).collect()}
    truth: dict = {}
    for stamp in table["time"].cast(pa.int64()).to_pylist():
        start = datetime.datetime.fromtimestamp(stamp // 500_000 / 2, datetime.UTC)
        truth[start] = truth.get(start, 0) + 1
    assert len(got) >= 6
    assert got == {start: truth[start] for start in got}


def test_a_quiet_stream_is_flushed(spark, tmp_path):
    table = feed(200, poison=False)
    write_files(table, tmp_path / "in", files=1)
    df = reorder(stream(spark, tmp_path / "in"), "Static(buffer=5s)", arrival="arrival", by="key",
                 quiet="1s")
    query = (df.writeStream.format("memory").queryName("quiet")
             .option("checkpointLocation", str(tmp_path / "ck")).start())
    try:
        until = time.monotonic() + 90
        while spark.table("quiet").count() < 200 and time.monotonic() < until:
            time.sleep(0.5)
        assert sorted(r["row"] for r in spark.table("quiet").collect()) == list(range(200))
        assert {r["_status"] for r in spark.table("quiet").collect()} == {"ready"}
    finally:
        query.stop()


def test_rows_without_an_arrival_column_arrive_with_their_micro_batch(spark, tmp_path):
    now = int(time.time() * 1e6)
    table = feed(100, poison=False)
    stamps = pa.array([now - 1000 * (100 - i) for i in range(100)]).cast(pa.timestamp("us", "UTC"))
    table = table.set_column(1, "time", stamps).drop_columns(["arrival"])
    write_files(table, tmp_path / "in", files=2)
    df = reorder(stream(spark, tmp_path / "in", maxFilesPerTrigger=1), "Static(buffer=0ms)",
                 by="key")
    out = drain(df, "stamped", spark, tmp_path)
    assert "_arrival" in out.columns
    assert 0 < out.where("_status = 'ready'").count() <= 100


@pytest.mark.parametrize(("options", "error", "says"), [
    ({"time": "tiem", "arrival": "arrival"}, UnknownColumn, "did you mean 'time'"),
    ({"arrival": "arrival", "by": "kee"}, UnknownColumn, "did you mean 'key'"),
    ({}, ConfigError, "a batch DataFrame has no order of its own"),
    ({"arrival": "arrival", "scope": ["value"]}, ConfigError, "not a key column"),
    ({"arrival": "arrival", "policy": "Kalmann"}, ConfigError, "did you mean 'kalman'"),
])
def test_mistakes_are_told_before_anything_runs(spark, options, error, says):
    df = spark.createDataFrame([], "row long, time timestamp, arrival timestamp, key string, "
                                   "value double")
    policy = options.pop("policy", POLICY)
    with pytest.raises(error, match=says):
        reorder(df, policy, **options)


def test_an_operator_is_not_stacked_on_unsplit_output(spark):
    df = spark.createDataFrame([], "time timestamp, arrival timestamp, _status string")
    with pytest.raises(ConfigError, match=r"ready\(\.\.\.\)"):
        reorder(df, POLICY, arrival="arrival")


def uneven_keys(rows: int) -> pa.Table:
    """Two keys of one clock: one comes at once, the other six seconds late."""
    table = feed(rows, keys=2, poison=False).drop_columns(["arrival"])
    stamps = table["time"].cast(pa.int64()).to_pylist()
    slow = [k == "k1" for k in table["key"].to_pylist()]
    arrival = [t + (6_000_000 if s else 1_000) for t, s in zip(stamps, slow, strict=True)]
    table = table.append_column("arrival", pa.array(arrival).cast(pa.timestamp("us", "UTC")))
    return table.sort_by("arrival")


def test_aligned_keys_lose_nothing_to_sparks_one_watermark(spark, tmp_path):
    """Without align, Spark's window silently drops ready rows of the slow key; with it, none."""
    write_files(uneven_keys(4000), tmp_path / "in", files=5)
    dropped, late_rows = {}, {}
    for align in (False, True):
        df = reorder(stream(spark, tmp_path / "in", maxFilesPerTrigger=1),
                     "KSlack(initial=50ms, scale=0)", arrival="arrival", by="key", align=align)
        fates = df.observe("fates", F.count(F.when(F.col("_status") == "late", 1)).alias("late"))
        counts = (ready(fates).withWatermark("time", "0 seconds")
                  .groupBy(F.window("time", "10 milliseconds"), "key").count())
        query = (counts.writeStream.format("noop").trigger(availableNow=True)
                 .option("checkpointLocation", str(tmp_path / f"ck{align}")).start())
        query.awaitTermination()
        dropped[align] = sum(operator["numRowsDroppedByWatermark"] for p in query.recentProgress
                             for operator in p["stateOperators"])
        late_rows[align] = sum(p["observedMetrics"]["fates"]["late"] for p in query.recentProgress
                               if "fates" in p["observedMetrics"])
    assert dropped[False] > 0
    assert dropped[True] == 0
    assert 0 < late_rows[True] < 4000, "the slow key's first rows come behind, and are told"
