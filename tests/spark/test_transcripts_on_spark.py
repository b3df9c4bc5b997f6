"""The pattern transcripts (tests/transcripts/pattern) on Spark batch and on Spark streaming.

A job a case would take minutes, so the cases share jobs: those with the same query are rows of one
DataFrame, told apart by a key column, and the results of many queries are one union.

Each `match` is an operator that Spark plans by itself, on a stream with a state store of its own in
every micro-batch.  So all queries run in one operator (`many`), and by `match` those whose way of
telling is written down.
"""

from __future__ import annotations

import json
import random
from functools import reduce
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import many
from slackwater.core.events import Roles
from slackwater.pattern import EMIT
from slackwater.query.event.query import event_query
from slackwater.spark import match
from slackwater.spark.runner.carry import carry
from slackwater.spark.runner.operator_spec import Input, OperatorSpec
from spark_feed import write_parts
from test_reorder_on_spark import drain, stream
from tests.pattern import harness
from tests.pattern.test_pattern_transcripts import START, chain_of, events_of, load

CASES = [param.values[0] for param in load()]
SCHEMA = pa.schema([("query", pa.int32()), ("case", pa.string()), *harness.SCHEMA])
cloudpickle.register_pickle_by_value(many)  # the workers do not have the tests
PARTS = 3  # a stream's micro-batches before the one that brings its end
DAY = 86_400


def query_of(case: dict[str, Any]) -> tuple[Any, ...]:
    return (case["query"], case.get("select"), case.get("slack", "1 hour"),
            "seq" if case.get("numbered") else None)


QUERIES = sorted({query_of(case) for case in CASES}, key=repr)
ALL = list(range(len(QUERIES)))


def told_queries() -> list[int]:
    """The queries whose way of telling is written down."""
    chosen = {query_of(case) for case in CASES if "told" in case}
    return [number for number, query in enumerate(QUERIES) if query in chosen]


def arrivals_of(case: dict[str, Any]) -> dict[str, list[list[dict[str, Any]]]]:
    """The orders in which a case's events come, each in parts."""
    events = events_of(case)
    if "told" in case:
        return {"told": [[events[label] for label in part] for part in case["arrivals"]]}
    ordered = sorted(events.values(), key=lambda e: e["time"])
    chance = random.Random(case["name"])
    shuffled = chance.sample(ordered, len(ordered))
    cuts = sorted(chance.randint(0, len(ordered)) for _ in range(PARTS - 1))
    bounds = list(zip([0, *cuts], [*cuts, len(ordered)], strict=True))
    return {name: [order[lo:hi] for lo, hi in bounds]
            for name, order in (("ordered", ordered), ("shuffled", shuffled))}


def parts(*, closed: bool) -> list[pa.Table]:
    """All cases' events, a table a micro-batch.

    A stream does not end, so that its last matches wait for an event that comes a day later
    (`closed`); where the case tells what is told before the end, none comes.
    """
    found: list[list[dict[str, Any]]] = [[] for _ in range(PARTS + 1)]
    for number, case in enumerate(CASES):
        for name, order in arrivals_of(case).items():
            if closed and name != "told":
                order = [*order, [{"type": "END", "time": START + DAY}]]
            # the kernel's clock without an arrival is the greatest time so far
            clock = iter(accumulate((e["time"] for part in order for e in part), max))
            for at, part in enumerate(order):
                found[at] += [{**event, "arrival": next(clock), "case": f"{number} {name}",
                               "query": QUERIES.index(query_of(case))} for event in part]
    return [pa.Table.from_batches([harness.batch(part, SCHEMA)]) for part in found if part]


def matches(df: DataFrame, emit: str, queries: list[int]) -> DataFrame:
    """Each query over its own rows; the results as JSON, since each has columns of its own."""

    def run(number: int) -> DataFrame:
        text, select, slack, sequence = QUERIES[number]
        out = match(df.where(F.col("query") == number), text, arrival="arrival", sequence=sequence,
                    by="case", slack=slack, emit=emit, select=select, unit="s", quiet=None)
        returned = out.columns[3:out.columns.index("_status")]
        return out.select(
            "_status", "match_id", "op",
            F.to_json("events", {"ignoreNullFields": "false"}).alias("events"),
            F.to_json(F.struct(*returned) if returned else F.struct(F.lit(1))).alias("returned"),
            F.to_json("_row").alias("row"))

    return reduce(DataFrame.unionAll, map(run, queries))


