"""The Delta sink: a batch that comes again is there once."""

from __future__ import annotations

import pytest

from slackwater.core.errors import DataError
from slackwater.pipeline.connectors import DeltaSink
from slackwater.spark.sinks import open_sink

deltalake = pytest.importorskip("deltalake", reason="Delta's library (deltalake) is missing")

ROWS = ("SELECT id, timestamp'2024-05-01 10:00:00.000001' AS time, array(id) AS many, "
        "named_struct('a', string(id), 'b', CAST(NULL AS int)) AS event, map('k', 1.5D) AS m "
        "FROM range({}, {})")


def content(path):
    found = deltalake.DeltaTable(path).to_pyarrow_table() \
        if hasattr(deltalake.DeltaTable, "to_pyarrow_table") else None
    assert found is not None
    return sorted(found.to_pylist(), key=lambda row: row["id"])


def test_a_batch_written_again_is_there_once(spark, tmp_path):
    path = str(tmp_path / "table")
    sink = open_sink(DeltaSink(path), "p.matches.c1")
    first, second = spark.sql(ROWS.format(0, 3)), spark.sql(ROWS.format(3, 5))
    for df, batch in ((first, 0), (first, 0), (second, 4), (second, 4)):
        sink.write(df, batch)
        once = content(path)
    assert [row["id"] for row in once] == [0, 1, 2, 3, 4]
    assert once[4] == {"id": 4, "time": once[0]["time"], "many": [4],
                       "event": {"a": "4", "b": None}, "m": [("k", 1.5)]}
    assert once[0]["time"].isoformat() == "2024-05-01T10:00:00.000001+00:00"
    # another sink, or another checkpoint, has batches of its own
    open_sink(DeltaSink(path), "p.matches.c2").write(first, 0)
    assert [row["id"] for row in content(path)] == [0, 0, 1, 1, 2, 2, 3, 4]
    with pytest.raises(DataError, match="holds batches up to 4"):
        sink.write(first, 1)


def test_rows_of_another_shape_are_refused(spark, tmp_path):
    sink = open_sink(DeltaSink(str(tmp_path / "table")), "p.s")
    sink.write(spark.sql("SELECT 1 AS a, 'x' AS b"), 0)
    with pytest.raises(DataError, match="b: int32 for string"):
        sink.write(spark.sql("SELECT 1 AS a, 2 AS b"), 1)
    with pytest.raises(DataError, match="c: string for none"):
        sink.write(spark.sql("SELECT 1 AS a, 'x' AS b, 'y' AS c"), 1)
