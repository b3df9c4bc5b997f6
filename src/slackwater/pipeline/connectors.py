"""The sources and sinks that a pipeline can name, each with its options.

A configuration is what the connector is given: a frozen dataclass that can travel to an executor.
The connectors themselves are `slackwater.spark.sources.<kind>` and `slackwater.spark.sinks.<kind>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from slackwater.core.errors import did_you_mean
from slackwater.core.names import ARRIVAL, RAW, is_reserved
from slackwater.pipeline.option import option, shown

__all__ = ["SINKS", "SOURCES", "ConsoleSink", "CsvSink", "DeltaSink", "DeltaSource", "FilesSource",
           "GatewaySource", "JsonSink", "KafkaSink", "KafkaSource", "NatsSource", "ParquetSink",
           "PostgresSink", "SinkConfig", "SourceConfig"]

Fault = tuple[str, str, str | None]  # option, problem, hint

_STARTING = ("earliest", "latest")

RECORD = {"key": "string", "key_bytes": "binary", "partition": "int", "offset": "bigint",
          "topic": "string", "timestamp": "timestamp",
          "headers": "array<struct<key: string, value: string>>"}
"""What a Kafka record has beside its value, and its type."""

MAX_ROWS = 200_000
"""A topic that has gathered rows for days starts at once, and no micro-batch outgrows the memory.
"""
MAX_BYTES = 1 << 28
"""Of wide rows a micro-batch has fewer: about so many bytes."""


@dataclass(frozen=True, repr=False)
class SourceConfig:
    """Base of the sources' configurations."""

    kind: ClassVar[str]

    @property
    def declared(self) -> dict[str, str]:
        """Columns and types of its rows; none: they are known once it is read."""
        return dict(getattr(self, "columns", {}))

    def __repr__(self) -> str:
        return _told(self)

    def faults(self) -> Iterator[Fault]:
        """Options that do not go together, as (option, problem, hint)."""
        yield from ()


@dataclass(frozen=True, repr=False)
class SinkConfig:
    """Base of the sinks' configurations."""

    kind: ClassVar[str]
    delivery: ClassVar[str] = "exactly once"

    def __repr__(self) -> str:
        return _told(self)

    def faults(self) -> Iterator[Fault]:
        """Options that do not go together, as (option, problem, hint)."""
        yield from ()


def _told(config: SourceConfig | SinkConfig) -> str:
    """Without secrets: a configuration may end up in a log."""
    parts = ", ".join(f"{name}={value!r}" for name, value in shown(config).items())
    return f"{type(config).__name__}({parts})"


def _needs_columns(columns: Mapping[str, str], form: str) -> Iterator[Fault]:
    if not columns:
        yield "columns", f"{form} does not say what its columns are", \
            "columns: {time: timestamp, device: string, value: double}"


@dataclass(frozen=True, repr=False)
class FilesSource(SourceConfig):
    """Files that appear in a folder, oldest first; a file's modification time is the arrival."""

    kind: ClassVar[str] = "files"

    path: str = option("path", doc="a folder, a file or a glob")
    format: str = option("choice", choices=("json", "csv", "parquet"),
                         doc="JSON lines, CSV or Parquet")
    columns: Mapping[str, str] = option("columns", {}, doc="name: type; Parquet may do without")
    max_files_per_batch: int | None = option(
        "count", None, doc="at most so many a micro-batch; else as many as have 256 MiB")
    header: bool = option("flag", True, doc="CSV: the first line of each file has the names")

    def faults(self) -> Iterator[Fault]:
        """JSON and CSV need columns."""
        if self.format in ("json", "csv"):
            yield from _needs_columns(self.columns, self.format.upper())


