"""Record when the rows of a running job happened and arrived: a sample to advise and tune on."""

from __future__ import annotations

import os
import time as clock
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame

from slackwater.core.events import Roles

__all__ = ["tap"]

_STAMP = pa.timestamp("us", "UTC")


def tap(df: DataFrame, folder: str | Path, *, time: str = "time", arrival: str | None = None,
        source: str | None = None, most: int = 1_000_000) -> DataFrame:
    """Hand rows on as they are, and write the time, arrival and source of each into a folder.

    ``slackwater advise FOLDER``, ``profile`` and ``tune`` read the folder.  Put it before
    ``withWatermark``.  Each task writes a file of its own when it is done, so the folder must be
    one that all executors share; a task that Spark repeats writes its rows again.

    Parameters
    ----------
    df
        A streaming or batch DataFrame.
    folder
        Where the sample goes; made if missing.
    time, arrival, source
        Columns; without `arrival`, a row arrives when the task sees it.
    most
        When the folder has so many rows, no more are written.
    """
    roles = Roles(time, arrival, source)
    roles.check(df.columns, step="tap")
    names = {"time": time, "arrival": arrival, "source": source}
    where = str(Path(folder).absolute())

    def record(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sample = []
        for batch in batches:
            now = pa.scalar(round(clock.time() * 1e6)).cast(_STAMP)
            sample.append(pa.RecordBatch.from_arrays(
                [batch.column(name) if name is not None
                 else pa.repeat(now, batch.num_rows)
                 for role, name in names.items() if name is not None or role == "arrival"],
                names=[role for role, name in names.items()
                       if name is not None or role == "arrival"]))
            yield batch
        rows = pa.Table.from_batches(sample) if sample else None
        if rows is not None and rows.num_rows and _recorded(where) < most:
            _write(rows, where)

    return df.mapInArrow(record, df.schema)


def _write(rows: pa.Table, folder: str) -> None:
    """One whole file, or none: a reader never sees half of it."""
    os.makedirs(folder, exist_ok=True)
    name = f"rows-{clock.time_ns()}-{uuid.uuid4().hex[:8]}-{rows.num_rows}.parquet"
    hidden = os.path.join(folder, f".{name}")
    pa.parquet.write_table(rows, hidden)
    os.replace(hidden, os.path.join(folder, name))


def _recorded(folder: str) -> int:
    """How many rows there are, told from the files' names."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return 0
    return sum(int(name.rpartition("-")[2].removesuffix(".parquet")) for name in names
               if name.startswith("rows-"))
