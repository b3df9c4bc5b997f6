"""Rows as they are added to a Delta table, by deltalake: offsets are versions and files of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, MutableMapping, Sequence

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from slackwater.core.errors import ConfigError
from slackwater.pipeline.columns import ARRIVAL, RAW
from slackwater.pipeline.connectors import MAX_BYTES, DeltaSource
from slackwater.spark.runner.arrow_types import to_arrow, to_spark
from slackwater.spark.runner.columns import quoted
from slackwater.spark.runner.packing import canonical_schema
from slackwater.spark.runner.position import in_versions
from slackwater.spark.sources.delta_log import Added, DeltaLog
from slackwater.spark.sources.python_source import (
    PythonReader,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    fitted,
    python_stream,
)

__all__ = ["read"]

_ADDED = pa.schema([("_modified", pa.timestamp("us", "UTC")), ("_version", pa.int64()),
                    ("_file", pa.int64())])
_BATCH = 1 << 16  # rows

Offset = dict[str, int]


def read(session: SparkSession, config: DeltaSource) -> DataFrame:
    """The rows of a table, first those that it has, then those that are added.

    A file's time is its rows' arrival.  A version that deletes or rewrites rows ends the query.
    """
    if importlib.util.find_spec("deltalake") is None:
        raise ConfigError("the Delta source needs deltalake", step="delta",
                          hint='pip install "slackwater[delta]"')
    import deltalake
    from deltalake.exceptions import TableNotFoundError

    try:
        table = deltalake.DeltaTable(config.path)
    except TableNotFoundError:
        raise ConfigError("there is no Delta table", step="delta", got=config.path,
                          hint="its columns are those of the pipeline: it must be there first"
                          ) from None
    DeltaLog(table.table_uri).check()
    columns = canonical_schema(pa.schema(
        [pa.field(f.name, _plain(f.type)) for f in pa.schema(table.schema().to_arrow())]))
    df = (python_stream(session, Delta)
          .schema(to_spark(pa.schema([*columns, *_ADDED])))
          .option("uri", table.table_uri).option("starting", config.starting)
          .option("max_rows", config.max_rows).load())
    return df.select(*[F.col(quoted(name)) for name in columns.names],
                     F.col("_modified").alias(ARRIVAL), F.lit(None).cast("string").alias(RAW),
                     in_versions(F.col("_version"), F.col("_file")))


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type as Spark has it: no large forms and no views."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _plain(f.type)) for f in kind])
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    return kind


class Delta(DataSource):
    """Options: `uri`, `starting`, `max_rows`."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "slackwater_delta"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader on the driver, and on the executors."""
        return fitted(DeltaReader(self.options, to_arrow(schema)), self.options)


class _File(InputPartition):
    def __init__(self, added: Added) -> None:
        self.added = added


class DeltaReader(PythonReader):
    """An offset: versions before `version` were read, and so many `files` of that one.

    What the table had at the start, in version `first`, is read like one large version.
    """

    def __init__(self, options: MutableMapping[str, str], schema: pa.Schema) -> None:
        self._log, self._schema = DeltaLog(options["uri"]), schema
        self._latest = options["starting"] == "latest"
        self._max_rows = int(options["max_rows"])
        self._last: int | None = None
        self._snapshot: dict[int, tuple[Added, ...]] = {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """As many rows as the options say."""
        return ReadMaxRows(self._max_rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Go as far as the table goes now."""
        self._last = self._log.last()

    def initialOffset(self) -> Offset:  # noqa: N802
        """The table as it is, or what is added to it from now on."""
        now = self._log.last()
        return ({"first": -1, "version": now + 1, "files": 0} if self._latest else
                {"first": now, "version": now, "files": 0})

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Whole files, at least one, up to the limits on rows and bytes."""
        last = self._log.last() if self._last is None else self._last
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        bounded = not isinstance(limit, ReadAllAvailable)
        at, size, count, some = dict(start), 0, 0, False
        while at["version"] <= last:
            for added in self._files(at)[at["files"]:]:
                size, count = size + added.size, count + (added.rows or 0)
                if bounded and some and (size > MAX_BYTES or (rows is not None and count > rows)):
                    return at
                at["files"], some = added.index + 1, True
            at = {**at, "version": at["version"] + 1, "files": 0}
        return at

    def everything(self) -> Offset:
        """All versions; which one was the first does not matter any more after them."""
        return {"first": -1, "version": self._log.last() + 1, "files": 0}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """One a file."""
        found: list[InputPartition] = []
        at = dict(start)
        while (at["version"], at["files"]) < (end["version"], end["files"]):
            files = self._files(at)
            if at["version"] == end["version"]:
                files = files[:end["files"]]
            found += [_File(added) for added in files[at["files"]:]]
            at = {**at, "version": at["version"] + 1, "files": 0}
        return found

    def _files(self, at: Offset) -> tuple[Added, ...]:
        version = at["version"]
        if version != at["first"]:
            return self._log.commit(version)
        if version not in self._snapshot:
            self._snapshot = {version: self._log.snapshot(version)}
        return self._snapshot[version]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a file, with the columns that the table has in its folders."""
        assert isinstance(partition, _File)
        added = partition.added
        system, root = pyarrow.fs.FileSystem.from_uri(self._log.uri)
        beside = dict(added.partition)
        moment = pa.scalar(added.modified * 1000, pa.int64()).cast(_ADDED.field(0).type)
        with system.open_input_file(f"{root.rstrip('/')}/{added.path}") as file:
            for batch in pq.ParquetFile(file).iter_batches(_BATCH):
                columns = []
                for column in self._schema:
                    if column.name == "_modified":
                        found = pa.repeat(moment, batch.num_rows)
                    elif column.name in ("_version", "_file"):
                        number = added.version if column.name == "_version" else added.index
                        found = pa.repeat(pa.scalar(number, pa.int64()), batch.num_rows)
                    elif column.name in batch.schema.names:
                        found = batch.column(column.name)
                    else:  # a column that was added later is null in older files
                        found = pa.repeat(pa.scalar(beside.get(column.name), pa.string()),
                                          batch.num_rows)
                    columns.append(found if found.type == column.type else found.cast(column.type))
                yield pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def commit(self, end: Offset) -> None:
        """Nothing to let go: the table keeps its files."""