@dataclass(frozen=True, repr=False)
class KafkaSource(SourceConfig):
    """Topics of a Kafka broker; the record's timestamp is the arrival."""

    kind: ClassVar[str] = "kafka"

    servers: str = option("servers", doc="host:port, several with commas")
    topic: tuple[str, ...] = option("texts", doc="one topic, or a list")
    format: str = option("choice", "json", choices=("json", "avro"), doc="of the values")
    columns: Mapping[str, str] = option("columns", {}, doc="JSON: name: type")
    schema: str | None = option("avro", None, doc="Avro: the schema, or a file that holds it")
    starting: str = option("choice", "earliest", choices=_STARTING, doc="where a first run begins")
    max_rows: int = option("count", MAX_ROWS, doc="at most so many a micro-batch")
    options: Mapping[str, str] = option("settings", {}, doc="further kafka.* options")
    record: Mapping[str, str] = option(
        "settings", {}, doc=f"column: what of the record it holds ({', '.join(RECORD)})")
    schemas: Mapping[str, str] = option(
        "avros", {}, doc="Avro in Confluent's frames: id: the schema, or a file that holds it")
    registry: str | None = option(
        "address", None, doc="Avro in Confluent's frames: http://host:8081 of the schema registry")

    @property
    def declared(self) -> dict[str, str]:
        """Columns and types, as far as they are known without the schema."""
        return {**self.columns, **{name: RECORD[what] for name, what in self.record.items()}} \
            if self.columns else {}

    def faults(self) -> Iterator[Fault]:
        """JSON needs columns, Avro a schema; a record has what it has."""
        for name, what in self.record.items():
            if what not in RECORD:
                yield "record", f"a record has no {what!r}", did_you_mean(what, RECORD) or \
                    f"{name}: one of {', '.join(RECORD)}"
            if name in self.columns:
                yield "record", f"there is a column {name!r} already", "rename one of them"
            if is_reserved(name) or name.casefold() in (ARRIVAL, RAW):
                yield "record", f"{name!r} is a name that Slackwater gives itself", \
                    "rename the column"
        if self.schemas and self.format != "avro":
            yield "schemas", "are for format: avro", None
        if self.registry is not None and self.format != "avro":
            yield "registry", "is for format: avro", None
        if self.registry is not None and self.schemas:
            yield "registry", "has the schemas", "leave out schemas, or the registry"
        for one in self.schemas:
            if not one.isdecimal():
                yield "schemas", f"{one!r} is not the id of a schema", "7: event.avsc"
        if self.format == "json":
            yield from _needs_columns(self.columns, "JSON")
            if self.schema is not None:
                yield "schema", "is for format: avro", None
        elif self.schema is None and self.registry is None:
            yield "schema", "Avro values cannot be read without their schema", "schema: event.avsc"


@dataclass(frozen=True, repr=False)
class NatsSource(SourceConfig):
    """A JetStream stream of a NATS server; the server's time is the arrival."""

    kind: ClassVar[str] = "nats"

    servers: str = option("servers", doc="host:port or nats://host:port, several with commas")
    stream: str = option("text", doc="the JetStream stream")
    subject: str | None = option("text", None, doc="only messages of this subject")
    format: str = option("choice", "json", choices=("json",), doc="of the messages")
    columns: Mapping[str, str] = option("columns", {}, doc="name: type")
    starting: str = option("choice", "earliest", choices=_STARTING, doc="where a first run begins")
    max_rows: int = option("count", MAX_ROWS, doc="at most so many a micro-batch")
    token: str | None = option("text", None, secret=True, doc="to be let in")
    user: str | None = option("text", None, doc="to be let in")
    password: str | None = option("text", None, secret=True, doc="of the user")

    def faults(self) -> Iterator[Fault]:
        """JSON needs columns; there is one way to be let in."""
        yield from _needs_columns(self.columns, "JSON")
        if self.token is not None and self.user is not None:
            yield "token", "token and user are two ways to be let in", "leave one out"
        if (self.user is None) != (self.password is None):
            have, lack = (("password", "user") if self.user is None else ("user", "password"))
            yield have, f"goes with {lack}, which is missing", None


