"""MATCH_RECOGNIZE gives the same rows in-process, on Spark batch, on a stream and in a pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import many
from slackwater import Roles
from slackwater.pipeline import load
from slackwater.query import QueryError, make_query
from slackwater.spark import query, ready
from slackwater.spark.run import run_pipeline
from slackwater.spark.runner.carry import carry
from slackwater.spark.runner.operator_spec import Input, OperatorSpec
from spark_feed import feed, write_files, write_parts
from test_queries_on_spark import expected, found
from test_reorder_on_spark import drain, stream
from tests import transcripts
from tests.query.recognise.cases import CASES, check, kernel_of

cloudpickle.register_pickle_by_value(many)  # the workers do not have the tests
RISES = """SELECT * FROM feed MATCH_RECOGNIZE (
    PARTITION BY key ORDER BY time, row
    MEASURES FIRST(row) AS begun, LAST(UP.row) AS ended, COUNT(*) AS n, MAX(UP.value) AS top
    PATTERN (STRT UP+) WITHIN INTERVAL '1' SECOND DEFINE UP AS UP.value > PREV(UP.value))"""
SO_FAR = """SELECT key, row, c, mean FROM feed MATCH_RECOGNIZE (
    PARTITION BY key ORDER BY time, row MEASURES CLASSIFIER() AS c, AVG(value) AS mean
    ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A B{2,4}) WITHIN 200 milliseconds DEFINE B AS B.value > AVG(A.value))"""
SCHEMA = pa.schema([("query", pa.int32()), ("case", pa.string()), *transcripts.SCHEMA])


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    table = feed(2000, keys=4)
    folder = tmp_path_factory.mktemp("rows")
    write_files(table, folder, files=3)
    return table, folder


@pytest.mark.parametrize(("name", "text", "options"), [
    ("rises", RISES, {"slack": "150ms"}), ("so_far", SO_FAR, {"policy": "kslack(initial=100ms)"})])
def test_batch_and_streaming_equal_the_kernel(spark, tmp_path, events, name, text, options):
    table, folder = events
    kernel = make_query(text, table.schema, Roles("time", "arrival"), **options)
    results, aside = expected(kernel, table, finish=True)
    assert results
    assert aside
    batch = query(spark.read.parquet(str(folder)), text, arrival="arrival", **options)
    assert found(batch) == (results, aside)
    df = stream(spark, folder, maxFilesPerTrigger=1)
    out = drain(query(df, text, arrival="arrival", **options), name, spark, tmp_path)
    assert found(out) == expected(kernel, table, finish=False)


def test_a_session_finds_the_table_and_mistakes_are_drawn(spark, events):
    _, folder = events
    spark.read.parquet(str(folder)).createOrReplaceTempView("feed")
    assert ready(query(spark, RISES, arrival="arrival", slack="10s")).count() > 100
    with pytest.raises(QueryError, match="did you mean 'value'"):
        query(spark, RISES.replace("PREV(UP.value)", "PREV(UP.valeu)"), arrival="arrival")


def parts() -> list[pa.Table]:
    """All cases' rows, in two micro-batches."""
    rows: list[list[dict[str, Any]]] = [[], []]
    for number, case in enumerate(CASES):
        mine = list(transcripts.rows_of(case.values[0]).values())
        for at, row in enumerate(mine):
            rows[2 * at >= len(mine)].append({**row, "query": number, "case": str(number)})
    return [pa.Table.from_batches([transcripts.batch(part, SCHEMA)]) for part in rows]


def every(slack: str) -> OperatorSpec:
    """All cases' kernels in one operator."""
    kernels = tuple(kernel_of(case.values[0], SCHEMA, slack) for case in CASES)
    return OperatorSpec(many.Many(kernels, matches=False), (Input("arrival", "s", ("case",)),),
                        None, "transcripts")


def results_of(df: Any) -> list[list[dict[str, Any]]]:
    outcomes: list[list[dict[str, Any]]] = [[] for _ in CASES]
    for row in df.collect():
        assert row["_status"] == "ready"
        outcomes[row["number"]].append(json.loads(row["result"]))
    return outcomes


def test_transcripts_in_batch(spark, tmp_path):
    write_parts([pa.concat_tables(parts())], tmp_path / "in")
    found = results_of(carry(spark.read.parquet(str(tmp_path / "in")), every("100s")))
    for case, results in zip(CASES, found, strict=True):
        check(case.values[0], results)


def test_transcripts_on_a_stream(spark, tmp_path):
    write_parts(parts(), tmp_path / "in")
    df = stream(spark, tmp_path / "in", maxFilesPerTrigger=1)
    found = results_of(drain(carry(df, every("0s"), shards=2), "recognise", spark, tmp_path))
    for case, results in zip(CASES, found, strict=True):
        steps = transcripts.whole(case.values[0])
        outcome = transcripts.replay(kernel_of(case.values[0], slack="0s"), steps)
        check({**case.values[0], "results": outcome.ready[:outcome.before_end]}, results)


PIPELINE = """
name: rises
sources:
  raw: {kind: files, path: in, format: parquet, max_files_per_batch: 1}
steps:
  clean: {reorder: raw, policy: kslack(initial=100ms), arrival: arrival, by: key}
  rises: {query: "QUERY", slack: 150ms, arrival: arrival}
  after: {query: "AFTER"}
sinks:
  rises: {from: rises, kind: json, path: out/rises}
  after: {from: after, kind: json, path: out/after}
"""


def test_a_step_of_a_pipeline(spark, tmp_path):
    table = feed(2000, keys=4)
    write_files(table, tmp_path / "in", 3)
    text = PIPELINE.replace("QUERY", RISES.replace("FROM feed", "FROM raw")).replace(
        "AFTER", RISES.replace("FROM feed", "FROM clean"))
    (tmp_path / "pipeline.yaml").write_text(text)
    numbers = run_pipeline(load(tmp_path / "pipeline.yaml"), spark, until_done=True).summary()
    kernel = make_query(RISES, table.schema, Roles("time", "arrival"), slack="150ms")
    results, aside = expected(kernel, table, finish=True)
    rows = rows_of(tmp_path / "out" / "rises")
    assert sorted((r["key"], r["begun"], r["ended"], r["n"]) for r in rows) == sorted(
        (r["key"], r["begun"], r["ended"], r["n"]) for r in results)
    assert numbers["rises"]["late"] + numbers["rises"]["quarantined"] == len(aside)
    assert numbers["after"]["late"] == 0, "what came out in order is not late in the next step"
    assert rows_of(tmp_path / "out" / "after")


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for file in sorted(folder.glob("batch_id=*/part-*"))
            for line in file.read_text().splitlines()]
