"""The passing of real time as rows of a query.

Spark's processing-time timers would do, but they make a query run empty micro-batches without
pause, so that one triggered by availableNow never ends; and what they do is not in the offset log,
so that a replay after a crash would do something else.  A tick is data like any other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from slackwater.spark.sources.python_source import PythonReader, ReadLimit, fitted, python_stream

__all__ = ["FINISH", "TICK", "ticks"]

TICK, FINISH = -1, -2
"""The number of the input of rows that tell the time, and of those that tell the end."""
_SHORTEST, _LONGEST = 100_000, 10_000_000


def ticks(session: SparkSession, labels: Iterable[int], quiet: int | None, *,
          finish: bool = False) -> DataFrame:
    """Four ticks in a time of `quiet` microseconds, each for every shard, as packed rows.

    Without `quiet` there are none; with `finish` one row tells every shard that nothing more comes.
    """
    every = 0 if quiet is None else min(max(quiet // 4, _SHORTEST), _LONGEST)
    shards: Column = F.array(*[F.lit(label) for label in labels])
    return (
        python_stream(session, Ticks).option("every", every)
        .option("finish", str(finish)).load()
        .select(F.explode(shards).alias("shard"), F.lit(None).cast("string").alias("step"),
                F.when(F.col("finish"), FINISH).otherwise(TICK).alias("input"),
                F.lit(-1).alias("part"), F.lit(0).alias("chunk"),
                F.lit(None).cast("binary").alias("blob"), F.col("tick").alias("clock"))
    )


class Ticks(DataSource):
    """One row a micro-batch with the time, at most one in `every` microseconds (0: none)."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "slackwater_ticks"

    def schema(self) -> str:
        """Microseconds UTC, and whether this is the end."""
        return "tick bigint, finish boolean"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader on the driver."""
        return fitted(TicksReader(self.options), self.options)


class _Tick(InputPartition):
    pass


class TicksReader(PythonReader):
    """Offsets are times, and the number of the end that was told, or 0.

    Under availableNow time stands still.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._every = int(options["every"])
        self._finish = options["finish"] == "True"
        self._still = self._every == 0
        self._ended: int | None = None
        self._begun: int | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """No ticks in a run that only takes what is there, as befits a replay."""
        self._still = True

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Now."""
        return {"tick": time.time_ns() // 1000, "ends": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Now, if long enough after the last tick; a clock that was set back gives none."""
        if self._finish:
            if self._ended is None:
                self._ended = start["ends"] + 1
            return {**start, "ends": self._ended}
        now = time.time_ns() // 1000
        if self._begun is None:
            self._begun = now
        passed = not self._still and now - (start["tick"] or self._begun) >= self._every
        return {**start, "tick": now} if passed else start

    def everything(self) -> dict[str, int]:
        """No time passes, and an end has a number that no other had."""
        return {"tick": 0, "ends": time.time_ns() // 1000 if self._finish else 0}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One, if time has passed or the end has come."""
        found: list[InputPartition] = []
        if end["ends"] not in (0, start["ends"]):
            found.append(_Tick((end["tick"], True)))
        elif end["tick"] > start["tick"]:
            found.append(_Tick((end["tick"], False)))
        return found

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """The end of the time that passed."""
        yield partition.value

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to let go."""
