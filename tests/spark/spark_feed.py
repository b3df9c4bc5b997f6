"""A disordered feed as Parquet files, and what the kernel makes of it in-process."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = 1_700_000_000_000_000


def feed(rows: int, *, keys: int = 5, seed: int = 3, poison: bool = True) -> pa.Table:
    """Rows in arrival order; arrivals are distinct, so that no tie depends on the file's cut."""
    rng = np.random.default_rng(seed)
    time = START + np.arange(rows) * 2_000
    delay = rng.exponential(60_000, rows).astype(np.int64)
    delay[rng.random(rows) < 0.02] += 900_000
    arrival = np.sort(time + delay) + np.arange(rows)
    order = np.argsort(time + delay, kind="stable")
    time = time[order]
    stamps = pa.array(time, mask=(rng.random(rows) < 0.002) if poison else None)
    if poison:
        future = time.copy()
        future[rng.integers(0, rows, 3)] = 4_070_908_800_000_000
        stamps = pa.array(future, mask=rng.random(rows) < 0.002)
    return pa.table({
        "row": np.arange(rows),
        "time": stamps.cast(pa.timestamp("us", "UTC")),
        "arrival": pa.array(arrival).cast(pa.timestamp("us", "UTC")),
        "key": [f"k{k}" for k in rng.integers(0, keys, rows)],
        "value": rng.normal(size=rows).round(3),
    })


def write_files(table: pa.Table, folder: Path, files: int) -> None:
    """The table cut into files whose names and times sort in arrival order."""
    size = -(-table.num_rows // files)
    write_parts([table.slice(i * size, size) for i in range(files)], folder)


def write_parts(parts: list[pa.Table], folder: Path) -> None:
    """A file a table; names and times sort in the order of the tables."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, part in enumerate(parts):
        file = folder / f"{i:04}.parquet"
        pq.write_table(part, file)
        os.utime(file, (1_700_000_000 + i, 1_700_000_000 + i))  # Spark takes the oldest file first


def fates(rows) -> dict:
    """Per key and status, the rows in the order in which they came, with when and why."""
    found: dict = {}
    for r in rows:
        found.setdefault((r["key"], r["_status"]), []).append(
            (r["row"], r["_reason"], r["_released"]))
    return found


def expected(kernel, table: pa.Table, *, finish: bool) -> dict:
    """The same, from the kernel in-process."""
    logic = kernel.start()
    outs = [logic.push(batch) for batch in table.combine_chunks().to_batches()]
    if finish:
        outs.append(logic.finish())
    rows = [{**r, "_status": status} for out in outs
            for status in ("ready", "late", "quarantined")
            for r in getattr(out, status).to_pylist()]
    return fates(rows)
