"""The rows of a micro-batch on their way to a sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

from slackwater.spark.runner.arrow_types import to_spark
from slackwater.spark.runner.carry import arrow_schema
from slackwater.spark.runner.columns import numbered
from slackwater.spark.runner.packing import cast_to, unpack
from slackwater.spark.runner.shipped import shipped

__all__ = ["Rows"]

Batches = Iterator[pa.RecordBatch]
Step = Callable[[Batches], Batches]


class Rows:
    """Rows that are still blobs, as steps give them, or already a DataFrame.

    A sink that Spark writes takes the `frame`.  One whose executors write in Python has the rows
    handed over as Arrow by `on_executors`: as they lie in the blobs, without a way through Spark's
    rows and back.

    Parameters
    ----------
    df
        The blobs, or the rows themselves.
    schema
        The columns of the rows.
    blobs
        Whether they are blobs.
    """

    def __init__(self, df: DataFrame, schema: pa.Schema, *, blobs: bool) -> None:
        self._df, self.schema, self._blobs = df, schema, blobs

    @classmethod
    def of(cls, df: DataFrame) -> Rows:
        """The rows of a DataFrame."""
        return cls(df, arrow_schema(df), blobs=False)

    @property
    def session(self) -> SparkSession:
        """Of the DataFrame."""
        return self._df.sparkSession

    @property
    def frame(self) -> DataFrame:
        """The rows as a DataFrame."""
        if not self._blobs:
            return self._df
        return self._df.mapInArrow(shipped(unpack(self.schema)), to_spark(self.schema))

    def on_executors(self, write: Step, told: str) -> list[Row]:
        """Hand each task's rows to `write`, and collect what it tells, whose columns are `told`."""
        df = self._df if self._blobs else numbered(self._df)
        read = unpack(self.schema) if self._blobs else _cast(self.schema)
        return df.mapInArrow(shipped(_both(read, write)), told).collect()


def _cast(schema: pa.Schema) -> Step:
    def run(batches: Batches) -> Batches:
        for batch in batches:
            yield cast_to(batch, schema)

    return run


def _both(first: Step, then: Step) -> Step:
    def run(batches: Batches) -> Batches:
        return then(first(batches))

    return run
