"""A run's numbers out of Spark: aggregates observed on the way, and the queries' progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, StringType, TimestampType

from slackwater.pipeline.columns import RAW
from slackwater.pipeline.document import MAIN, Pipeline
from slackwater.pipeline.metrics import QUANTILES, Numbers
from slackwater.pipeline.steps import Step
from slackwater.spark.run.main_query import STATS
from slackwater.spark.runner.columns import quoted
from slackwater.spark.runner.observed import by_step, observed
from slackwater.spark.runner.owed import OWED
from slackwater.spark.runner.stats import merged_stats

__all__ = ["Observer"]

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_ACCURACY = 200       # of quantiles: within half a percent of the rank, at little cost
_MOST_SOURCES = 2000  # producers counted one by one


class Observer:
    """Watches the nodes of a pipeline, each in the first query that has it.

    Parameters
    ----------
    pipeline
        Whose nodes.
    numbers
        Where the counts go.
    """

    def __init__(self, pipeline: Pipeline, numbers: Numbers) -> None:
        self._pipeline, self._numbers = pipeline, numbers
        self._home: dict[str, str] = {}
        for query in pipeline.queries:
            for node in query.nodes:
                self._home.setdefault(node, query.name)
        self._taken: dict[tuple[str, str], int] = {}
        self.owed = 0
        """How many blobs of results waited in the state after the last micro-batch."""

    def watch(self, query: str) -> Callable[[str, DataFrame], DataFrame]:
        """For `Tables` and `Builder`: observe the nodes that are at home in a query."""

        def observed(node: str, df: DataFrame) -> DataFrame:
            if self._home.get(node) != query:
                return df
            step = self._pipeline.steps.get(node)
            wanted = _of_source(df) if step is None else _of_step(df, step)
            return df.observe(node, *[column.alias(name) for name, column in wanted.items()])

        return observed

    def take(self, query: str, report: Any) -> None:
        """Count a micro-batch, if it is new and has done something."""
        run, batch = (query, str(report["runId"])), int(report["batchId"])
        if "addBatch" not in report["durationMs"] or batch <= self._taken.get(run, -1):
            return
        self._taken[run] = batch
        states = report["stateOperators"]
        self._numbers.batch(
            query, batch, report["durationMs"]["triggerExecution"] / 1000,
            int(report.numInputRows), sum(int(s["numRowsTotal"]) for s in states),
            sum(int(s["memoryUsedBytes"]) for s in states))
        for node, row in observed(report):
            if node == STATS:
                self._add_steps(by_step(row))
            elif node in self._numbers.streams:
                self._add(node, row)

    def count(self, counted: Mapping[str, int]) -> None:
        """Note the rows that SQL has made so far."""
        for node, count in counted.items():
            with self._numbers.lock:
                self._numbers.streams[node].ready = self._numbers.streams[node].rows = count

    def show(self, recent: Mapping[str, list[Any]]) -> None:
        """Note a few rows that SQL has made."""
        for stream, rows in recent.items():
            self._numbers.results(stream, rows)

    def _add_steps(self, told: dict[str, list[dict[str, Any]]]) -> None:
        self.owed = sum(said["owed"] for said in told.get(OWED, ()))
        for node, stats in told.items():
            if self._home.get(node) == MAIN:
                self._add(node, merged_stats(stats, QUANTILES))
                self._numbers.results(node, [row for s in stats for row in s.get("results", ())])

    def _add(self, node: str, row: dict[str, Any]) -> None:
        with self._numbers.lock:
            self._numbers.streams[node].add(row)
        if row.get("producers"):
            rows, late = (_counts(row.get(name)) for name in ("producers", "late_producers"))
            self._numbers.seen(node, rows, late, time.time())


def _counts(top: Any) -> dict[str, int]:
    if isinstance(top, dict):
        return top
    # null is counted like a name; it is no producer's
    return {e["item"]: int(e["count"]) for e in top or () if e["item"] is not None}


def _of_source(df: DataFrame) -> dict[str, Column]:
    wanted = {"ready": F.count(F.lit(1))}
    if RAW in df.columns:
        wanted["unreadable"] = F.count(F.col(RAW))
    return wanted


def _of_step(df: DataFrame, step: Step) -> dict[str, Column]:
    if not step.has_outcomes:
        return {"ready": F.count(F.lit(1))}
    status = F.col("_status")
    wanted = {o: F.count_if(status == o) for o in ("ready", "late", "quarantined")}
    if step.kind not in ("reorder", "synchronise"):
        return wanted
    ready = status == "ready"
    when, released = _micros(df, step, "time", "time"), F.unix_micros(F.col("_released"))
    if when is not None:
        wanted["latency"] = F.percentile_approx(F.when(ready, released - when), list(QUANTILES),
                                                _ACCURACY)
        wanted["watermark"] = F.max(F.when(ready, when))
        wanted["clock"] = F.max(released)
    arrival = _micros(df, step, "arrival", "_arrival")
    if arrival is not None:
        wanted["buffer"] = F.avg(F.when(ready, released - arrival))
    source = step.options.get("source", "source" if step.kind == "synchronise" else None)
    if source in df.columns:
        name = F.col(quoted(source)).cast("string")
        wanted["producers"] = _top(name)
        wanted["late_producers"] = _top(F.when(status == "late", name))
    return wanted


def _top(name: Column) -> Column:
    # exact as long as there are no more than 3/4 as many names as it can track
    return F.call_function("approx_top_k", name, F.lit(_MOST_SOURCES),
                           F.lit(1 << (_MOST_SOURCES * 4 // 3).bit_length()))


def _micros(df: DataFrame, step: Step, role: str, default: str) -> Column | None:
    name = step.options.get(role, default)
    if name not in df.columns:
        return None
    kind, column = df.schema[name].dataType, F.col(quoted(name))
    if isinstance(kind, TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, IntegralType) and step.options.get("unit") in _MICROS:
        return column * F.lit(_MICROS[step.options["unit"]])
    if isinstance(kind, StringType) and step.options.get("unit") is None:
        return F.unix_micros(F.try_to_timestamp(column))
    return None
