"""Events of hosts with delays of their own, for a topic."""

from __future__ import annotations

import json

import numpy as np

SECOND = 1_000_000
START = 1_700_000_000 * SECOND


def records(rows: int) -> list[bytes]:
    """By arrival: hosts with delays of their own, some rows far behind, some without a time."""
    rng = np.random.default_rng(11)
    at = START + np.cumsum(rng.exponential(20_000, rows)).astype(np.int64)
    host = rng.integers(0, 6, rows)
    host[:6] = np.arange(6)
    delay = rng.exponential(100_000 * (1 + host)) + np.where(rng.random(rows) < 0.02, 8 * SECOND, 0)
    delay[:6] = 0
    arrival = np.argsort(at + delay, kind="stable")
    stamps = [str(t) for t in at.astype("datetime64[us]")]
    received = [str(t) for t in (at + delay).astype(np.int64).astype("datetime64[us]")]
    return [json.dumps({"id": int(i), "time": None if i % 701 == 700 else f"{stamps[i]}Z",
                        "received": f"{received[i]}Z", "host": f"h{host[i]}",
                        "v": int(i % 10)}).encode() for i in arrival]
