"""The PostgreSQL sink against a real server: exactly once, upserts, retractions."""

from __future__ import annotations

import threading

import pytest

from slackwater.core.errors import DataError, UnknownColumn
from slackwater.pipeline.connectors import PostgresSink
from slackwater.spark.sinks import Rows, open_sink
from slackwater.spark.sinks.postgres_stage import StagingLost, stage, staging_of
from slackwater.spark.sinks.postgres_write import Target, move_batch, prepare_batch


def rows(server, query):
    import psycopg

    with psycopg.connect(server.url) as connection:
        return connection.execute(query).fetchall()


def change(server, statement):
    import psycopg

    with psycopg.connect(server.url) as connection:
        connection.execute(statement)


def test_rows_without_a_key_are_there_once(spark, postgres):
    sink = open_sink(PostgresSink(postgres.url, "plain"), "p.plain.c1")
    df = spark.sql("""
        SELECT * FROM VALUES
          (1L, 'a "quoted", text', timestamp'2024-05-01 10:00:00.000001', 1.5D, true, X'00ff',
           named_struct('x', array(1), 'y', map('k', 'v')), date'2024-05-01', 12.50BD),
          (2L, '', NULL, double('NaN'), NULL, NULL, NULL, NULL, NULL),
          (NULL, NULL, NULL, double('-Infinity'), false, X'', NULL, NULL, NULL)
        AS t(id, `a.b "c"`, time, value, flag, bytes, event, day, amount)""")
    sink.write(Rows.of(df), 0)
    sink.write(Rows.of(df), 0)
    found = rows(postgres, 'SELECT id, "a.b ""c""", time AT TIME ZONE \'UTC\', value::text, flag, '
                           "bytes, event::text, day::text, amount::text FROM plain ORDER BY id")
    assert found[0][:2] == (1, 'a "quoted", text')
    assert found[0][2].isoformat() == "2024-05-01T10:00:00.000001"
    assert found[0][3:] == ("1.5", True, b"\x00\xff", '{"x": [1], "y": {"k": "v"}}', "2024-05-01",
                            "12.50")
    assert found[1] == (2, "", None, "NaN", None, None, None, None, None)
    assert found[2] == (None, None, None, "-Infinity", False, b"", None, None, None)
    sink.write(Rows.of(df), 1)
    assert rows(postgres, "SELECT count(*) FROM plain") == [(6,)]
    with pytest.raises(DataError, match="holds batches up to 1"):
        sink.write(Rows.of(df), 0)
    kinds = dict(rows(postgres, "SELECT column_name, data_type FROM information_schema.columns "
                                "WHERE table_name = 'plain'"))
    assert kinds["time"] == "timestamp with time zone"
    assert (kinds["event"], kinds["bytes"], kinds["amount"]) == ("jsonb", "bytea", "numeric")


def test_a_text_that_postgresql_cannot_hold_does_not_end_the_query(spark, postgres):
    sink = open_sink(PostgresSink(postgres.url, "nul"), "p.nul.c1")
    text = "a\0b\\u0000"
    df = spark.createDataFrame([(text, {"k": text}, [text])], "t string, m map<string,string>, "
                                                             "a array<string>")
    sink.write(Rows.of(df), 0)
    assert rows(postgres, "SELECT t, m->>'k', a->>0 FROM nul") == [("a\ufffdb\\u0000",) * 3]


def test_a_key_makes_it_an_upsert_and_the_last_row_counts(spark, postgres):
    sink = open_sink(PostgresSink(postgres.url, "public.peaks", ("device", "start")), "p.peaks.c1")
    sink.write(Rows.of(spark.sql(
        "SELECT * FROM VALUES ('a', 1, 5.0D), ('a', 2, 6.0D), (NULL, 1, 1.0D) "
        "AS t(device, start, peak)").coalesce(1)), 0)
    again = spark.sql("SELECT * FROM VALUES ('a', 1, 7.0D), ('a', 1, 8.0D), (NULL, 1, 2.0D), "
                      "('b', 1, 9.0D) AS t(device, start, peak)").coalesce(1)
    for _ in range(2):
        sink.write(Rows.of(again), 1)
        assert rows(postgres, "SELECT * FROM peaks ORDER BY device, start") == [
            ("a", 1, 8.0), ("a", 2, 6.0), ("b", 1, 9.0), (None, 1, 2.0)]


def test_a_match_that_is_taken_back_is_deleted(spark, postgres):
    sink = open_sink(PostgresSink(postgres.url, "leaks", ("match_id",)), "p.leaks.c1")

    def told(*lines):
        values = ", ".join(f"('{i}', '{op}', {n})" for i, op, n in lines)
        return spark.sql(f"SELECT * FROM VALUES {values} AS t(match_id, op, n)").coalesce(1)

    sink.write(Rows.of(told(("m1", "+", 1), ("m2", "+", 2), ("m3", "+", 3), ("m3", "-", 3))), 0)
    assert rows(postgres, "SELECT match_id, n FROM leaks ORDER BY 1") == [("m1", 1), ("m2", 2)]
    for _ in range(2):
        sink.write(Rows.of(told(("m1", "-", 1), ("m2", "-", 2), ("m2", "+", 4), ("m9", "-", 0))), 1)
        assert rows(postgres, "SELECT match_id, n FROM leaks ORDER BY 1") == [("m2", 4)]


