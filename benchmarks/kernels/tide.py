"""What source awareness costs: `Tide` against a policy that looks at delays alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from benchmarks.result import Result, best_of
from slackwater import Reorder, Roles
from slackwater.reorder import MeanPlusRange, Policy, Tide

_START = 1_700_000_000_000_000
_ROLES = Roles("time", "arrival", source="source", sequence="sequence", unit="us")
_BATCH = 100_000
_KEYED = replace(_ROLES, key=("source",))  # each source a key of its own


def feed(rows: int, sources: int, seed: int = 1) -> list[pa.RecordBatch]:
    """Sources that take turns, 10 000 events a second, lognormal delays around 100 ms."""
    rng = np.random.default_rng(seed)
    time = np.arange(rows) * 100
    arrival = time + (1e5 * np.exp(rng.normal(0, 0.3, rows))).astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    number = np.arange(rows)
    batch = pa.record_batch({
        "time": _START + time[order], "arrival": _START + arrival[order],
        "source": pa.array([f"s{n}" for n in range(sources)]).take(
            pa.array((number % sources)[order])),
        "sequence": (number // sources)[order],
    })
    return [batch.slice(at, _BATCH) for at in range(0, rows, _BATCH)]


def push(policy: Policy, batches: list[pa.RecordBatch], roles: Roles = _ROLES) -> None:
    """All batches, then the end."""
    logic = Reorder(policy, roles).start()
    for batch in batches:
        logic.push(batch)
    logic.finish()


def run() -> list[Result]:
    """Time whole pushes: reading, policy, release and words."""
    few, many, most = feed(1_000_000, 15), feed(1_000_000, 1500), feed(1_000_000, 100_000)
    push(Tide(), few[:1])
    push(MeanPlusRange(), few[:1])
    tide = best_of(3, lambda: push(Tide(), few))
    return [
        Result("Tide, 1 M rows, 15 sources", tide, "MeanPlusRange",
               best_of(3, lambda: push(MeanPlusRange(), few)), limit=4.0,
               detail=f"{1 / tide:.2f} M rows/s with a reason for every row"),
        Result("Tide, 1500 sources", best_of(3, lambda: push(Tide(), many)), "Tide, 15 sources",
               tide, limit=3.0),
        Result("Tide, 100,000 sources", best_of(2, lambda: push(Tide(), most)), "Tide, 15 sources",
               tide, limit=6.0),
        Result("Tide, 100,000 keys", best_of(2, lambda: push(Tide(), most, _KEYED)),
               "MeanPlusRange, 100,000 keys",
               best_of(2, lambda: push(MeanPlusRange(), most, _KEYED)), limit=4.0),
    ]
