"""Parquet files, a folder a micro-batch.

On a disk that driver and executors share the tasks write them from Arrow, which takes a fraction of
what Spark's own writer does row by row; elsewhere Spark writes them.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession

from slackwater.pipeline.connectors import ParquetSink
from slackwater.spark.runner.arrow_types import has_variant
from slackwater.spark.sinks.batch_folders import BatchFolders
from slackwater.spark.sinks.rows import Rows

__all__ = ["open_sink"]

_CODEC = "spark.sql.parquet.compression.codec"
_CODECS = {"snappy": "snappy", "zstd": "zstd", "gzip": "gzip", "brotli": "brotli",
           "lz4_raw": "lz4", "none": "none", "uncompressed": "none"}
"""Spark's names, and Arrow's."""
_GROUP = 1 << 26  # bytes of the rows of a row group, as Arrow: bounds a task's memory
_WRITTEN = "name string"

Batches = Iterator[pa.RecordBatch]


class _ParquetFolders(BatchFolders):
    def write(self, rows: Rows, batch_id: int) -> None:
        home = _near(self.path, rows.session)
        codec = _CODECS.get(str(rows.session.conf.get(_CODEC, "snappy")).lower())
        if home is None or codec is None or not (rows.exact and _alike(rows.schema)):
            super().write(rows, batch_id)
            return
        folder = home / f"batch_id={batch_id}"
        if folder.exists():
            shutil.rmtree(folder)  # of an attempt that died
        # readers pass over what begins so, whatever becomes of this attempt
        under_way = folder / f"_temporary-{uuid.uuid4()}"
        under_way.mkdir(parents=True)
        for file in rows.give_to(_write_file(str(under_way), rows.schema, codec), _WRITTEN):
            (under_way / file.name).rename(folder / file.name)
        shutil.rmtree(under_way)
        (folder / "_SUCCESS").touch()


def _near(path: str, session: SparkSession) -> Path | None:
    """The folder, if it is on a disk that driver and executors share; else None."""
    if path.startswith("file:"):
        return Path("/" + path.removeprefix("file:").lstrip("/"))
    alone = str(session.conf.get("spark.master", "")).startswith("local")
    return Path(path) if alone and "://" not in path else None


def _alike(columns: pa.Schema) -> bool:
    """Whether Arrow and Spark write columns in the same way.

    Spark refuses names that differ in nothing but their case: it could not read them.
    """
    names = {name.casefold() for name in columns.names}
    return len(names) == len(columns.names) and all(map(_plain, columns.types))


def _plain(kind: pa.DataType) -> bool:
    if has_variant(kind):
        return False
    if pa.types.is_nested(kind):
        return all(_plain(kind.field(i).type) for i in range(kind.num_fields))
    return not (pa.types.is_duration(kind) or pa.types.is_interval(kind) or pa.types.is_null(kind))


def _repeats(kind: pa.DataType) -> bool:
    """Whether values are likely to come again: to look for a dictionary takes half of the time."""
    return not (pa.types.is_floating(kind) or pa.types.is_timestamp(kind))


def _write_file(folder: str, schema: pa.Schema, codec: str) -> Callable[[Batches], Batches]:
    """For mapInArrow: rows → the name of the file that has them."""

    def run(batches: Batches) -> Batches:
        context = TaskContext.get()
        part = context.partitionId() if context is not None else 0
        name = f"part-{part:05}-{uuid.uuid4()}.{codec}.parquet"
        writer: pq.ParquetWriter | None = None
        waiting: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            waiting.append(batch)
            size += batch.nbytes
            writer = writer or pq.ParquetWriter(
                os.path.join(folder, name), schema, compression=codec,
                use_dictionary=[field.name for field in schema if _repeats(field.type)])
            if size >= _GROUP:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting, size = [], 0
        if writer is not None:
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting))
            writer.close()
            yield pa.record_batch({"name": [name]})

    return run


def open_sink(config: ParquetSink, name: str) -> BatchFolders:
    """Write to the folder that the configuration names."""
    return _ParquetFolders(config.path, "parquet")
