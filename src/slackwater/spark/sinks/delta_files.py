"""Rows to Parquet files of a Delta table: what a task does, and what it tells the driver of them.

A file is in the table only once the driver has committed it: those of a task that failed, or was
run twice, stay behind unseen until the table is vacuumed.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from slackwater.core.state.ipc import joined

__all__ = ["FILES", "write_files"]

FILES = "path string, size bigint, modified bigint, partition string, stats string"
"""What the driver is told of each file; partition and stats are JSON."""

_FILES_ARROW = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modified", pa.int64()),
                          ("partition", pa.string()), ("stats", pa.string())])
_BYTES = 1 << 26  # of the rows of one file, as Arrow: bounds a task's memory
_BUFFER = 1 << 20

Batches = Iterator[pa.RecordBatch]


def write_files(uri: str, by: list[str]) -> Callable[[Batches], Batches]:
    """For mapInArrow: rows → what was written of them.

    Parameters
    ----------
    uri
        The table.
    by
        The table's partition columns.
    """

    def run(batches: Batches) -> Batches:
        waiting: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            waiting.append(batch)
            size += batch.nbytes
            if size >= _BYTES:
                yield _written(uri, joined(waiting), by)
                waiting, size = [], 0
        if size:
            yield _written(uri, joined(waiting), by)

    return run


def _written(uri: str, rows: pa.RecordBatch, by: list[str]) -> pa.RecordBatch:
    files = [_file(uri, part, values) for values, part in _parts(rows, by) if part.num_rows]
    return pa.RecordBatch.from_pylist(files, _FILES_ARROW)


def _parts(rows: pa.RecordBatch, by: list[str]) -> Iterator[tuple[dict[str, Any], pa.RecordBatch]]:
    """The rows by the values of the partition columns, which are not in the files themselves."""
    if not by:
        yield {}, rows
        return
    texts = {name: _text(rows.column(name)) for name in by}
    rest = rows.drop_columns(by)
    group: dict[tuple[Any, ...], int] = {}
    place = np.array([group.setdefault(values, len(group))
                      for values in zip(*(t.to_pylist() for t in texts.values()), strict=True)])
    for values, number in group.items():
        yield dict(zip(by, values, strict=True)), rest.take(pa.array(np.flatnonzero(
            place == number)))


def _text(column: pa.Array) -> pa.Array:
    """A partition column as Delta's log has its values."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"))
    return column.cast(pa.string())


def _file(uri: str, rows: pa.RecordBatch, partition: dict[str, Any]) -> dict[str, Any]:
    from deltalake.fs import DeltaStorageHandler

    # Of the values the log tells nothing: what a text, a NaN or a decimal is there differs between
    # readers, and one of them misses rows where some columns are told and others not. The files
    # have their own numbers, per column and exact.
    path = f"part-{uuid.uuid4()}.snappy.parquet"
    # the table's own store, wherever it is; it takes plain bytes only, which the buffer makes
    store = pa.fs.PyFileSystem(DeltaStorageHandler(uri))
    with pa.BufferedOutputStream(store.open_output_stream(path), _BUFFER) as stream:
        pq.write_table(pa.Table.from_batches([rows]), stream)
    return {"path": path, "size": store.get_file_info(path).size,
            "modified": time.time_ns() // 1_000_000,
            "partition": json.dumps(partition), "stats": json.dumps({"numRecords": rows.num_rows})}
