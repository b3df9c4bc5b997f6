"""A query apart, by operators: for what Spark's own stateful SQL makes of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from slackwater.core.errors import ConfigError
from slackwater.pipeline.document import Pipeline
from slackwater.pipeline.kernels import arrival_of
from slackwater.pipeline.order import keys_of, order_of
from slackwater.pipeline.steps import Step, StreamName
from slackwater.spark.operators.correlate import correlate
from slackwater.spark.operators.dedupe import dedupe
from slackwater.spark.operators.match import match
from slackwater.spark.operators.query import query
from slackwater.spark.operators.reorder import reorder
from slackwater.spark.operators.synchronise import synchronise
from slackwater.spark.run.streams import for_operator, outcome_rows
from slackwater.spark.run.tables import run_sql
from slackwater.spark.sources import read_source

__all__ = ["Builder"]

Watch = Callable[[str, DataFrame], DataFrame]


class Builder:
    """Builds what one streaming query reads.

    Parameters
    ----------
    session, pipeline
        Where, and what.
    shards
        State partitions of each step that does not say.
    watch
        Given a node's name and rows, the rows with their numbers observed.
    """

    def __init__(self, session: SparkSession, pipeline: Pipeline, shards: int | None,
                 watch: Watch) -> None:
        self._session, self._pipeline = session, pipeline
        self._shards, self._watch = shards, watch
        self._watched: set[str] = set()

    def node(self, name: str) -> DataFrame:
        """All rows of a source or a step, with ``_status`` where the step gives one."""
        if name in self._pipeline.sources:
            df = read_source(self._session, self._pipeline.sources[name].config)
        else:
            df = self._step(self._pipeline.steps[name])
        if name in self._watched:
            return df  # read twice in one query: counted once
        self._watched.add(name)
        return self._watch(name, df)

    def _stream(self, name: StreamName) -> DataFrame:
        return outcome_rows(self.node(name.node), self._pipeline.steps.get(name.node),
                            name.outcome)

    def _step(self, step: Step) -> DataFrame:
        inputs = [self._stream(name) for name in step.inputs]
        if step.kind == "sql":
            return self._sql(step, inputs)
        self._check_order(step)
        rows = [for_operator(df, step) for df in inputs]
        options: dict[str, Any] = {"shards": self._shards, **step.options,
                                   "arrival": arrival_of(step, rows[0].columns)}
        if step.kind == "dedupe":
            return dedupe(rows[0], options.pop("by"), **options)
        if step.kind == "reorder":
            return reorder(rows[0], options.pop("policy", None), **options)
        if step.kind == "synchronise":
            return synchronise(rows[0], **options)
        if step.kind in ("select", "recognise"):
            return query(rows[0], step.text or "", **options)
        if step.kind == "event":
            return match(rows[0], step.text or "", **options)
        if step.kind == "correlate":
            return correlate(rows[0], rows[1], **options)
        for name, df in zip(step.inputs, rows, strict=True):
            df.createOrReplaceTempView(f"`{name}`")
        return query(self._session, step.text or "", **options)

    def _check_order(self, step: Step) -> None:
        """Keys are brought together in the main query only, where it is known how far each is."""
        for stream in step.inputs if step.ordered else ():
            above = self._pipeline.steps[stream.node]
            if not set(order_of(above, self._pipeline.steps)) <= set(keys_of(step)):
                raise ConfigError(
                    f"{step.name!r} brings the keys of {above.name!r} together, and SQL that keeps "
                    "a state follows it", step=f"steps.{step.name}",
                    hint=f"say align: true in {above.name!r}, or leave out its by")

    def _sql(self, step: Step, inputs: list[DataFrame]) -> DataFrame:
        return run_sql(self._session, step,
                       {str(name): df for name, df in zip(step.inputs, inputs, strict=True)})
