"""The Delta sink: a batch that comes again is there once."""

from __future__ import annotations

from datetime import date

import pyarrow.dataset as ds
import pytest

from slackwater.core.errors import DataError, SlackwaterError
from slackwater.pipeline.connectors import DeltaSink
from slackwater.spark.sinks import Rows, open_sink

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
        sink.write(Rows.of(df), batch)
        once = content(path)
    assert [row["id"] for row in once] == [0, 1, 2, 3, 4]
    assert once[4] == {"id": 4, "time": once[0]["time"], "many": [4],
                       "event": {"a": "4", "b": None}, "m": [("k", 1.5)]}
    assert once[0]["time"].isoformat() == "2024-05-01T10:00:00.000001+00:00"
    # another sink, or another checkpoint, has batches of its own
    open_sink(DeltaSink(path), "p.matches.c2").write(Rows.of(first), 0)
    assert [row["id"] for row in content(path)] == [0, 0, 1, 1, 2, 2, 3, 4]
    with pytest.raises(DataError, match="holds batches up to 4"):
        sink.write(Rows.of(first), 1)


def test_rows_of_another_shape_are_refused(spark, tmp_path):
    sink = open_sink(DeltaSink(str(tmp_path / "table")), "p.s")
    sink.write(Rows.of(spark.sql("SELECT 1 AS a, 'x' AS b")), 0)
    with pytest.raises(DataError, match="b: int32 for string"):
        sink.write(Rows.of(spark.sql("SELECT 1 AS a, 2 AS b")), 1)
    with pytest.raises(DataError, match="c: string for none"):
        sink.write(Rows.of(spark.sql("SELECT 1 AS a, 'x' AS b, 'y' AS c")), 1)


def test_a_struct_that_is_null_though_its_fields_never_are(spark, tmp_path):
    rows = spark.sql("SELECT id, IF(id = 1, NULL, named_struct('one', 1)) AS s FROM range(2)")
    open_sink(DeltaSink(str(tmp_path)), "p.s").write(Rows.of(rows), 0)
    assert [row["s"] for row in content(str(tmp_path))] == [{"one": 1}, None]


@pytest.mark.parametrize("what", ["interval '1' day", "array(parse_json('[1]'))",
                                  "array()", "interval '1' month"])
def test_a_type_that_delta_lacks_is_named(spark, tmp_path, what):
    rows = spark.sql(f"SELECT 1 AS id, {what} AS other")
    with pytest.raises(SlackwaterError, match=r"got: +other (interval|array<(variant|void)>)"):
        open_sink(DeltaSink(str(tmp_path / "table")), "p.s").write(Rows.of(rows), 0)


def test_a_table_that_is_partitioned_gets_its_rows_in_their_places(spark, tmp_path):
    path = str(tmp_path / "table")
    rows = spark.sql("SELECT id, date_add(date'2024-05-01', int(id % 3)) AS day, "
                     "IF(id % 5 = 0, NULL, id % 2 = 0) AS even, double(id) AS value FROM range(40)")
    deltalake.DeltaTable.create(path, deltalake.Schema.from_arrow(rows.limit(0).toArrow().schema),
                                partition_by=["day", "even"])
    open_sink(DeltaSink(path), "p.s").write(Rows.of(rows), 0)
    assert content(path) == [row.asDict() for row in rows.orderBy("id").collect()]
    table = deltalake.DeltaTable(path)
    assert {p["even"] for p in table.partitions()} == {"true", "false", None}
    few = table.to_pyarrow_dataset().to_table(filter=ds.field("day") == date(2024, 5, 2))
    assert sorted(few.column("id").to_pylist()) == list(range(1, 40, 3))


def test_a_reader_that_looks_for_one_value_finds_it(spark, tmp_path):
    """Nulls, NaN and long texts among the values: some readers go by what the log tells of them."""
    path = str(tmp_path / "table")
    sink = open_sink(DeltaSink(path), "p.s")
    for batch in range(3):
        sink.write(Rows.of(spark.sql(
            f"SELECT id, timestamp_micros(1714557600000999 + id * 1000) AS time, "
            f"IF(id % 4 = 0, double('NaN'), double(id)) AS value, "
            f"IF(id % 3 = 0, NULL, lpad(string(id), 40 * (id % 2) + 4, 'é')) AS text "
            f"FROM range({10 * batch}, {10 * batch + 10})")), batch)
    data = deltalake.DeltaTable(path).to_pyarrow_dataset()
    whole = data.to_table().to_pylist()
    for row in whole:
        for name in ("id", "time", "value", "text"):
            if row[name] is None or row[name] != row[name]:
                continue
            found = data.to_table(filter=ds.field(name) == row[name]).column("id").to_pylist()
            assert found == [row["id"]], name
    assert deltalake.DeltaTable(path).count() == 30


def test_executors_write_and_a_driver_that_is_thought_dead_adds_nothing(spark, tmp_path):
    """Two drivers write one batch at once: one commits it, the other is refused."""
    path = str(tmp_path / "table")
    df = spark.range(0, 100, 1, 4)
    first, second = (open_sink(DeltaSink(path), "p.s") for _ in range(2))
    first.write(Rows.of(df), 0)
    late = deltalake.DeltaTable(path)
    object.__setattr__(second, "_table", lambda: late)  # it looked before the other was done
    first.write(Rows.of(df), 1)
    with pytest.raises(DataError, match="could not be written"):
        second.write(Rows.of(df), 1)
    assert len(content(path)) == 200
    assert len(deltalake.DeltaTable(path).file_uris()) == 8, "a file for each task"


def test_a_table_with_constraints_is_refused(spark, tmp_path):
    path = str(tmp_path / "table")
    open_sink(DeltaSink(path), "p.s").write(Rows.of(spark.range(3)), 0)
    deltalake.DeltaTable(path).alter.add_constraint({"small": "id < 10"})
    with pytest.raises(DataError, match="small"):
        open_sink(DeltaSink(path), "p.s").write(Rows.of(spark.range(3)), 1)
