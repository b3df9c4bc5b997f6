"""A reader that lags gives the late rows of one that keeps pace: time is that of the arrivals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from slackwater import Reorder, Roles
from slackwater.synchronise import FrontierSync

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
ROLES = Roles("time", "arrival", "source", key=("key",))


def disordered(rows: int = 4000, seed: int = 5) -> pa.RecordBatch:
    """Keys with pauses, sources with stalls: much for silence to be wrong about."""
    rng = np.random.default_rng(seed)
    time = START + np.cumsum(rng.exponential(40_000, rows)).astype(np.int64)
    time += np.where(np.arange(rows) > rows // 2, 90 * SECOND, 0)  # everybody is silent for long
    delay = rng.exponential(150_000, rows) + np.where(rng.random(rows) < 0.03, 4 * SECOND, 0)
    arrival = time + delay.astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    return pa.record_batch({
        "row": np.arange(rows), "time": pa.array(time[order]).cast(pa.timestamp("us", "UTC")),
        "arrival": pa.array(arrival[order]).cast(pa.timestamp("us", "UTC")),
        "key": [f"k{k}" for k in rng.integers(0, 3, rows)[order]],
        "source": [f"s{s}" for s in rng.integers(0, 6, rows)[order]],
        "value": np.arange(rows, dtype=float)})


KERNELS = {
    "Tide": Reorder("Tide(loss=1%)", ROLES),
    "DropRatio": Reorder("DropRatio(ratio=1%)", ROLES),
    "MeanPlusRange": Reorder("MeanPlusRange(n=50, offset=10ms)", ROLES),
    "KSlack": Reorder("KSlack(initial=50ms)", ROLES),
    "FrontierSync": FrontierSync(ROLES, max_delay="1s"),
}


def late_rows(kernel, events: pa.RecordBatch, batch: int, ticks: int) -> list[int]:
    """Read in batches; before each, time passes in `ticks` steps to its first arrival."""
    logic, late, before = kernel.start(), [], None
    for at in range(0, events.num_rows, batch):
        part = events.slice(at, batch)
        first = part["arrival"][0].cast(pa.int64()).as_py()
        for step in range(ticks if before is not None else 0):
            out = logic.tick(before + (first - before) * (step + 1) // ticks)
            late += out.late["row"].to_pylist() if out.late.num_columns else []
        late += logic.push(part).late["row"].to_pylist()
        before = part["arrival"][-1].cast(pa.int64()).as_py()
    return sorted(late + logic.finish().late["row"].to_pylist())


@pytest.mark.parametrize("name", KERNELS)
def test_lag_changes_no_late_row(name):
    kernel, events = KERNELS[name], disordered()
    live = late_rows(kernel, events, batch=20, ticks=3)
    assert 0 < len(live) < events.num_rows / 2, "a stream with no late rows shows nothing"
    assert late_rows(kernel, events, batch=4000, ticks=0) == live, "an hour late, at full speed"
    assert late_rows(kernel, events, batch=200, ticks=1) == live, "micro-batches ten times too slow"


@pytest.mark.parametrize("policy", ["Tide(loss=1%)", "DropRatio(ratio=1%)"])
def test_a_policy_knows_how_many_rows_are_late(policy):
    """Half the rows were late with a lagging reader, and the policy believed that none were."""
    roles = Roles("time", "arrival", "source")
    events = disordered(20_000)
    for batch, ticks in ((50, 2), (5000, 1), (20_000, 0)):
        late = late_rows(Reorder(policy, roles), events, batch, ticks)
        assert len(late) <= 0.02 * events.num_rows