def test_a_table_that_does_not_fit_is_refused_with_the_reason(spark, postgres):
    change(postgres, "CREATE TABLE narrow (id bigint, name integer, amount numeric(5, 1))")
    df = spark.sql("SELECT 1 AS id, 'x' AS name")
    with pytest.raises(DataError, match="name integer for text"):
        open_sink(PostgresSink(postgres.url, "narrow"), "p.narrow").write(Rows.of(df), 0)
    df = spark.sql("SELECT 1 AS id, 2.5D AS amount, 'x' AS label")
    with pytest.raises(DataError, match="expected: label text"):
        open_sink(PostgresSink(postgres.url, "narrow"), "p.narrow").write(Rows.of(df), 0)
    with pytest.raises(DataError, match=r"ADD UNIQUE \(id\)"):
        open_sink(PostgresSink(postgres.url, "narrow", ("id",)), "p.n").write(
            Rows.of(df.drop("label")), 0)
    with pytest.raises(UnknownColumn, match="did you mean 'label'"):
        open_sink(PostgresSink(postgres.url, "narrow", ("lable",)), "p.n").write(Rows.of(df), 0)
    # nothing of all that is in the ledger: the same batch, put right, is written
    open_sink(PostgresSink(postgres.url, "narrow"), "p.narrow").write(Rows.of(df.drop("label")), 0)
    assert [(i, float(a)) for i, a in rows(postgres, "SELECT id, amount FROM narrow")] == [(1, 2.5)]


def test_a_server_that_restarts_is_waited_for(spark, postgres):
    sink = open_sink(PostgresSink(postgres.url, "lasting"), "p.lasting")
    df = spark.sql("SELECT 1 AS id")
    sink.write(Rows.of(df), 0)
    postgres.kill()
    back = threading.Timer(1, postgres.start)
    back.start()
    try:
        sink.write(Rows.of(df), 1)
    finally:
        back.join()
    assert rows(postgres, "SELECT count(*) FROM lasting") == [(2,)]


def test_the_password_is_in_no_message(spark, postgres, capfd):
    df = spark.sql("SELECT 1 AS id")
    right, wrong = "pass%2Fword%401", "se%40cret-9"
    urls = [postgres.url.replace(right, wrong),
            f"postgresq://slack:{wrong}@127.0.0.1/postgres",
            f"postgresql://slack:{wrong}@127.0.0.1:{postgres.port}/postgres?nonsense=1"]
    for url in urls:
        sink = open_sink(PostgresSink(url, "t"), "p.t")
        with pytest.raises(DataError, match="could not be written") as told:
            sink.write(Rows.of(df), 0)
        said = f"{told.value} {told.value.__cause__} {sink!r} {capfd.readouterr()}"
        assert told.value.__suppress_context__
        for secret in (wrong, "se@cret-9", "cret-9"):
            assert secret not in said


def test_executors_write_and_only_what_the_driver_takes_counts(spark, postgres):
    """An attempt that nobody waited for, and a crash of the server, before the driver moves."""
    import psycopg

    target = Target("p.parts.c1", "parts", (), {"id": "bigint", "label": "text"})
    df = spark.sql("SELECT id, string(id) AS label FROM range(0, 1000, 1, 4)")

    def staged():
        return stage(df, postgres.url, target.name, list(target.types))

    with psycopg.connect(postgres.url, autocommit=True) as connection:
        assert prepare_batch(connection, target, 0)
        lost, kept = staged(), staged()
        assert [one.rows for one in kept] == [250] * 4, "each task writes its own rows"
        assert {one.attempt for one in lost}.isdisjoint(one.attempt for one in kept)
        move_batch(connection, target, 0, kept)
        assert not prepare_batch(connection, target, 0)
        assert prepare_batch(connection, target, 1)
        kept = staged()
    assert rows(postgres, "SELECT count(*), sum(id) FROM parts") == [(1000, 499_500)]
    postgres.kill()
    postgres.start()
    with psycopg.connect(postgres.url, autocommit=True) as connection, \
            pytest.raises(StagingLost, match="0 of 1000"):
        move_batch(connection, target, 1, kept)
    open_sink(PostgresSink(postgres.url, "parts"), "p.parts.c1").write(Rows.of(df), 1)
    assert rows(postgres, "SELECT count(*), sum(id) FROM parts") == [(2000, 999_000)]
    name = staging_of(target.name).as_string(None)
    assert rows(postgres, f"SELECT to_regclass('{name}')") == [(None,)], "gone when done"


def test_columns_of_other_kinds_are_written_as_copy_would_write_them(spark, postgres):
    change(postgres, "CREATE TYPE mood AS ENUM ('calm', 'rough')")
    change(postgres, 'CREATE TABLE kinds (u uuid, m mood, c char(3), "p%c" numeric(4, 1), b text, '
                     "t timestamp(0) without time zone)")
    df = spark.sql("SELECT '6f1e9a52-0c5d-4b7e-9d0e-3a1b2c3d4e5f' AS u, 'rough' AS m, 'ab' AS c, "
                   "12.34D AS `p%c`, true AS b, timestamp_ntz'2024-05-01 10:00:00.6' AS t")
    open_sink(PostgresSink(postgres.url, "kinds"), "p.kinds").write(Rows.of(df), 0)
    found = rows(postgres, 'SELECT u::text, m::text, c, "p%c"::text, b, t::text FROM kinds')
    assert found == [("6f1e9a52-0c5d-4b7e-9d0e-3a1b2c3d4e5f", "rough", "ab ", "12.3", "true",
                      "2024-05-01 10:00:01")]
    with pytest.raises(DataError, match="too long"):
        open_sink(PostgresSink(postgres.url, "kinds"), "p.kinds").write(Rows.of(
            df.selectExpr("'long' AS c")), 1)
