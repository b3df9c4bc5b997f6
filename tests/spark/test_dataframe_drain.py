"""Queries of one's own: told that nothing more comes, and their numbers."""

from __future__ import annotations

import logging

import pytest
from parts.server import wait_until
from pyspark.sql import functions as F

from slackwater import Reorder, Roles
from slackwater.core.errors import ConfigError
from slackwater.spark import correlate, drain, query, ready, reorder, watch
from spark_feed import expected, fates, feed, write_files
from test_reorder_on_spark import stream, utc


@pytest.mark.parametrize("most", ["1", str(1 << 28)])
def test_a_drained_query_holds_nothing_and_gives_what_the_kernel_gives(spark, tmp_path, most):
    table = feed(1500)
    write_files(table, tmp_path / "in", files=3)
    rows = []

    def make():
        source = stream(spark, tmp_path / "in", maxFilesPerTrigger=1)
        df = reorder(source, "Static(buffer=1s)", arrival="arrival", by="key")
        return (df.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
                .option("checkpointLocation", str(tmp_path / "checkpoint")))

    spark.conf.set("spark.slackwater.maxResultBytes", most)
    try:
        drain(make)
    finally:
        spark.conf.unset("spark.slackwater.maxResultBytes")
    kernel = Reorder("Static(buffer=1s)", Roles("time", "arrival", key=("key",)))
    assert fates(utc(rows)) == expected(kernel, table, finish=True)
    done = len(rows)
    drain(make)
    assert len(rows) == done, "nothing is held, and nothing comes twice"


def test_open_windows_are_closed(spark, tmp_path):
    table = feed(400, poison=False)
    write_files(table, tmp_path / "in", files=2)
    counts = []

    def make():
        df = query(stream(spark, tmp_path / "in"), "SELECT COUNT(*) AS n FROM s [RANGE 1 hour, "
                   "SLIDE 1 hour]", arrival="arrival", slack="10 s")
        return (ready(df).writeStream.foreachBatch(
            lambda batch, _: counts.extend(r.n for r in batch.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint")))

    drain(make)
    assert sum(counts) == 400


def test_what_cannot_be_drained_says_so(spark, tmp_path):
    write_files(feed(50, poison=False), tmp_path / "in", files=1)
    out = str(tmp_path / "checkpoint")
    with pytest.raises(ConfigError, match="no operator that can be told"):
        drain(lambda: stream(spark, tmp_path / "in").writeStream.format("noop")
              .option("checkpointLocation", out))

    def both():
        left, right = (stream(spark, tmp_path / "in") for _ in range(2))
        return correlate(left, right, within="1s", by="key", time_min="time", time_max="time",
                         arrival="arrival").writeStream.format("noop").option(
            "checkpointLocation", f"{out}2")

    with pytest.raises(ConfigError, match="two streams cannot be told"):
        drain(both)


def test_numbers_of_operators_and_a_warning_when_too_many_are_late(spark, tmp_path, caplog):
    write_files(feed(2000, keys=1), tmp_path / "in", files=2)
    watched = watch(spark)
    try:
        with caplog.at_level(logging.WARNING, logger="slackwater.watch"):
            df = reorder(stream(spark, tmp_path / "in", maxFilesPerTrigger=1),
                         "Percentile(loss=1%, least=0s, most=1ms)", arrival="arrival")
            (df.writeStream.format("memory").queryName("fates").trigger(availableNow=True)
             .option("checkpointLocation", str(tmp_path / "checkpoint")).start()
             .awaitTermination())
            counted = {r["_status"]: r["n"] for r in spark.table("fates").groupBy("_status").agg(
                F.count("*").alias("n")).collect()}

            def there():
                one = watched.operators.get("fates", {}).get("reorder")
                return one is not None and one.ready + one.late + one.quarantined == sum(
                    counted.values())

            wait_until(there, 20, "the listener hears of it")
    finally:
        watched.stop()
    one = watched.operators["fates"]["reorder"]
    assert (one.ready, one.late, one.quarantined) == tuple(
        counted[status] for status in ("ready", "late", "quarantined"))
    assert one.bound == pytest.approx(0.01)
    assert one.late_share > 0.1
    assert one.lag is not None
    warned = [r.getMessage() for r in caplog.records if "policy promises 1 %" in r.getMessage()]
    assert len(warned) == 1, "once, when it goes above"
    assert "of the rows of reorder are late" in warned[0]