@dataclass(frozen=True, repr=False)
class GatewaySource(SourceConfig):
    """The log that `slackwater gateway` writes; its stamp is the arrival."""

    kind: ClassVar[str] = "gateway"

    path: str = option("path", doc="the log's folder")
    columns: Mapping[str, str] = option("columns", {}, doc="name: type")
    starting: str = option("choice", "earliest", choices=_STARTING, doc="where a first run begins")
    max_rows: int = option("count", MAX_ROWS, doc="at most so many a micro-batch")
    reader: str | None = option("text", None, doc="whose position holds retention back; else the "
                                                   "pipeline's name")

    def faults(self) -> Iterator[Fault]:
        """The log holds JSON, which needs columns."""
        yield from _needs_columns(self.columns, "the gateway's log")


@dataclass(frozen=True, repr=False)
class DeltaSource(SourceConfig):
    """Rows as they are added to a Delta table; a file's time is the arrival."""

    kind: ClassVar[str] = "delta"

    path: str = option("path", doc="the table's folder")
    starting: str = option("choice", "earliest", choices=_STARTING, doc="where a first run begins")
    max_rows: int = option("count", MAX_ROWS, doc="at most so many a micro-batch, in whole files")


@dataclass(frozen=True, repr=False)
class ParquetSink(SinkConfig):
    """Parquet files in a folder a micro-batch."""

    kind: ClassVar[str] = "parquet"
    path: str = option("path", doc="the folder")


@dataclass(frozen=True, repr=False)
class JsonSink(SinkConfig):
    """JSON lines in a folder a micro-batch."""

    kind: ClassVar[str] = "json"
    path: str = option("path", doc="the folder")


@dataclass(frozen=True, repr=False)
class CsvSink(SinkConfig):
    """CSV files with a header in a folder a micro-batch."""

    kind: ClassVar[str] = "csv"
    path: str = option("path", doc="the folder")


@dataclass(frozen=True, repr=False)
class ConsoleSink(SinkConfig):
    """Rows on standard output, for people."""

    kind: ClassVar[str] = "console"
    delivery: ClassVar[str] = "at least once"
    rows: int = option("count", 20, doc="at most so many a micro-batch")


@dataclass(frozen=True, repr=False)
class KafkaSink(SinkConfig):
    """Each row as JSON in a Kafka topic."""

    kind: ClassVar[str] = "kafka"
    delivery: ClassVar[str] = "at least once"
    servers: str = option("servers", doc="host:port, several with commas")
    topic: str = option("text", doc="the topic")
    key: str | None = option("key", None, doc="the column that becomes the record's key")
    options: Mapping[str, str] = option("settings", {}, doc="further kafka.* options")


@dataclass(frozen=True, repr=False)
class DeltaSink(SinkConfig):
    """A Delta table; the batch id is its transaction."""

    kind: ClassVar[str] = "delta"
    path: str = option("path", doc="the table's folder")


@dataclass(frozen=True, repr=False)
class PostgresSink(SinkConfig):
    """A PostgreSQL table, made if it is missing; the batch id is kept in the same transaction."""

    kind: ClassVar[str] = "postgres"
    url: str = option("url", doc="postgresql://user:password@host/database")
    table: str = option("text", doc="the table, or schema.table")
    key: tuple[str, ...] = option("keys", (), doc="columns of the upsert; none: rows are added")


def _by_kind(*kinds: Any) -> dict[str, Any]:
    return {kind.kind: kind for kind in kinds}


SOURCES: dict[str, type[SourceConfig]] = _by_kind(FilesSource, KafkaSource, NatsSource,
                                                  GatewaySource, DeltaSource)
"""The sources' configurations by kind."""

SINKS: dict[str, type[SinkConfig]] = _by_kind(ParquetSink, JsonSink, CsvSink, ConsoleSink,
                                              KafkaSink, DeltaSink, PostgresSink)
"""The sinks' configurations by kind."""
