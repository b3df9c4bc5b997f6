"""The passing of real time as rows of a query.

Spark's processing-time timers would do, but they make a query run empty micro-batches without
pause, so that one triggered by availableNow never ends; and what they do is not in the offset log,
so that a replay after a crash would do something else.  A tick is data like any other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

__all__ = ["ticks"]

_SHORTEST, _LONGEST = 100_000, 10_000_000


def ticks(session: SparkSession, labels: Column, quiet: int) -> DataFrame:
    """Four ticks in a time of `quiet` microseconds, each for every shard, as packed rows."""
    session.dataSource.register(Ticks)
    every = min(max(quiet // 4, _SHORTEST), _LONGEST)
    return (
        session.readStream.format(Ticks.name()).option("every", every).load()
        .select(F.explode(labels).alias("shard"), F.lit(-1).alias("input"),
                F.lit(-1).alias("part"), F.lit(0).alias("chunk"),
                F.lit(None).cast("binary").alias("blob"), F.col("tick").alias("clock"))
    )


class Ticks(DataSource):
    """One row a micro-batch with the time, at most one in `every` microseconds."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "slackwater_ticks"

    def schema(self) -> str:
        """Microseconds UTC."""
        return "tick bigint"

    def streamReader(self, schema: StructType) -> TicksReader:  # noqa: N802
        """The reader on the driver."""
        return TicksReader(self.options)


class _Tick(InputPartition):
    pass


class TicksReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are times; under availableNow time stands still, as befits a replay."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._every = int(options["every"])
        self._still = False

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """No ticks in a run that only takes what is there."""
        self._still = True

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Now."""
        return {"tick": time.time_ns() // 1000}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Now, if long enough after the last tick; a clock that was set back gives none."""
        now = time.time_ns() // 1000
        return {"tick": now} if not self._still and now - start["tick"] >= self._every else start

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One, if time has passed."""
        return [_Tick(end["tick"])] if end["tick"] > start["tick"] else []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """The end of the time that passed."""
        yield (partition.value,)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to let go."""
