"""A streaming DataFrame run to the end of what is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import DataStreamWriter

from slackwater.spark.session.versions import BEFORE_4_2
from slackwater.spark.sources.python_source import paced
from slackwater.spark.sources.spark_4_1 import caught_up


def drain(df: DataFrame | Callable[[], DataFrame], checkpoint: Path,
          patience: float = 120) -> list[list[Row]]:
    """The rows of each micro-batch; a checkpoint that was used before is gone on from.

    What reads a source of ours is made by a function: Spark 4.1 needs two runs, as of a pipeline.
    """
    batches: list[list[Row]] = []

    def writer(df: DataFrame) -> DataStreamWriter:
        return (df.writeStream.foreachBatch(lambda rows, _: batches.append(rows.collect()))
                .option("checkpointLocation", str(checkpoint)))

    if callable(df):
        if BEFORE_4_2:
            with paced("catch up"):
                _catch_up(writer(df()), patience)
        df = df()
    query = writer(df).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(patience), f"not done in {patience:.0f} s"
    finally:
        query.stop()
    return [batch for batch in batches if batch]


def _catch_up(writer: DataStreamWriter, patience: float) -> None:
    query = writer.trigger(processingTime="0 seconds").start()
    try:
        until = time.monotonic() + patience
        while not caught_up(query):
            assert not query.awaitTermination(0.1)
            assert time.monotonic() < until, f"not done in {patience:.0f} s"
    finally:
        query.stop()
