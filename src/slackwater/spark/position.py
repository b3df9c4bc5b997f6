"""Where a row stood in the input: rows of one arrival go by it, and not by Spark's partitions.

Spark puts files into partitions by their size, so the order of partitions is not that of the input,
and another number of files per micro-batch gives another order.  By the time of their file rows
have one order, however the input is cut.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

__all__ = ["POSITION", "in_position", "with_position"]

POSITION = "_position"
_METADATA = "_metadata"


def with_position(df: DataFrame) -> DataFrame:
    """The rows of a stream with their file's time, where they come from files."""
    if not df.isStreaming or any(name.casefold() == _METADATA for name in df.columns):
        return df
    try:
        with _unlogged():
            found = df.select(
                "*", F.unix_micros(f"{_METADATA}.file_modification_time").alias(POSITION))
            found.schema  # noqa: B018  (with Spark Connect, the first to ask the server)
    except AnalysisException:
        return df  # other sources, and what joins or aggregates have made, have no files
    return found


@contextmanager
def _unlogged() -> Iterator[None]:
    """PySpark prints every refusal of a plan to standard error, with the whole stack of the JVM."""
    logger = logging.getLogger("DataFrameQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def in_position(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows by their position, without it; rows of one file stay as they are."""
    if POSITION not in rows.schema.names:
        return rows
    position = rows.column(POSITION).to_numpy(zero_copy_only=False)
    rows = rows.drop_columns([POSITION])
    if (position[1:] < position[:-1]).any():
        rows = rows.take(pa.array(np.argsort(position, kind="stable")))
    return rows
