"""Spark drops what is not *after* its watermark; `with_watermark` keeps rows of equal times.

A time that lasts over several micro-batches is the greatest so far when its own next rows come.
For each of Spark's stateful operators: with "0 seconds" such rows are lost, with ours none.
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from parts.drain import drain
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from slackwater.core.errors import ConfigError
from slackwater.spark import ready, reorder, with_watermark
from spark_feed import START, write_parts
from test_reorder_on_spark import stream

SECOND = 1_000_000
ROWS, LASTS, FILES = 10, 4, 6
"""Rows of a file, files of the first time, and files; the last ones let Spark's windows close."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("equal")
    parts = []
    for n in range(FILES):
        rows = list(range(n * ROWS, (n + 1) * ROWS))
        time = START + max(n - LASTS + 1, 0) * 3600 * SECOND
        arrival = [START + n * 3600 * SECOND + i for i in range(ROWS)]
        parts.append(pa.table({"row": rows, "time": pa.array([time] * ROWS),
                               "arrival": pa.array(arrival)}))
    stamp = pa.timestamp("us", "UTC")
    write_parts([pa.table({"row": t["row"], "time": t["time"].cast(stamp),
                           "arrival": t["arrival"].cast(stamp)}) for t in parts], folder / "in")
    return folder / "in"


def drop_duplicates(df):
    return df.dropDuplicates(["row", "time"]).select("row")


def drop_duplicates_within_watermark(df):
    return df.dropDuplicatesWithinWatermark(["row"]).select("row")


def group_by_time(df):
    return df.groupBy("time").agg(F.collect_list("row").alias("rows")).select(
        F.explode("rows").alias("row"))


def join(df):
    other = df.select(F.col("row").alias("other"), F.col("time").alias("at"))
    return df.join(other, F.expr("row = other AND time = at")).select("row")


def apply_in_pandas_with_state(df):
    def each(key, frames, state):
        for frame in frames:
            yield pd.DataFrame({"row": frame["row"]})

    return df.groupBy("row").applyInPandasWithState(
        each, "row long", "n long", "append", "EventTimeTimeout")


def transform_with_state(df):
    class Each(StatefulProcessor):  # here, so that it travels whole
        def init(self, handle):
            pass

        def handleInputRows(self, key, rows, timerValues):  # noqa: N802
            for row in rows:
                yield Row(row=row.row, time=row.time)

        def close(self):
            pass

    return df.groupBy("row").transformWithState(
        Each(), "row long, time timestamp", "append", "eventTime").select("row")


OPERATORS = [drop_duplicates, drop_duplicates_within_watermark, group_by_time, join,
             apply_in_pandas_with_state, transform_with_state]


def kept(spark, folder, checkpoint, watermark, operator):
    """The rows of the first time that come through."""
    df = reorder(stream(spark, folder, maxFilesPerTrigger=1), "Static(buffer=0s)",
                 arrival="arrival", quiet=None)
    batches = drain(operator(watermark(df)), checkpoint)
    return sorted(r.row for batch in batches for r in batch if r.row < LASTS * ROWS)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.__name__)
def test_sparks_own_operators_keep_equal_times(spark, files, tmp_path, operator):
    assert kept(spark, files, tmp_path / "ours", with_watermark, operator) == list(
        range(LASTS * ROWS))
    bare = kept(spark, files, tmp_path / "bare",
                lambda df: ready(df).withWatermark("time", "0 seconds"), operator)
    assert len(bare) < LASTS * ROWS, "Spark has lost none: this test shows nothing"


def test_keys_in_order_each_by_itself_are_refused(spark, files):
    with pytest.raises(ConfigError, match="one watermark for all keys"):
        with_watermark(reorder(stream(spark, files), arrival="arrival", by="row"))
