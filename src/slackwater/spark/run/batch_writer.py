"""What happens to each micro-batch: its rows go to the sinks, each batch once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from slackwater.core.errors import DataError
from slackwater.core.names import BUCKET
from slackwater.core.state.ipc import ipc_batch
from slackwater.pipeline.brief import brief
from slackwater.pipeline.steps import OUTCOMES, Step, StreamName
from slackwater.spark.run.dead_letters import DeadLetters
from slackwater.spark.run.failures import words_of
from slackwater.spark.run.side_by_side import side_by_side
from slackwater.spark.run.streams import for_sink, outcome_rows
from slackwater.spark.run.tables import run_sql
from slackwater.spark.runner.arrow_types import has_variant, to_spark
from slackwater.spark.runner.packing import unpack, with_status
from slackwater.spark.sinks import BlobRows, Choosy, FewRows, Rows, Sink

__all__ = ["COUNTED", "RECENT", "BatchWriter", "BranchWriter", "Outlet"]

COUNTED: dict[str, dict[str, int]] = {}
"""Rows that SQL has made of each query's batches, where driver and writer are one process."""

RECENT: dict[str, dict[str, list[Any]]] = {}
"""A few of those rows by query and stream, likewise; the driver takes them away."""

_FEW = 5
_ONE_FILE = 10_000
_SMALL = 16_384
"""Bytes of a blob that is brought to the driver, beside its numbers."""


@dataclass(frozen=True)
class Outlet:
    """A sink, the stream whose rows it takes, and where those go that it refuses.

    Of rows that steps have made `columns` are those that the sink gets.
    """

    name: str
    sink: Sink
    stream: StreamName
    dead: DeadLetters | None = None
    columns: pa.Schema | None = None

    def write(self, rows: Rows, batch_id: int) -> None:
        """Write the rows of a micro-batch; a failure is the sink's, and says so."""
        try:
            if self.dead is not None and isinstance(self.sink, Choosy):
                self.dead.write_good(self.sink, rows, batch_id)
            else:
                self.sink.write(rows, batch_id)
        except Exception as error:
            raise DataError(f"the sink {self.name!r} failed: {words_of(error)}",
                            step=f"sinks.{self.name}") from error


class _Given:
    """What a micro-batch has for each stream: how many rows, and the rows themselves if few.

    A blob is a row, so there are few of them: they are looked at here, which takes no shuffle.
    """

    def __init__(self, df: DataFrame) -> None:
        self.df = df
        self.counts: Counter[StreamName] = Counter()
        self._small: dict[StreamName, list[Any]] = {}
        small = F.when(F.length("blob") <= _SMALL, F.col("blob")).alias("blob")
        for row in df.where(F.col("blob").isNotNull()).select(
                "stream", "status", "whole", "rows", small).collect():
            stream = StreamName(row.stream, row.status)
            self.counts[stream] += row.rows
            self._small.setdefault(stream, []).append(row)

    def rows(self, stream: StreamName, columns: pa.Schema) -> Rows | None:
        """The rows of a stream; None: there are none."""
        count = self.counts[stream]
        if not count:
            return None
        # PySpark makes no DataFrame of variants that are null
        if (all(row.blob is not None for row in self._small[stream])
                and not any(map(has_variant, columns.types))):
            return FewRows(self.df.sparkSession, [
                batch for row in self._small[stream] for batch in with_status(
                    ipc_batch(bytes(row.blob)), row.status, row.whole, columns)], columns)
        # a task, a Python worker and a file for each partition are too many for a few rows
        df = self.df.coalesce(1) if count <= _ONE_FILE else self.df
        return BlobRows(df.where((F.col("stream") == stream.node)
                                 & (F.col("status") == stream.outcome)), columns)


