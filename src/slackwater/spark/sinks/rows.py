"""The rows of a micro-batch on their way to a sink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from slackwater.core.errors import ConfigError
from slackwater.spark.runner.arrow_types import to_spark
from slackwater.spark.runner.carry import arrow_schema
from slackwater.spark.runner.columns import loosened, numbered
from slackwater.spark.runner.packing import cast_to, unpack
from slackwater.spark.runner.shipped import shipped

__all__ = ["BlobRows", "FewRows", "Rows"]

Batches = Iterator[pa.RecordBatch]
Step = Callable[[Batches], Batches]


class Rows(ABC):
    """Rows that a sink is to write.

    One that Spark writes takes the `frame`.  One that is written in Python has the rows handed over
    as Arrow by `give_to`: as they lie in the blobs that steps give, without a way through Spark's
    rows and back.
    """

    session: SparkSession
    schema: pa.Schema
    """The columns."""
    exact = True
    """Whether the columns as Arrow has them are all that Spark knows of them."""

    @staticmethod
    def of(df: DataFrame) -> Rows:
        """The rows of a DataFrame."""
        return _FrameRows(df)

    @property
    @abstractmethod
    def frame(self) -> DataFrame:
        """The rows as a DataFrame."""

    @abstractmethod
    def give_to(self, write: Step, told: str) -> list[Any]:
        """Hand the rows to `write`, task by task, and collect what it tells, which is `told`."""


class _FrameRows(Rows):
    """Those of a DataFrame."""

    def __init__(self, df: DataFrame) -> None:
        self._df = loosened(df)
        self.session = df.sparkSession

    @cached_property
    def schema(self) -> pa.Schema:
        """Asked for only by those who write Arrow: it has not all of Spark's types."""
        return arrow_schema(self._df)

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """What is said of the class, found out."""
        try:
            same = to_spark(self.schema)
        except ConfigError:
            return False
        return bool(same.simpleString() == self._df.schema.simpleString())

    @property
    def frame(self) -> DataFrame:
        """Itself."""
        return self._df

    def give_to(self, write: Step, told: str) -> list[Any]:
        """On the executors."""
        each = _both(_cast(self.schema), write)
        return numbered(self._df).mapInArrow(shipped(each), told).collect()


class BlobRows(Rows):
    """Those in the blobs of a DataFrame."""

    def __init__(self, blobs: DataFrame, schema: pa.Schema) -> None:
        self._blobs, self.schema = blobs, schema
        self.session = blobs.sparkSession

    @property
    def frame(self) -> DataFrame:
        """Unpacked on the executors."""
        return self._blobs.mapInArrow(shipped(unpack(self.schema)), to_spark(self.schema))

    def give_to(self, write: Step, told: str) -> list[Any]:
        """On the executors."""
        each = _both(unpack(self.schema), write)
        return self._blobs.mapInArrow(shipped(each), told).collect()


class FewRows(Rows):
    """So few that they are here already: to start a job for them takes longer than to write them.
    """

    def __init__(self, session: SparkSession, batches: list[pa.RecordBatch],
                 schema: pa.Schema) -> None:
        self.session, self._batches, self.schema = session, batches, schema

    @property
    def frame(self) -> DataFrame:
        """Made of them; one task writes it."""
        whole = pa.Table.from_batches(self._batches, self.schema)
        return self.session.createDataFrame(whole, to_spark(self.schema)).coalesce(1)

    def give_to(self, write: Step, told: str) -> list[Any]:
        """In this process."""
        return [_Told(row) for batch in write(iter(self._batches)) for row in batch.to_pylist()]


class _Told:
    def __init__(self, row: dict[str, Any]) -> None:
        self.__dict__.update(row)


def _cast(schema: pa.Schema) -> Step:
    def run(batches: Batches) -> Batches:
        for batch in batches:
            yield cast_to(batch, schema)

    return run


def _both(first: Step, then: Step) -> Step:
    def run(batches: Batches) -> Batches:
        return then(first(batches))

    return run
