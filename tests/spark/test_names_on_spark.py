"""Columns with names of our own, and keys of different kinds, are refused when planned."""

from __future__ import annotations

import pytest

from slackwater.core.errors import ConfigError
from slackwater.spark import correlate, match, query, ready, reorder, synchronise

ROWS = "timestamp'2024-01-01' AS time, timestamp'2024-01-01' AS arrival, 'a' AS source, 'A' AS type"
RATE = {"rowsPerSecond": 1}


@pytest.mark.parametrize("name", ["_row", "_STATUS", "_left_row", "_Shard", "_position", "__clock"])
def test_reserved_names(spark, name):
    df = spark.sql(f"SELECT {ROWS}, 1 AS {name}")
    for run in (lambda: reorder(df, arrival="arrival"),
                lambda: synchronise(df, arrival="arrival"),
                lambda: query(df, "SELECT source FROM s", arrival="arrival"),
                lambda: match(df, "EVENT SEQ(A a, B b) WITHIN 1 s", arrival="arrival"),
                lambda: correlate(df, df, within="1s", time_min="time", time_max="time")):
        with pytest.raises(ConfigError, match=f"a column '{name}', a name that operators use"):
            run()


def test_a_result_of_a_query_too(spark):
    df = spark.sql(f"SELECT {ROWS}")
    with pytest.raises(ConfigError, match="a name that operators use themselves"):
        query(df, "SELECT source AS _status FROM s", arrival="arrival")


def test_a_column_that_would_be_written_over(spark):
    df = spark.readStream.format("rate").options(**RATE).load().selectExpr(
        "timestamp AS time", "value AS _Arrival")
    with pytest.raises(ConfigError, match="where operators write the time of arrival") as caught:
        reorder(df)
    assert "rename it, or say arrival='_Arrival'" in str(caught.value.hint)


def test_ready_leaves_the_results_alone(spark):
    df = query(spark.sql(f"SELECT {ROWS}"), "SELECT source FROM s", arrival="arrival")
    assert "_row" in df.columns
    assert ready(df).columns == ["source"]
    assert [r.asDict() for r in ready(df).collect()] == [{"source": "a"}]


def test_the_key_of_a_join_has_one_kind(spark):
    number, text = (spark.sql(f"SELECT {ROWS}, {one} AS id") for one in ("1", "'1'"))
    wide = spark.sql(f"SELECT {ROWS}, 1L AS id")
    options = {"within": "1s", "by": "id", "time_min": "time", "time_max": "time"}
    with pytest.raises(ConfigError, match="'id' of the left is int32 and 'id' of the right is "
                                          "string: they would never be equal"):
        correlate(number, text, **options)
    assert ready(correlate(number, wide, **options)).count() == 1
    with pytest.raises(ConfigError, match="no column 'ids'"):
        correlate(number, wide, **{**options, "by": "ids"})


def test_a_text_is_one_column(spark):
    df = spark.sql(f"SELECT {ROWS}, 'kitchen' AS room")
    assert reorder(df, arrival="arrival", by="room", scope="room").count() == 1
