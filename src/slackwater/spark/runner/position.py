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

__all__ = ["POSITION", "in_files", "in_line", "in_position", "in_topic", "in_versions",
           "with_position"]

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
            found = df.select("*", in_files(F.unix_millis(f"{_METADATA}.file_modification_time"),
                                            F.col(f"{_METADATA}.file_block_start")))
            found.schema  # noqa: B018  (with Spark Connect, the first to ask the server)
    except AnalysisException:
        return df  # other sources, and what joins or aggregates have made, have no files
    return found


def in_topic() -> Column:
    """The place of Kafka's records."""
    return _place(F.col("partition"), F.col("offset"), 47)


def in_line(number: Column) -> Column:
    """The place of rows that have one number after the other."""
    return _place(F.lit(0), number, 62)


def in_versions(version: Column, file: Column) -> Column:
    """The place of rows of a table's files, in the order in which they were added."""
    return _place(version, file, 24)


def in_files(modified: Column, start: Column) -> Column:
    """The place of rows of files, by the millisecond of the file and the first byte of their piece.

    Pieces are megabytes apart: Spark counts opening a file as four of them.
    """
    return _place(modified, F.shiftright(start, 20), 21)


def _place(part: Column, start: Column, bits: int) -> Column:
    """One number per row: by the part, then by the start, for which there are so many bits.

    A second column, or a struct, would cost a third of what it takes to hand the rows to Python.
    """
    of, begins = (F.coalesce(c.cast("bigint"), F.lit(0).cast("bigint")) for c in (part, start))
    return F.shiftleft(of, bits).bitwiseOR(begins).alias(POSITION)


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
    >>> in_position(pa.record_batch({"x": ["c", "b", "a"], POSITION: [9, 5, 4]}))["x"].to_pylist()
    ['a', 'b', 'c']
    """
    if POSITION not in rows.schema.names:
        return rows
    place = rows.column(POSITION).to_numpy()
    rows = rows.drop_columns([POSITION])
    if (place[1:] < place[:-1]).any():
        rows = rows.take(pa.array(np.argsort(place, kind="stable")))
    return rows
