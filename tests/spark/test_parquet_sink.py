"""The Parquet sink: what tasks write from Arrow is what Spark reads, once for each batch."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException

from slackwater.core.errors import DataError
from slackwater.pipeline.connectors import ParquetSink
from slackwater.pipeline.steps import StreamName
from slackwater.spark.run.batch_writer import Outlet
from slackwater.spark.run.streams import sink_columns
from slackwater.spark.runner.arrow_types import to_spark
from slackwater.spark.runner.carry import arrow_schema
from slackwater.spark.sinks import Rows, open_sink

KINDS = """
    SELECT id, IF(id % 3 = 0, NULL, concat('é', id)) AS text, id % 2 = 0 AS even,
           double(id) / 7 AS real, CAST(id AS decimal(22, 3)) AS exact, unhex('00ff') AS bytes,
           timestamp_micros(1714557600000001 + id) AS time,
           date_add(date'2024-05-01', int(id)) AS day,
           timestamp_ntz'2024-05-01 10:00:00.000001' AS clock, array(id, NULL) AS many,
           map('k', id) AS pairs, named_struct('a b', id, 'c', CAST(NULL AS int)) AS part,
           IF(id % 2 = 0, NULL, named_struct('one', 1)) AS perhaps
    FROM range({}, {}, 1, 3)"""
OTHERS = ("interval '1' day * id", "interval '1' month * id", "parse_json('[1]')", "array()",
          "map('k', named_struct('in', parse_json('1')))", "'a' COLLATE UNICODE_CI")


def sink_of(path):
    return open_sink(ParquetSink(str(path)), "p.s")


def content(spark, path, by="id"):
    rows = spark.read.parquet(str(path)).orderBy(by).collect()
    return [row.asDict(recursive=True) for row in rows]


def test_every_kind_of_column_comes_back_as_spark_would_have_it(spark, tmp_path):
    rows = spark.sql(KINDS.format(0, 10))
    sink_of(tmp_path / "ours").write(Rows.of(rows), 0)
    rows.write.parquet(str(tmp_path / "sparks" / "batch_id=0"))
    assert content(spark, tmp_path / "ours") == content(spark, tmp_path / "sparks")
    assert spark.read.parquet(str(tmp_path / "ours")).dtypes == spark.read.parquet(
        str(tmp_path / "sparks")).dtypes
    files = list((tmp_path / "ours" / "batch_id=0").iterdir())
    assert sorted(f.suffix for f in files) == ["", *[".parquet"] * 3], "a file for each task"
    made = pq.ParquetFile(next(f for f in files if f.suffix)).metadata
    assert "parquet-cpp-arrow" in made.created_by, "written from Arrow"
    assert made.row_group(0).column(0).compression == "SNAPPY"


@pytest.mark.parametrize("what", OTHERS)
def test_what_arrow_writes_otherwise_is_left_to_spark(spark, tmp_path, what):
    rows = spark.sql(f"SELECT id, {what} AS other FROM range(3)")
    sink_of(tmp_path).write(Rows.of(rows), 0)
    read = spark.read.parquet(str(tmp_path)).drop("batch_id")
    assert read.dtypes == rows.dtypes
    texts = [sorted(row.text for row in df.selectExpr("to_json(struct(*)) AS text").collect())
             for df in (read, rows)]
    assert texts[0] == texts[1]


def test_columns_that_a_step_hands_on_stay_what_they_are(spark):
    rows = spark.sql("SELECT parse_json('1') AS v, named_struct('one', 1) AS s")
    columns = to_spark(sink_columns(spark, arrow_schema(rows), None, "ready"))
    assert columns.simpleString() == rows.schema.simpleString()
    assert columns["s"].dataType["one"].nullable, "where the struct is null, to Arrow its field is"


def test_names_that_spark_could_not_read_are_refused_as_spark_does(spark, tmp_path):
    with pytest.raises(AnalysisException, match="COLUMN_ALREADY_EXISTS"):
        sink_of(tmp_path).write(Rows.of(spark.sql("SELECT 1 AS v, 2 AS V")), 0)


def test_a_batch_that_comes_again_replaces_what_an_attempt_left(spark, tmp_path):
    sink, folder = sink_of(tmp_path), tmp_path / "batch_id=7"
    (folder / "_temporary-of-another").mkdir(parents=True)
    pq.write_table(Rows.of(spark.sql(KINDS.format(90, 95))).frame.toArrow(),
                   folder / "part-00000-x.parquet")
    for _ in range(2):
        sink.write(Rows.of(spark.sql(KINDS.format(0, 4))), 7)
        assert [row["id"] for row in content(spark, tmp_path)] == [0, 1, 2, 3]
        assert not list(folder.glob("_temporary*"))
    sink.write(Rows.of(spark.sql(KINDS.format(4, 6))), 8)
    assert [(row["id"], row["batch_id"]) for row in content(spark, tmp_path)] == [
        (0, 7), (1, 7), (2, 7), (3, 7), (4, 8), (5, 8)]


def test_a_task_that_fails_leaves_nothing_that_is_read(spark, tmp_path):
    broken = spark.range(0, 10, 1, 3).selectExpr(
        "id", "IF(id = 9, raise_error('no such luck'), 1) AS v")
    outlet = Outlet("out", sink_of(tmp_path), StreamName("s"))
    with pytest.raises(DataError, match=r"the sink 'out' failed: .*no such luck"):
        outlet.write(Rows.of(broken), 0)
    assert not list(tmp_path.glob("batch_id=0/*.parquet"))
    assert not list(tmp_path.glob("batch_id=0/_SUCCESS"))


def test_the_codec_is_that_of_the_session(spark, tmp_path):
    before = spark.conf.get("spark.sql.parquet.compression.codec")
    spark.conf.set("spark.sql.parquet.compression.codec", "zstd")
    try:
        sink_of(tmp_path).write(Rows.of(spark.range(3).coalesce(1)), 0)
    finally:
        spark.conf.set("spark.sql.parquet.compression.codec", before)
    (file,) = tmp_path.glob("batch_id=0/*.parquet")
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == "ZSTD"
