"""A NATS JetStream stream as a Spark source that can be replayed: offsets are its sequences."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, MutableMapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from slackwater.core.errors import ConfigError, DataError
from slackwater.pipeline.connectors import MAX_BYTES, NatsSource
from slackwater.spark.runner.position import POSITION, in_line
from slackwater.spark.sources.jetstream import Access, JetStream, Message, StreamState
from slackwater.spark.sources.json_values import from_json_text
from slackwater.spark.sources.python_source import (
    PythonReader,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    fitted,
    python_stream,
)

__all__ = ["read"]

_SCHEMA = "sequence bigint, value string, arrival timestamp"
_ARROW = pa.schema([("sequence", pa.int64()), ("value", pa.string()),
                    ("arrival", pa.timestamp("us", "UTC"))])
_SMALLEST = 10_000  # messages: fewer are not worth a task of their own
_TASKS = 8

Offset = dict[str, int]


def read(session: SparkSession, config: NatsSource) -> DataFrame:
    """The messages of a stream as columns; the server's time of storing is the arrival.

    A message that is not JSON of the columns gives null columns and its text in ``_raw``.  Messages
    that the stream's limits removed before they were read end the query.  Single deleted messages
    do not, but they are told: a row without columns says in ``_raw`` which numbers are gone.
    """
    if importlib.util.find_spec("nats") is None:
        raise ConfigError("the NATS source needs the client nats-py", step="nats",
                          hint='pip install "slackwater[nats]"')
    reader = (python_stream(session, Nats)
              # Spark hides an option of this name, and these two, wherever it prints options
              .option("url", config.servers).option("stream", config.stream)
              .option("starting", config.starting))
    for name in ("subject", "max_rows", "token", "user", "password"):
        if (value := getattr(config, name)) is not None:
            reader = reader.option(name, value)
    return from_json_text(reader.load(), F.col("value"), F.col("arrival"), config.columns,
                          {POSITION: in_line(F.col("sequence"))})


class Nats(DataSource):
    """Messages by their sequence as text, with the time at which the server stored them."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "slackwater_nats"

    def schema(self) -> str:
        """Sequence, text and time."""
        return _SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader on the driver."""
        return fitted(NatsReader(self.options), self.options)


class NatsReader(PythonReader):
    """Offsets are ``{"next": n}``: all messages before n have been read."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        servers = tuple(s.strip() if "://" in s else f"nats://{s.strip()}"
                        for s in options["url"].split(",") if s.strip())
        self._access = Access(servers, options["stream"], options.get("subject"),
                              options.get("token"), options.get("user"), options.get("password"))
        self._latest = options["starting"] == "latest"
        self._max_rows = int(options["max_rows"]) if "max_rows" in options else None
        self._target: int | None = None
        self._stream: JetStream | None = None

    def __getstate__(self) -> dict[str, Any]:
        # it travels to the executors, the connection does not
        return {**self.__dict__, "_stream": None}

    def _connection(self) -> JetStream:
        if self._stream is None:
            self._stream = JetStream(self._access)
        return self._stream

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """At most `max_rows` messages a micro-batch."""
        return ReadAllAvailable() if self._max_rows is None else ReadMaxRows(self._max_rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read up to what is there now."""
        self._target = self._connection().state().next

    def initialOffset(self) -> Offset:  # noqa: N802
        """The first message that is there, or the next that comes."""
        state = self._connection().state()
        return {"next": state.next if self._latest else min(state.first, state.next)}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """What is there, at most so many from `start` on, and fewer if they are large."""
        state = self._connection().state()
        end = self._target if self._target is not None else state.next
        if isinstance(limit, ReadMaxRows):
            most = min(limit.max_rows, max(int(MAX_BYTES / max(state.mean, 1.0)), 1))
            end = min(end, start["next"] + most)
        return {"next": max(end, start["next"])}

    def everything(self) -> Offset:
        """Up to the last message that is there."""
        return {"next": self._connection().state().next}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Ranges of numbers, in order."""
        first, last = start["next"], end["next"]
        if last == first:
            return []
        self._check(self._connection().state(), first, max(first, last))
        if last < first:  # Spark 4.1 may ask for the end before it asks where to begin
            return []
        tasks = min(max((last - first) // _SMALLEST, 1), _TASKS)
        bounds = [first + (last - first) * i // tasks for i in range(tasks + 1)]
        return [InputPartition((a, b)) for a, b in pairwise(bounds)]

    def _check(self, state: StreamState, first: int, last: int) -> None:
        name = self._access.stream
        if first < state.first:
            gone = min(state.first, last) - 1
            raise DataError(
                f"messages {first} to {gone} of stream {name!r} were removed before they were "
                "read", step="nats", expected=f"all from {first} on",
                got=f"the stream begins with {state.first}",
                hint="raise the stream's limits (max_age, max_msgs, max_bytes); a new checkpoint "
                     "begins with what is left")
        if last > state.next:
            raise DataError(
                f"stream {name!r} has lost messages that it had, or is another one", step="nats",
                expected=f"messages up to {last - 1}", got=f"the last is {state.next - 1}",
                hint="was the stream made anew? Then begin with a new checkpoint")

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a range, and a row for each gap in it."""
        first, last = partition.value
        stream = JetStream(self._access)
        try:
            at, moment, gaps = first, None, []
            for messages in stream.messages(first, last):
                for one in messages:
                    if one.sequence > at:
                        gaps.append((at, one.sequence - 1))
                    at, moment = one.sequence + 1, one.time
                yield _batch([(one.sequence, _text(one), one.time) for one in messages])
            if at < last:
                gaps.append((at, last - 1))
            if gaps:
                state = stream.state()
                # what the limits removed meanwhile is more than a gap
                self._check(state, first, last)
                if self._access.subject is not None:
                    # most gaps are other subjects' messages; only the server knows the others
                    gaps = list(_runs(n for n in state.deleted if first <= n < last))
                moment = state.last_time if moment is None else moment
                yield _batch([self._gap(a, b, moment) for a, b in gaps])
        finally:
            stream.close()

    def _gap(self, first: int, last: int, moment: int) -> tuple[int, str, int]:
        which = f"message {first} was" if first == last else f"messages {first} to {last} were"
        return (first, f"{which} deleted from stream {self._access.stream!r} before being read",
                moment)

    def commit(self, end: Offset) -> None:
        """Nothing to let go: the stream's own limits do that."""

    def stop(self) -> None:
        """Close the driver's connection."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _text(message: Message) -> str:
    return message.value.decode("utf-8", "replace")


def _batch(rows: list[tuple[int, str, int]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)],
        schema=_ARROW)


def _runs(numbers: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring numbers as (first, last)."""
    first = last = None
    for number in sorted(numbers):
        if last is not None and number == last + 1:
            last = number
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = number
    if first is not None and last is not None:
        yield first, last
