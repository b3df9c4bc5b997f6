"""Helpers that pick one kind of row out of an operator's output."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from slackwater.core.errors import ConfigError
from slackwater.core.events import RESERVED

__all__ = ["late", "quarantined", "ready"]


def ready(df: DataFrame) -> DataFrame:
    """The rows that are in their place, with the input's own columns only."""
    _check(df)
    return df.where(F.col("_status") == "ready").drop(*RESERVED)


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
