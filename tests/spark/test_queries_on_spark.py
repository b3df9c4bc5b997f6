"""SELECT and EVENT queries give the same rows in-process, on Spark batch and on Spark streaming."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from slackwater import Roles
from slackwater.query import QueryError, make_query
from slackwater.spark import match, query, ready
from spark_feed import feed, write_files
from test_reorder_on_spark import drain, stream

SELECT = """SELECT key, COUNT(*) AS n, MAX(value) AS top, AVG(value) AS mean,
                   MEDIAN(value) AS middle
            FROM feed [RANGE 400 milliseconds, SLIDE 200 milliseconds]
            WHERE value > -2 GROUP BY key"""
PER_ROW = "SELECT row, SUM(value) AS total FROM feed [RANGE 100 milliseconds] GROUP BY key"
EVENT = """EVENT SEQ(A a, !(B b), C c) WHERE [key] AND c.value > a.value WITHIN 60 milliseconds
           RETURN a.row AS first, c.row AS last"""


def plain(value):
    """As both sides can be compared: Spark's rows as dicts, its naive times as UTC."""
    if hasattr(value, "asDict"):
        value = value.asDict(recursive=False)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    return value


def expected(kernel, table, *, finish):
    logic = kernel.start()
    outs = [logic.push(batch) for batch in table.combine_chunks().to_batches()]
    if finish:
        outs.append(logic.finish())
    results = [plain(r) for out in outs for r in out.ready.to_pylist()]
    aside = [r["row"] for out in outs for rows in (out.late, out.quarantined)
             for r in rows.to_pylist()]
    return sorted(results, key=str), sorted(aside)


def found(df):
    results = [plain(r) for r in ready(df).drop("_row").collect()]
    aside = [r["_row"]["row"] for r in df.where("_status <> 'ready'").collect()]
    return sorted(results, key=str), sorted(aside)


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    table = feed(2000, keys=4)
    kinds = [("A", "B", "C", "D", "D")[i % 5] for i in table["row"].to_pylist()]
    table = table.append_column("type", pa.array(kinds))
    folder = tmp_path_factory.mktemp("events")
    write_files(table, folder, files=3)
    return table, folder


@pytest.mark.parametrize(("name", "text", "options"), [
    ("windows", SELECT, {"slack": "150ms"}),
    ("per_row", PER_ROW, {"policy": "kslack(initial=100ms)"}),
    ("matches", EVENT, {"slack": "150ms"}),
])
def test_batch_and_streaming_equal_the_kernel(spark, tmp_path, events, name, text, options):
    table, folder = events
    roles = Roles("time", "arrival", type="type" if name == "matches" else None)
    kernel = make_query(text, table.schema, roles, **options)
    columns = {"arrival": "arrival"}

    batch = query(spark.read.parquet(str(folder)), text, **columns, **options)
    results, aside = expected(kernel, table, finish=True)
    assert results
    assert aside
    assert found(batch) == (results, aside)

    df = stream(spark, folder, maxFilesPerTrigger=1)
    out = drain(query(df, text, **columns, **options), name, spark, tmp_path)
    assert found(out) == expected(kernel, table, finish=False)


def test_a_session_finds_the_table_that_from_names(spark, events):
    _, folder = events
    spark.read.parquet(str(folder)).createOrReplaceTempView("feed")
    out = query(spark, "SELECT COUNT(*) AS n FROM feed [RANGE 1 hour, SLIDE 1 hour]",
                arrival="arrival", slack="10s")
    assert ready(out).agg({"n": "sum"}).collect()[0][0] > 1900


def test_mistakes_in_a_query_are_drawn_before_anything_runs(spark, events):
    _, folder = events
    df = spark.read.parquet(str(folder))
    with pytest.raises(QueryError, match="did you mean 'value'"):
        query(df, "SELECT MAX(valeu) FROM feed [RANGE 1 s]", arrival="arrival")
    with pytest.raises(QueryError, match="did you mean 'value'"):
        match(df, "EVENT SEQ(A a, B b) WHERE a.valeu = 1 WITHIN 1 s", arrival="arrival")