@dataclass(frozen=True)
class BatchWriter:
    """For foreachBatch.  It travels to the server with Spark Connect: it holds no session.

    Parameters
    ----------
    query
        A name for what is counted.
    steps
        The steps of the query, SQL over their results among them.
    outputs
        The columns of each step's rows, with their status; of a source its own columns.
    outlets
        The sinks.
    """

    query: str
    steps: Mapping[str, Step]
    outputs: Mapping[str, pa.Schema]
    outlets: tuple[Outlet, ...]

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Write one micro-batch; its blobs are kept while they are written."""
        df = df.persist()
        try:
            given = _Given(df)
            side_by_side(df.sparkSession, [partial(self._write, given, outlet, batch_id)
                                           for outlet in self.outlets])
        finally:
            df.unpersist()

    def _write(self, given: _Given, outlet: Outlet, batch_id: int) -> None:
        step = self.steps.get(outlet.stream.node)
        if step is None or step.kind != "sql" or step.name in self.outputs:
            assert outlet.columns is not None
            found = given.rows(outlet.stream, outlet.columns)
            if found is not None:
                outlet.write(found, batch_id)
            return
        if not any(given.counts[stream] for stream in self._made_of(step)):
            return
        rows = self._sql(given.df, step).persist()
        try:
            count = rows.count()
            if outlet is next(o for o in self.outlets if o.stream.node == step.name):
                mine = COUNTED.setdefault(self.query, {})
                mine[step.name] = mine.get(step.name, 0) + count
                if count:  # they are kept already: these few cost no second run of the SQL
                    RECENT.setdefault(self.query, {})[step.name] = _few(rows)
            if count:
                outlet.write(Rows.of(rows), batch_id)
        finally:
            rows.unpersist()

    def _rows(self, df: DataFrame, node: str) -> DataFrame:
        output = self.outputs[node]
        rows = df.where((F.col("stream") == node) & F.col("blob").isNotNull()).mapInArrow(
            unpack(output), to_spark(output))
        return rows.drop(BUCKET, f"{BUCKET}_left", f"{BUCKET}_right")

    def _sql(self, df: DataFrame, step: Step) -> DataFrame:
        """Spark's SQL over the rows of this batch, each of which it sees by itself."""
        streams = {}
        for stream in step.inputs:
            above = self.steps.get(stream.node)
            if above is not None and above.kind == "sql" and above.name not in self.outputs:
                streams[str(stream)] = self._sql(df, above)
            else:
                streams[str(stream)] = outcome_rows(self._rows(df, stream.node), above,
                                                    stream.outcome)
        return run_sql(df.sparkSession, step, streams)

    def _made_of(self, step: Step) -> set[StreamName]:
        found: set[StreamName] = set()
        for stream in step.inputs:
            above = self.steps.get(stream.node)
            sql = above is not None and above.kind == "sql" and above.name not in self.outputs
            found |= self._made_of(above) if sql and above is not None else {stream}
        return found


def _few(rows: DataFrame) -> list[Any]:
    """A few rows to show; none where PySpark has no value for one, as for an interval of months."""
    try:
        return [brief(row.asDict(recursive=True)) for row in rows.take(_FEW)]
    except NotImplementedError:
        return []


@dataclass(frozen=True)
class BranchWriter:
    """For foreachBatch of a query apart: its rows have their own columns already."""

    step: Step | None
    outlets: tuple[Outlet, ...]

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Write one micro-batch."""
        split = self.step is not None and self.step.has_outcomes
        wanted = sorted({o.stream.outcome for o in self.outlets}) if split else ["ready"]
        if split and len(wanted) < len(OUTCOMES):
            df = df.where(F.col("_status").isin(wanted))
        df = df.persist()
        try:
            counted = df.agg(*[F.count_if(F.col("_status") == o) if split else F.count("*")
                               for o in wanted]).first()
            counts = dict(zip(wanted, counted or (), strict=True))
            side_by_side(df.sparkSession, [
                partial(outlet.write, Rows.of(for_sink(df, self.step, outlet.stream.outcome)),
                        batch_id)
                for outlet in self.outlets if counts[outlet.stream.outcome]])
        finally:
            df.unpersist()
