"""A small disordered stream with every column that a role may ask for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

__all__ = ["sample_events"]

_START = 1_700_000_000_000_000


def sample_events(rows: int = 120, *, seed: int = 7, keys: int = 3, sources: int = 4,
                  bad: bool = True) -> pa.RecordBatch:
    """Events in arrival order: ties, negative delays, a few rows without a usable time.

    Examples
    --------
    >>> sample_events(3, bad=False).schema.names
    ['row', 'time', 'arrival', 'key', 'source', 'sequence', 'type', 'value']
    """
    rng = np.random.default_rng(seed)
    time = _START + np.sort(rng.integers(0, rows * 20, rows)) * 1000
    delay = rng.choice([-10, 0, 30, 80, 400], rows, p=[0.05, 0.15, 0.4, 0.3, 0.1]) * 1000
    arrival = time + delay
    order = np.argsort(arrival, kind="stable")
    time, arrival = time[order], arrival[order]
    source = rng.integers(0, sources, rows)
    sequence = np.zeros(rows, np.int64)
    for s in range(sources):
        mine = np.flatnonzero(source == s)
        sequence[mine[np.argsort(time[mine], kind="stable")]] = np.arange(len(mine))
    stamps = pa.array(time).cast(pa.timestamp("us", "UTC"))
    if bad and rows > 20:
        mask = np.zeros(rows, bool)
        mask[rng.integers(0, rows, 2)] = True
        poisoned = time.copy()
        poisoned[rng.integers(0, rows)] = 4_070_908_800_000_000  # the year 2099
        stamps = pa.array(poisoned, mask=mask).cast(pa.timestamp("us", "UTC"))
    return pa.record_batch({
        "row": pa.array(np.arange(rows)),
        "time": stamps,
        "arrival": pa.array(arrival).cast(pa.timestamp("us", "UTC")),
        "key": pa.array([f"k{k}" for k in rng.integers(0, keys, rows)]),
        "source": pa.array([f"s{s}" for s in source]),
        "sequence": pa.array(sequence),
        "type": pa.array([("A", "B", "C")[i] for i in rng.integers(0, 3, rows)]),
        "value": pa.array(np.round(rng.normal(10, 3, rows), 2)),
    })
