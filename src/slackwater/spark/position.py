"""Where a row stood in the input: rows of one arrival go by it, and not by Spark's partitions.

Spark puts files, and pieces of large ones, into partitions by their size, so the order of
partitions is not that of the input, and another number of files per micro-batch gives another
order.  By the time of their file and the place of their piece in it rows have one order, however
the input is cut.  Kafka's records go by partition and offset: always in a pipeline, else where a
DataFrame still has these columns.  Messages of NATS and of the gateway's log go by their number.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

__all__ = ["POSITION", "in_files", "in_line", "in_position", "in_topic", "with_position"]

POSITION = "_position"
_METADATA = "_metadata"
_KAFKA = {"topic": "string", "partition": "int", "offset": "bigint"}


def with_position(df: DataFrame) -> DataFrame:
    """The rows of a stream with their place in the input, where it can be told."""
    if not df.isStreaming or any(name.casefold() in (_METADATA, POSITION) for name in df.columns):
        return df
    if _KAFKA.items() <= dict(df.dtypes).items():
        return df.select("*", in_topic())
    try:
        with _unlogged():
            found = df.select("*", _place(F.unix_micros(f"{_METADATA}.file_modification_time"),
                                          F.col(f"{_METADATA}.file_block_start")))
            found.schema  # noqa: B018  (with Spark Connect, the first to ask the server)
    except AnalysisException:
        return df  # other sources, and what joins or aggregates have made, have no files
    return found


def in_topic() -> Column:
    """The place of Kafka's records."""
    return _place(F.col("partition"), F.col("offset"))


def in_line(number: Column) -> Column:
    """The place of rows that have one number after the other."""
    return _place(F.lit(0), number)


def in_files(version: Column, file: Column) -> Column:
    """The place of rows of a table's files, in the order in which they were added."""
    return _place(version, file)


def _place(part: Column, start: Column) -> Column:
    return F.struct(part.cast("bigint").alias("part"),
                    start.cast("bigint").alias("start")).alias(POSITION)


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
    """The rows by their position, without it; rows of one place stay as they are.

    Examples
    --------
    >>> places = [{"part": 2, "start": 0}, {"part": 1, "start": 9}, {"part": 1, "start": 4}]
    >>> in_position(pa.record_batch({"x": ["c", "b", "a"], POSITION: places}))["x"].to_pylist()
    ['a', 'b', 'c']
    """
    if POSITION not in rows.schema.names:
        return rows
    part, start = (column.to_numpy(zero_copy_only=False)
                   for column in rows.column(POSITION).flatten())
    rows = rows.drop_columns([POSITION])
    later = (part[1:] < part[:-1]) | ((part[1:] == part[:-1]) & (start[1:] < start[:-1]))
    if later.any():
        rows = rows.take(pa.array(np.lexsort((start, part))))
    return rows
