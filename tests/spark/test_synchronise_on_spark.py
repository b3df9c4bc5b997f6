"""Synchronise gives the same rows in-process, on Spark batch and on Spark streaming."""

from __future__ import annotations

import pytest

from slackwater import Roles
from slackwater.core.errors import UnknownColumn
from slackwater.spark import synchronise
from slackwater.synchronise import FrontierSync
from spark_feed import expected, fates, feed, write_files
from test_reorder_on_spark import drain, stream, utc


def test_batch_and_streaming_equal_the_kernel(spark, tmp_path):
    table = feed(2000, keys=2)
    sources = [f"s{i % 7}" for i in range(table.num_rows)]
    table = table.append_column("source", [sources])
    write_files(table, tmp_path / "in", files=3)
    kernel = FrontierSync(Roles("time", "arrival", "source", key=("key",)), max_delay="500ms")
    options = {"arrival": "arrival", "by": "key", "max_delay": "500ms"}

    batch = synchronise(spark.read.parquet(str(tmp_path / "in")), **options)
    assert fates(utc(batch.collect())) == expected(kernel, table, finish=True)

    df = stream(spark, tmp_path / "in", maxFilesPerTrigger=1)
    out = drain(df.transform(synchronise, **options), "synchronised", spark, tmp_path)
    assert fates(utc(out.collect())) == expected(kernel, table, finish=False)


def test_a_missing_source_column_is_told(spark):
    df = spark.createDataFrame([], "time timestamp, arrival timestamp, sauce string")
    with pytest.raises(UnknownColumn, match="did you mean 'sauce'"):
        synchronise(df, arrival="arrival")
