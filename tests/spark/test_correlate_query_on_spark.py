"""A query over two streams gives on Spark the rows that it gives in-process."""

from __future__ import annotations

import pytest

from slackwater.core.errors import ConfigError
from slackwater.query import QueryError, run_correlate_query
from slackwater.spark import query, ready
from spark_feed import write_files
from test_correlate_on_spark import side
from test_reorder_on_spark import drain, stream

TEXT = """SELECT a.row, b.row AS other, a.room, PROBABILITY AS p FROM Doors a, Lamps b
          WHERE |@a − @b| <= 300 ms CONFIDENCE 70% AND a.room = b.room
            AND a.row < 600 AND a.row + b.row > 100"""
OPTIONS = {"arrival": "arrival", "longest": "200ms", "max_delay": "4s"}


@pytest.fixture(scope="module")
def views(spark, tmp_path_factory):
    tables = {"Doors": side(900, 1), "Lamps": side(800, 2)}
    folder = tmp_path_factory.mktemp("views")
    for name, table in tables.items():
        write_files(table, folder / name, files=2)
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
        stream(spark, folder / name, maxFilesPerTrigger=1).createOrReplaceTempView(f"{name}Live")
    return tables


def rows(df):
    return sorted(tuple(r) for r in ready(df).select("row", "other", "room", "p").collect())


def test_batch_and_streaming_give_the_rows_of_the_process(spark, tmp_path, views):
    truth = sorted(tuple(r.values()) for r in run_correlate_query(TEXT, views).to_pylist())
    assert len(truth) > 100
    assert rows(query(spark, TEXT, **OPTIONS)) == truth
    live = TEXT.replace("Doors", "DoorsLive").replace("Lamps", "LampsLive")
    out = drain(query(spark, live, **OPTIONS), "query_pairs", spark, tmp_path)
    assert rows(out) == truth


def test_late_rows_come_whole_beside_the_results(spark, views):
    out = query(spark, TEXT, **{**OPTIONS, "longest": "100ms"})
    aside = out.where("_status = 'quarantined'").collect()
    long = [r for r in aside if r["_left_row"] is not None]
    assert long
    assert all(r["_left_row"]["row"] < 600 for r in long)  # the others took no part
    assert all(r["row"] is None for r in aside)


def test_mistakes_are_told_before_anything_runs(spark, views):
    with pytest.raises(QueryError, match="add WITHIN 1 hour"):
        query(spark, "SELECT a.row FROM Doors a, Lamps b WHERE @a <= @b", **OPTIONS)
    with pytest.raises(ConfigError, match="views named Doors and Lamps"):
        query(spark.table("Doors"), TEXT, **OPTIONS)
    with pytest.raises(ConfigError, match="did you mean 'longest'"):
        query(spark, TEXT, longst="1s")
    with pytest.raises(ConfigError, match="no option of this query"):
        query(spark, "SELECT row FROM Doors", longest="1s")
