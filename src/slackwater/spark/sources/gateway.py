"""The gateway's log as a stream: record numbers are offsets, segments are partitions.

An offset names records, not moments, so a micro-batch that is run again after a crash reads the
same rows.  What the query has committed is noted in the log folder as the reader's position;
retention waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from slackwater.core.errors import ConfigError
from slackwater.gateway.places import Place, reader_name
from slackwater.gateway.read import LogReader, Span
from slackwater.gateway.slots import Slot
from slackwater.pipeline.connectors import MAX_BYTES, GatewaySource
from slackwater.spark.runner.position import POSITION, in_line
from slackwater.spark.sources.json_values import from_json_text
from slackwater.spark.sources.python_source import (
    PythonReader,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    fitted,
    python_stream,
)

__all__ = ["GatewayLog", "read"]

_STARTING = ("earliest", "latest")


def read(session: SparkSession, config: GatewaySource) -> DataFrame:
    """The log's events as the configured columns, in the order of their arrival.

    An event that cannot be read as its columns, or has none of them, comes with nulls and its text
    in ``_raw``.

    Parameters
    ----------
    session
        Where to read.
    config
        `path` of the log folder, `columns`, `starting` ("earliest" or "latest", for a query without
        a checkpoint), `max_rows` of a micro-batch, `reader`: the name that retention waits for.
        Two queries need two names.
    """
    LogReader(config.path)  # a wrong folder is told here, not by a failing query
    if config.starting not in _STARTING:
        raise ConfigError("says nothing about where to start", step="starting",
                          expected=" or ".join(_STARTING), got=repr(config.starting))
    reader = (python_stream(session, GatewayLog).option("folder", config.path)
              .option("starting", config.starting)
              .option("reader", reader_name(config.reader or "default")))
    if config.max_rows is not None:
        reader = reader.option("maxRows", config.max_rows)
    return from_json_text(reader.load(), F.col("event"), F.col("arrival"), config.columns,
                          {POSITION: in_line(F.col("record"))})


class GatewayLog(DataSource):
    """Options: `folder`, `reader`, `starting`, `maxRows`."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "slackwater_gateway"

    def schema(self) -> str:
        """The record's number, its arrival and the event as it was sent."""
        return "record bigint, arrival timestamp, event string"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader on the driver, and on the executors."""
        return fitted(GatewayLogReader(self.options), self.options)


class _Part(InputPartition):
    def __init__(self, span: Span) -> None:
        self.span = span


class GatewayLogReader(PythonReader):
    """Offsets are places in the log."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._log = LogReader(options["folder"])
        self._name = options["reader"]
        self._latest = options["starting"] == "latest"
        rows = options.get("maxRows")
        self._rows = None if rows is None else int(rows)
        self._stop_at: Place | None = None
        self._slot: Slot | None = None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """As many rows as the options say."""
        return ReadAllAvailable() if self._rows is None else ReadMaxRows(self._rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Go as far as the log goes now, and no further."""
        self._stop_at = self._log.end()

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Where a query without a checkpoint starts; from now on retention waits for it."""
        while True:
            place = self._log.end() if self._latest else self._log.first()
            self._held().commit(place)
            # retention may have let go of a segment before it could see this reader
            if self._log.first().record <= place.record:
                return place.to_json()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The log's durable end, or as far as the limits on rows and bytes allow."""
        begin = Place.from_json(start)
        if self._slot is None:
            self._held().start(begin)  # a restart from a checkpoint
        end = self._log.end() if self._stop_at is None else self._stop_at
        if isinstance(limit, ReadMaxRows):
            end = min(end, self._log.advance(begin, limit.max_rows, MAX_BYTES))
        return start if end.record <= begin.record else end.to_json()

    def everything(self) -> dict[str, int]:
        """The log's durable end."""
        return self._log.end().to_json()

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        """The log's end, for the query's progress."""
        return self.everything()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One a segment."""
        return [_Part(span) for span in
                self._log.spans(Place.from_json(start), Place.from_json(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a part of a segment."""
        assert isinstance(partition, _Part)
        return self._log.read(partition.span)

    def commit(self, end: dict[str, int]) -> None:
        """Let retention go on: the query will not ask for anything before `end` again."""
        self._held().commit(Place.from_json(end))

    def stop(self) -> None:
        """Let another run have the reader's name."""
        if self._slot is not None:
            self._slot.close()
            self._slot = None

    def _held(self) -> Slot:
        if self._slot is None:
            self._slot = Slot(self._log.folder, self._name)
        return self._slot
