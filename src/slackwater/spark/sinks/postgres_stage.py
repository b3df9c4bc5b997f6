"""Rows into a table of their own in PostgreSQL, task by task; from there the driver takes them.

Every attempt of a task writes under a name of its own and tells it to the driver when it has
committed.  So an attempt that failed, or ran twice, or belongs to a driver that died, leaves rows
that nobody takes.  The table is unlogged: if the server crashes it is empty, which the driver sees,
and the rows are staged again.
"""

from __future__ import annotations

import io
import time
import uuid
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from slackwater.core.errors import ConfigError
from slackwater.pipeline.secrets import Secrets
from slackwater.spark.runner.carry import arrow_schema
from slackwater.spark.runner.columns import numbered
from slackwater.spark.runner.packing import cast_to
from slackwater.spark.runner.shipped import shipped

__all__ = ["ATTEMPT", "PATIENCE", "ROW", "Staged", "StagingLost", "make_staging", "passing",
           "stage", "staging_of"]

ATTEMPT, ROW = "_slackwater_attempt", "_slackwater_row"
PATIENCE = 30.0
"""Seconds: a server that restarts is back by then."""
_AWAY = "PostgreSQL did not take the rows of a task"
_TOLD = "part int, attempt string, rows bigint"
_TOLD_ARROW = pa.schema([("part", pa.int32()), ("attempt", pa.string()), ("rows", pa.int64())])
_SLICE = 1 << 16
# said of a server that will let us in a moment later; other refusals stay what they are
_PASSING = ("starting up", "not yet accepting", "shutting down", "in recovery", "too many clients")

Batches = Iterator[pa.RecordBatch]


class StagingLost(Exception):  # noqa: N818  (what happened, and nobody's mistake)
    """The staged rows are gone, or did not all come: stage them again."""


class Staged(NamedTuple):
    """Rows that a task has staged."""

    attempt: str
    rows: int


def staging_of(sink: str) -> Any:
    """The table for a sink's rows."""
    from psycopg import sql

    return sql.Identifier(f"slackwater_staging_{sha256(sink.encode()).hexdigest()[:16]}")


def make_staging(cursor: Any, sink: str, columns: list[str]) -> None:
    """Make it anew.  Its columns are texts: what COPY would read, the target's types read later."""
    from psycopg import sql

    table = staging_of(sink)
    cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
    cursor.execute(sql.SQL("CREATE UNLOGGED TABLE {} ({}, {} text, {} bigint)").format(
        table, sql.SQL(", ").join(sql.SQL("{} text").format(sql.Identifier(name))
                                  for name in columns),
        sql.Identifier(ATTEMPT), sql.Identifier(ROW)))


def stage(df: DataFrame, url: str, sink: str, columns: list[str]) -> list[Staged]:
    """Have the executors stage the rows; what they have staged, in the order of the partitions."""
    task = shipped(_copy_in(url, sink, columns, arrow_schema(df)))
    try:
        found = numbered(df).mapInArrow(task, _TOLD).collect()
    except PySparkException as error:
        if _AWAY in str(error):
            raise StagingLost(str(error).partition(_AWAY)[2].splitlines()[0].strip(": ")) from None
        raise
    return [Staged(f.attempt, f.rows) for f in sorted(found, key=lambda f: f.part)]


def passing(error: Any) -> bool:
    """Whether a server that said this may be tried again."""
    words = str(error)
    return "FATAL" not in words or any(some in words for some in _PASSING)


def _copy_in(url: str, sink: str, columns: list[str],
             schema: pa.Schema) -> Callable[[Batches], Batches]:
    """For mapInArrow: rows → what was staged of them."""

    def run(batches: Batches) -> Batches:
        try:
            import psycopg
        except ImportError:
            raise ConfigError("a worker lacks psycopg, by which it writes to PostgreSQL", step=sink,
                              hint='pip install "slackwater[postgres]" there') from None
        attempt, rows = str(uuid.uuid4()), 0
        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        try:
            with _connected(url) as connection:
                rows = _copied(connection, sink, columns, (cast_to(b, schema) for b in batches),
                               attempt)
        except psycopg.Error as error:
            said = Secrets([url]).redact(" ".join(str(error).split()))
            raise RuntimeError(f"{_AWAY}: {said}") from None
        if rows:
            yield pa.RecordBatch.from_pylist(
                [{"part": part, "attempt": attempt, "rows": rows}], _TOLD_ARROW)

    return run


def _connected(url: str) -> Any:
    import psycopg

    until = time.monotonic() + PATIENCE
    while True:
        try:
            return psycopg.connect(url, connect_timeout=10)
        except psycopg.OperationalError as error:
            if time.monotonic() > until or not passing(error):
                raise
            time.sleep(0.5)


def _copied(connection: Any, sink: str, columns: list[str], batches: Batches,
            attempt: str) -> int:
    """Rows as CSV: Arrow quotes every text, so that an empty one is not taken for a null."""
    from psycopg import sql

    names = [*columns, ATTEMPT, ROW]
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    rows = 0
    with connection.cursor() as cursor, cursor.copy(sql.SQL(
            "COPY {} ({}) FROM STDIN (FORMAT csv)").format(staging_of(sink), sql.SQL(", ").join(
                map(sql.Identifier, names)))) as copy:
        for batch in batches:
            for start in range(0, batch.num_rows, _SLICE):
                some = batch.slice(start, _SLICE)
                named = pa.RecordBatch.from_arrays(
                    [*some.columns, pa.repeat(attempt, some.num_rows),
                     pa.array(range(rows, rows + some.num_rows), pa.int64())], names)
                text = io.BytesIO()
                pyarrow.csv.write_csv(named, text, options)
                copy.write(text.getbuffer())
                rows += some.num_rows
    return rows
