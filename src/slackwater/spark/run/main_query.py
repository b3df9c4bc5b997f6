"""The query in which a pipeline's steps run together, each once."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from slackwater.core.errors import ConfigError
from slackwater.pipeline.document import Pipeline, Query
from slackwater.pipeline.steps import Step, StreamName
from slackwater.spark.run.streams import outcome_rows
from slackwater.spark.run.tables import Tables, Watch, run_sql
from slackwater.spark.run.wiring import wire
from slackwater.spark.runner.arrow_types import to_spark
from slackwater.spark.runner.carry import arrow_schema, packed_for, run_groups, target_of
from slackwater.spark.runner.group import Group
from slackwater.spark.runner.observed import with_numbers
from slackwater.spark.runner.packing import Target, canonical_schema, shard_labels
from slackwater.spark.runner.position import POSITION
from slackwater.spark.sources.ticks import ticks

__all__ = ["STATS", "MainQuery", "plan_main"]

STATS = "slackwater"
"""Under this name the numbers about steps are observed."""


@dataclass(frozen=True)
class MainQuery:
    """What the main query reads, and the columns of the rows in its blobs."""

    df: DataFrame
    outputs: dict[str, pa.Schema]


def plan_main(session: SparkSession, pipeline: Pipeline, query: Query, *, shards: int,
              numbers: dict[str, int], lives: Mapping[str, int], watch: Watch,
              finish: bool) -> MainQuery:
    """Plan it.

    Parameters
    ----------
    session, pipeline, query
        Where, and what.
    shards
        How many shards a group has whose first step does not say.
    numbers
        The numbers of groups, which their shards' labels come from; those of new ones are added.
    lives
        How many times each step has started afresh, if it has.
    watch
        Observes the rows of a source.
    finish
        Whether to tell every step that nothing more comes.
    """
    tables = Tables(session, pipeline, query, watch)
    steps = [pipeline.steps[n] for n in query.nodes
             if n in pipeline.steps and pipeline.steps[n].kind != "sql"]
    wired = wire(steps, {n: arrow_schema(tables.fed(n).drop(POSITION)) for n in tables.of},
                 _wanted(pipeline, query, steps), shards, numbers, lives)
    passing = [Group((), shard_labels(1, numbers.setdefault(
        f"={node}", max(numbers.values(), default=-1) + 1)), node)
        for node in _passing(pipeline, query, tables)]
    groups = (*wired.groups, *passing)
    outputs = {**wired.outputs,
               **{node: canonical_schema(arrow_schema(df)) for node, df in tables.of.items()}}
    _check_sql(session, pipeline, query, wired.outputs, tables)
    targets: dict[str, list[Target]] = {}
    for group in wired.groups:
        for part in group.parts:
            for at, port in enumerate(part.ports):
                if port.above is None:
                    node = pipeline.steps[part.name].inputs[at].node
                    targets.setdefault(node, []).append(target_of(group, part, at))
    for group in passing:
        targets.setdefault(str(group.passes), []).append(
            Target("", 0, group.labels))
    packed = reduce(DataFrame.unionAll, (packed_for(tables.fed(node), *found)
                                         for node, found in targets.items()))
    quiet = min((g.quiet for g in wired.groups if g.quiet is not None), default=None)
    labels = [label for group in wired.groups for label in group.labels]
    if labels:
        packed = packed.unionAll(ticks(session, labels, quiet, finish=finish))
    return MainQuery(with_numbers(run_groups(packed, groups, pipeline.name), STATS), outputs)


def _wanted(pipeline: Pipeline, query: Query, steps: list[Step]) -> dict[str, frozenset[str]]:
    """The outcomes of each step that sinks take, or SQL that makes rows for sinks."""
    streams = [sink.stream for sink in query.sinks]
    for node in query.nodes:
        step = pipeline.steps.get(node)
        if step is not None and step.kind == "sql":
            streams += step.inputs
    return {step.name: frozenset(s.outcome for s in streams if s.node == step.name)
            for step in steps}


def _passing(pipeline: Pipeline, query: Query, tables: Tables) -> list[str]:
    """Nodes that no step of ours has made, whose rows go to a sink as they are."""
    return [node for node in tables.of if any(s.stream.node == node for s in query.sinks)]


def _check_sql(session: SparkSession, pipeline: Pipeline, query: Query,
               outputs: Mapping[str, pa.Schema], tables: Tables) -> None:
    """SQL over what steps have made runs batch by batch: ask Spark now what it thinks of it."""
    empty: dict[str, DataFrame] = {}

    def rows(stream: StreamName) -> DataFrame:
        if stream.node in outputs:
            df = session.createDataFrame([], to_spark(outputs[stream.node]))
            return outcome_rows(df, pipeline.steps[stream.node], stream.outcome)
        if stream.node in tables.of:
            return session.createDataFrame([], tables.of[stream.node].schema)
        return empty[stream.node]

    for node in query.nodes:
        step = pipeline.steps.get(node)
        if step is None or step.kind != "sql" or node in tables.of:
            continue
        empty[node] = run_sql(session, step, {str(s): rows(s) for s in step.inputs})
        with redirect_stdout(io.StringIO()) as planned:
            empty[node].explain(extended=True)
        analysed = planned.getvalue().partition("== Analyzed Logical Plan ==")[2].partition(
            "== Optimized")[0]
        if any(word in analysed for word in ("Aggregate", "Join ", "Deduplicate", "Window ")):
            raise ConfigError("this SQL looks at several rows together, which its text does not "
                              "show", step=f"steps.{node}.sql", got=step.text,
                              hint="say it with GROUP BY, DISTINCT, JOIN or OVER")
