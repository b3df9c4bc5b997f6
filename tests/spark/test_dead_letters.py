"""Rows that a sink refuses go to the dead letters, once, and the stream goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slackwater.core.errors import ConfigError, DataError
from slackwater.pipeline import PipelineError, load, parse
from slackwater.pipeline.connectors import JsonSink, KafkaSink, PostgresSink
from slackwater.pipeline.steps import StreamName
from slackwater.spark.run import run_pipeline
from slackwater.spark.run.batch_writer import Outlet
from slackwater.spark.run.dead_letters import REFUSED, dead_letters_of
from slackwater.spark.sinks import Rows, open_sink
from test_postgres_sink import change, rows

TEXT = """
name: letters
sources:
  raw: {{kind: files, path: in, format: json, max_files_per_batch: 1,
        columns: {{time: timestamp, n: long, kind: string}}}}
sinks:
  table: {{from: raw, kind: postgres, url: "{url}", table: letters}}
  all: {{from: raw, kind: json, path: out}}
"""


def letters(folder: Path) -> list[dict]:
    return [json.loads(line) for file in sorted(folder.rglob("part-*"))
            for line in file.read_text().splitlines()]


def outlet(folder: Path, config, run: str) -> Outlet:
    dead = dead_letters_of(JsonSink(str(folder)), run, "table", f"{run}.dead.c1")
    return Outlet("table", open_sink(config, f"{run}.table.c1"), StreamName("raw"), dead)


def test_a_pipeline_goes_on_past_rows_that_the_table_refuses(spark, postgres, tmp_path):
    change(postgres, "CREATE TABLE letters (time timestamptz, n smallint CHECK (n <> 13), "
                     "kind varchar(3), _arrival timestamptz, _raw text)")
    change(postgres, "ALTER TABLE letters ALTER n TYPE bigint")
    (tmp_path / "in").mkdir()
    for file in range(3):
        lines = [json.dumps({"time": "2024-05-01T10:00:00Z", "n": 10 * file + i,
                             "kind": "long" if (file, i) == (2, 5) else "ok"}) for i in range(10)]
        (tmp_path / "in" / f"{file}.json").write_text("\n".join(lines))
    file = tmp_path / "pipeline.yaml"
    file.write_text(TEXT.format(url=postgres.url))
    heard: list[str] = []
    numbers = run_pipeline(load(file), spark, until_done=True, warn=heard.append)
    assert rows(postgres, "SELECT n FROM letters ORDER BY n") == [
        (n,) for n in range(30) if n not in (13, 25)]
    assert len(letters(tmp_path / "out")) == 30, "other sinks have all rows"
    found = sorted(letters(tmp_path / ".slackwater" / "letters" / "dead_letters"),
                   key=lambda one: one["batch"])
    assert [json.loads(one["row"])["n"] for one in found] == [13, 25]
    assert {one["sink"] for one in found} == {"table"}
    assert "check constraint" in found[0]["reason"]
    assert "too long" in found[1]["reason"]
    assert numbers.dead_letters == {"table": 2}
    assert "sinks.table has refused" in heard[0]


def test_letters_of_two_runs_are_not_mixed(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "dead" / "all" / "batch_id=0").mkdir(parents=True)
    file = tmp_path / "pipeline.yaml"
    file.write_text(TEXT.format(url="postgresql://h/d").replace("  table:", "  # table:")
                    + "dead_letters: {kind: json, path: dead}\n")
    with pytest.raises(ConfigError, match="holds the output of another run") as told:
        run_pipeline(load(file), spark, until_done=True)
    assert "dead_letters.path" in str(told.value)


def test_a_batch_that_comes_again_leaves_one_letter(spark, postgres, tmp_path):
    change(postgres, "CREATE TABLE again (k int UNIQUE, v int CHECK (v < 100))")
    out = outlet(tmp_path / "dead", PostgresSink(postgres.url, "again", ("k",)), "again")
    df = spark.createDataFrame([(1, 1), (2, 500), (1, 3), (3, 700), (4, 4)], "k int, v int")
    for _ in range(2):
        out.write(Rows.of(df), 0)
    assert rows(postgres, "SELECT k, v FROM again ORDER BY k") == [(1, 3), (4, 4)]
    assert sorted(json.loads(one["row"])["k"] for one in letters(tmp_path / "dead")) == [2, 3]
    assert REFUSED["again"] == {"table": 2}, "the second time the table had the batch already"


def test_a_table_that_refuses_nearly_all_stops_the_stream(spark, postgres, tmp_path):
    change(postgres, "CREATE TABLE shut (v bigint CHECK (v < 0))")
    out = outlet(tmp_path / "dead", PostgresSink(postgres.url, "shut"), "shut")
    with pytest.raises(DataError, match="more than 1000 rows of one micro-batch are refused"):
        out.write(Rows.of(spark.range(1200).withColumnRenamed("id", "v")), 0)
    assert rows(postgres, "SELECT count(*) FROM shut") == [(0,)]
    assert letters(tmp_path / "dead") == []


def test_a_record_that_is_too_large_for_kafka(spark, kafka, tmp_path):
    kafka.create("large")
    out = outlet(tmp_path / "dead", KafkaSink(kafka.address, "large", "k"), "large")
    df = spark.createDataFrame([("a", "x"), ("b", "y" * 1_100_000), ("c", "z")],
                               "k string, v string")
    out.write(Rows.of(df), 0)
    got = (spark.read.format("kafka").option("kafka.bootstrap.servers", kafka.address)
           .option("subscribe", "large").load().selectExpr("string(key) AS key").collect())
    assert sorted(row.key for row in got) == ["a", "c"]
    (one,) = letters(tmp_path / "dead")
    assert json.loads(one["row"])["k"] == "b"
    assert "more than kafka.max.request.size 1048576" in one["reason"]


def test_the_place_of_dead_letters_is_checked(tmp_path):
    text = TEXT.format(url="postgresql://h/d")
    with pytest.raises(PipelineError, match="there is no sink of the kind 'jsn'"):
        parse(text + "dead_letters: {kind: jsn}\n")
    with pytest.raises(PipelineError, match="dead_letters: path is missing"):
        parse(text + "dead_letters: {kind: json}\n")
    (tmp_path / "in").mkdir()
    asked = parse(text + "dead_letters: {kind: json, path: dead}\n", tmp_path / "p.yaml")
    assert asked.dead_letters == JsonSink(str(tmp_path / "dead"))
