"""What one writes with Spark alone, for the demo to compare with: a guessed watermark, exact times.

The feed is that of `slackwater.demo.plant`.  Spark has no patterns; the usual way is a state per
key that sees rows as they arrive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

__all__ = ["PlainQueries"]

Take = Callable[[str, int, list[Any]], None]
"""Called with a query's name, the number of a micro-batch, and what it gave."""


_STORE = "spark.sql.streaming.stateStore.providerClass"
_DEFAULT_STORE = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


class PlainQueries:
    """Three queries over one feed, each by Spark's own means, side by side.

    Parameters
    ----------
    session
        Where.
    feed
        A folder of Parquet files, each a micro-batch.
    work
        A folder for checkpoints.
    watermark
        The delay that is guessed.
    apart
        How far apart two times may be that belong together, in Spark's words.
    within
        Seconds between a valve's closing and a drop that still is a leak.
    window
        Seconds of a window.
    """

    def __init__(self, session: SparkSession, feed: Path, work: Path, *, watermark: str,
                 apart: str, within: int, window: int) -> None:
        self._watermark, self._apart, self._work = watermark, apart, work
        self._within, self._window, self._session = within, window, session
        # Spark takes the oldest file first
        schema = session.read.parquet(str(feed)).schema
        self._rows = (session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
                      .parquet(str(feed)))
        self._lock = threading.Lock()

    def start(self, take: Take) -> list[StreamingQuery]:
        """Start all; each ends by itself."""
        conf = self._session.conf
        before = conf.get(_STORE)
        conf.set(_STORE, _DEFAULT_STORE)  # as Spark comes
        try:
            return [self._start(name, df, take) for name, df in (
                ("means", self.means()), ("leaks", self.leaks()), ("heard", self.heard()))]
        finally:
            conf.set(_STORE, before or _DEFAULT_STORE)

    def means(self) -> DataFrame:
        """Pressure at both ends in each window, behind a fixed watermark."""
        window = F.window("time", f"{self._window} seconds")
        return (self._rows.withWatermark("time", self._watermark).groupBy("line", window)
                .agg(F.avg("inlet").alias("inlet"), F.avg("outlet").alias("outlet"),
                     F.count("*").alias("readings"))
                .select("line", F.unix_micros("window.start").alias("start"), "inlet", "outlet",
                        "readings"))

    def leaks(self) -> DataFrame:
        """Drops since a valve was closed and none was opened, in order of arrival."""
        events = self._rows.where(F.col("what").isin("OPEN", "CLOSED", "DROP")).select(
            "line", "what", F.unix_micros("time").alias("time"), "received")
        return events.groupBy("line").applyInPandasWithState(
            _Alarms(self._within * 1_000_000), "line string, fell bigint", "shut bigint", "append",
            GroupStateTimeout.NoTimeout)

    def heard(self) -> DataFrame:
        """Drops and hisses that are close, by a join that takes their times as exact."""
        sides = []
        for what, time in (("DROP", "fell"), ("HISS", "hissed")):
            sides.append(self._rows.where(F.col("what") == what).select(
                F.col("line"), F.col("time").alias(time)).withWatermark(time, self._watermark))
        left, right = sides[0].alias("d"), sides[1].alias("h")
        apart = F.expr(f"h.hissed BETWEEN d.fell - INTERVAL {self._apart} "
                       f"AND d.fell + INTERVAL {self._apart}")
        return left.join(right, (F.col("d.line") == F.col("h.line")) & apart).select(
            "d.line", F.unix_micros("d.fell").alias("fell"),
            F.unix_micros("h.hissed").alias("hissed"))

    def _start(self, name: str, df: DataFrame, take: Take) -> StreamingQuery:
        def rows(batch: DataFrame, number: int) -> None:
            found = [row.asDict() for row in batch.collect()]
            with self._lock:
                take(name, number, found)

        return (df.writeStream.foreachBatch(rows).queryName(f"plain-{name}")
                .trigger(availableNow=True).outputMode("append")
                .option("checkpointLocation", str(self._work / name)).start())


class _Alarms:
    """The state of a line: when its valve was closed, or nothing."""

    def __init__(self, within: int) -> None:
        self._within = within

    def __call__(self, key: Any, frames: Iterable[pd.DataFrame],
                 state: GroupState) -> Iterator[pd.DataFrame]:
        shut = state.get[0] if state.exists else None
        found = []
        for row in pd.concat(list(frames)).sort_values("received").itertuples():
            if row.what == "DROP":
                if shut is not None and 0 < row.time - shut <= self._within:
                    found.append((key[0], row.time))
            else:
                shut = row.time if row.what == "CLOSED" else None
        state.update((shut,))
        yield pd.DataFrame(found, columns=["line", "fell"])