def by_case(df: DataFrame) -> dict[str, list[dict[str, Any]]]:
    """What each case was told, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in df.collect():
        told = {"status": row["_status"], "op": row["op"], "id": row["match_id"],
                "returned": json.loads(row["returned"] or "{}")}
        if row["_status"] == "ready":
            told["events"] = json.loads(row["events"])
            some = next(run for run in told["events"].values() if run)
            case = (some[0] if isinstance(some, list) else some)["case"]
        else:
            told["row"] = json.loads(row["row"])
            case = told["row"]["case"]
        found.setdefault(case, []).append(told)
    return found


def standing(told: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """The matches that were not taken back, and the partial ones that timed out."""
    found: dict[str, dict[str, Any]] = {"+": {}, "timed_out": {}}
    for row in told:
        assert row["status"] == "ready", row
        if row["op"] in found:
            assert row["id"] not in found[row["op"]], "told twice"
            found[row["op"]][row["id"]] = harness.chain(row["events"])
        else:
            assert found["+"].pop(row["id"]) == harness.chain(row["events"])
    matches, partial = (sorted(some.values(), key=repr) for some in found.values())
    return matches, partial


def lines(case: dict[str, Any], told: list[dict[str, Any]]) -> list[str]:
    """As a transcript writes them."""
    label = {harness.content(event): name for name, event in events_of(case).items()}
    return [f"late {label[harness.content(row['row'])]}" if row["status"] == "late" else
            f"{row['op']} " + " ".join(f"{v}={','.join(label[c] for c in run)}"
                                       for v, run in harness.chain(row["events"])) for row in told]


def check(found: dict[str, list[dict[str, Any]]], emit: str, queries: list[int], *,
          ends: bool) -> None:
    """The queries' cases against their transcripts; all that are wrong are told, not the first."""
    wrong = {}
    for number, case in enumerate(CASES):
        if QUERIES.index(query_of(case)) not in queries:
            continue
        for name in arrivals_of(case):
            told = found.pop(f"{number} {name}", [])
            got: Any
            want: Any
            if name == "told":
                want = case["told"][emit]
                end = want.index("end")
                want = want[:end] + (want[end + 1:] if ends else [])
                got = lines(case, told)
                if ends:  # one micro-batch tells its matches before its late rows
                    want, got = sorted(want), sorted(got)
            else:
                events = events_of(case)
                want = tuple(sorted((chain_of(m, events) for m in case.get(kind, [])), key=repr)
                             for kind in ("matches", "timed_out"))
                got = standing(told)
                if "returns" in case:
                    want, got = (want, case["returns"]), (got, [t["returned"] for t in told])
            if got != want:
                wrong[f"{case['name']}, {name}"] = {"want": want, "got": got}
    assert not wrong
    assert not found, "results of no case"


@pytest.fixture
def small(spark):
    """Plans of many small queries: one partition each, and no planning anew while they run."""
    settings = {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}
    kept = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in kept.items():
        spark.conf.set(name, value)


def every(emit: str) -> OperatorSpec:
    """All queries in one operator."""
    kernels = tuple(
        event_query(text, Roles("time", "arrival", sequence=sequence, type="type", key=("case",),
                                unit="s"), slack=slack, emit=emit, select=select)
        for text, select, slack, sequence in QUERIES)
    return OperatorSpec(many.Many(kernels), (Input("arrival", "s", ("case",)),), None, "match")


def test_batch(small, tmp_path):
    # one file: equal arrivals go by input position, and Spark reads several files in any order
    write_parts([pa.concat_tables(parts(closed=False))], tmp_path / "in")
    df = small.read.parquet(str(tmp_path / "in"))
    some = told_queries()
    numbers = df.where(F.col("query").isin(some))
    check(by_case(matches(numbers, "final", some)), "final", some, ends=True)
    for emit in EMIT:
        rows = carry(df, every(emit)).withColumn("row", F.to_json("_row"))
        check(by_case(rows), emit, ALL, ends=True)


@pytest.mark.parametrize("emit", EMIT)
def test_streaming(small, tmp_path, emit):
    write_parts(parts(closed=True), tmp_path / "in")
    df = stream(small, tmp_path / "in", maxFilesPerTrigger=1)
    some = told_queries()
    out = drain(matches(df, emit, some), f"transcripts_{emit}", small, tmp_path)
    check(by_case(out), emit, some, ends=False)
    rest = carry(df, every(emit), shards=2).withColumn("row", F.to_json("_row"))
    check(by_case(drain(rest, f"all_{emit}", small, tmp_path)), emit, ALL, ends=False)
