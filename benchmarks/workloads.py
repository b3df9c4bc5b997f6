"""Inputs that several benchmarks share, generated and seeded."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = 1_700_000_000_000_000
STAMP = pa.timestamp("us", "UTC")


def disordered(rows: int, *, keys: int = 1, first: int = 0, gap: int = 100,
               delay: int = 200_000, seed: int = 1) -> pa.Table:
    """Rows in arrival order: one event each `gap` µs, exponential delays of mean `delay` µs."""
    rng = np.random.default_rng((seed, first))
    time = START + (first + np.arange(rows)) * gap
    arrival = time + rng.exponential(delay, rows).astype(np.int64) + 10_000
    order = np.argsort(arrival, kind="stable")
    return pa.table({
        "key": pa.array(rng.integers(0, keys, rows)),
        "time": pa.array(time[order]).cast(STAMP),
        "arrival": pa.array(arrival[order]).cast(STAMP),
        "value": rng.random(rows),
    })


def micro_batches(folder: Path, batches: int, rows: int, **options: int) -> None:
    """One Parquet file a micro-batch, in the order in which Spark takes them."""
    folder.mkdir(parents=True)
    for b in range(batches):
        file = folder / f"{b:04}.parquet"
        pq.write_table(disordered(rows, first=b * rows, **options), file)
        os.utime(file, (1_700_000_000 + b,) * 2)
