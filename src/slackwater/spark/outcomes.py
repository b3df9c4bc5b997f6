"""Helpers that pick one kind of row out of an operator's output."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from slackwater.core.errors import ConfigError
from slackwater.core.events import RESERVED

__all__ = ["late", "quarantined", "ready", "with_watermark"]

_DELAY = "1 millisecond"
"""Spark drops rows whose time *equals* its watermark; with any delay at all it keeps them."""
_KEYS = "_slackwater_keys"


def ready(df: DataFrame) -> DataFrame:
    """The rows that are in their place, with the input's own columns only."""
    _check(df)
    return df.where(F.col("_status") == "ready").drop(*RESERVED)


def with_watermark(df: DataFrame, time: str = "time") -> DataFrame:
    """The ready rows, fit for Spark's own stateful operators: aggregates, joins, dropDuplicates.

    They are in order, so Spark's watermark needs no delay; but Spark drops rows whose time equals
    its watermark, and rows with equal times may come in two micro-batches.  A millisecond keeps
    them all.

    Parameters
    ----------
    df
        What `reorder` or `synchronise` has given.
    time
        The column of the time by which the rows are in order.

    Raises
    ------
    ConfigError
        The rows are in order per key (``by=``) only: Spark has one watermark for all keys, and
        would drop the rows of the slower ones.
    """
    keys = getattr(df, _KEYS, ())
    if keys:
        raise ConfigError(
            "Spark has one watermark for all keys, and would drop rows of the slower ones",
            step="with_watermark", got=f"rows in order per {', '.join(keys)}",
            hint="say align=True in reorder, leave out by=, or let query() or match() follow, "
                 "which have a watermark per key")
    return ready(df).withWatermark(time, _DELAY)


def in_order_per(df: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """The DataFrame, which remembers the keys that it is in order by."""
    setattr(df, _KEYS, keys)
    return df


def late(df: DataFrame) -> DataFrame:
    """The rows that came after their place had been released, with the reason."""
    _check(df)
    return df.where(F.col("_status") == "late").drop("_status")


def quarantined(df: DataFrame) -> DataFrame:
    """The rows without a usable time, with the reason."""
    _check(df)
    return df.where(F.col("_status") == "quarantined").drop("_status")


def _check(df: DataFrame) -> None:
    if "_status" not in df.columns:
        raise ConfigError("this DataFrame has no _status column", step="ready/late/quarantined",
                          expected="the output of an operator such as slackwater.spark.reorder",
                          got=f"columns {', '.join(df.columns)}")
