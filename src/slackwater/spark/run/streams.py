"""Streams as DataFrames: a node's rows, split by what became of them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from slackwater.core.names import ADDED, BUCKET
from slackwater.pipeline.columns import ARRIVAL, RAW
from slackwater.pipeline.kernels import other_arrival
from slackwater.pipeline.steps import PASSED_ON, Step
from slackwater.spark.runner.arrow_types import to_spark
from slackwater.spark.runner.carry import arrow_schema
from slackwater.spark.runner.columns import loosened, quoted

__all__ = ["for_operator", "for_sink", "outcome_rows", "sink_columns"]


def outcome_rows(df: DataFrame, step: Step | None, outcome: str) -> DataFrame:
    """The rows of one outcome of a node (no step: a source), with the columns that SQL sees."""
    if step is None or not step.has_outcomes:
        return df
    some = df.where(F.col("_status") == outcome)
    if outcome != "ready":
        return _aside(some)
    if step.kind in PASSED_ON:
        # what is let go arrives at the next step in that moment
        own = [F.col(quoted(c)) for c in some.columns if c not in (*ADDED, ARRIVAL, RAW)]
        return some.select(*own, F.col("_released").alias(ARRIVAL))
    return some.drop(*ADDED)


def _aside(df: DataFrame) -> DataFrame:
    """Late or quarantined rows: the input's columns, then the reason and when they were let go."""
    last = [F.col("_reason"), F.col("_released")]
    if "_row" in df.columns:
        return df.select("_row.*", *last)
    if "_left_row" in df.columns:
        return df.select("_left_row", "_right_row", *last)
    return df.drop("_status")


def for_operator(df: DataFrame, step: Step) -> DataFrame:
    """A stream as an operator takes it (see `slackwater.pipeline.kernels.operator_schema`)."""
    if "_reason" in df.columns:
        df = df.drop("_reason", ARRIVAL).withColumnRenamed("_released", ARRIVAL)
    return df.drop(ARRIVAL) if other_arrival(step) else df


def sink_columns(session: SparkSession, output: pa.Schema, step: Step | None,
                 outcome: str) -> pa.Schema:
    """The columns that a sink gets of a node whose rows have those of `output`."""
    rows = for_sink(session.createDataFrame([], to_spark(output)), step, outcome)
    return arrow_schema(loosened(rows.drop(BUCKET, f"{BUCKET}_left", f"{BUCKET}_right")))


def for_sink(df: DataFrame, step: Step | None, outcome: str) -> DataFrame:
    """The rows of one outcome as a sink gets them."""
    rows = outcome_rows(df, step, outcome)
    if step is not None and step.kind in PASSED_ON and outcome == "ready":
        return rows.drop(ARRIVAL)
    return rows
