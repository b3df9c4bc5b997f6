"""One row, or one source, with a broken clock changes nothing for the others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from slackwater import Reorder, Roles

START = 1_700_000_000_000_000
LEARNING = ["LatestDelay", "WeightedMean", "DelayRange", "MeanPlusRange", "Kalman", "KSlack",
            "MaxDelay", "DropRatio", "Tide"]


def stream(rows=3000):
    rng = np.random.default_rng(4)
    time = START + np.arange(rows) * 20_000
    arrival = time + rng.integers(20_000, 400_000, rows)
    order = np.argsort(arrival, kind="stable")
    return time[order], arrival[order], rng.integers(0, 5, rows)


def outcome(policy, time, arrival, source, *, with_arrival=True):
    """What became of each honest row (source below 5)."""
    columns = {"row": np.arange(len(time)), "time": pa.array(time).cast(pa.timestamp("us", "UTC")),
               "source": [f"s{s}" for s in source], "honest": source < 5}
    if with_arrival:
        columns["arrival"] = pa.array(arrival).cast(pa.timestamp("us", "UTC"))
    roles = Roles("time", "arrival" if with_arrival else None, "source")
    logic = Reorder(policy, roles).start()
    outs = [logic.push(pa.record_batch(columns).slice(at, 100)) for at in range(0, len(time), 100)]
    waits = [r["_released"].timestamp() - START / 1e6 for o in outs for r in o.ready.to_pylist()
             if r["honest"]]
    late = [r["row"] for o in outs for r in o.late.to_pylist() if r["honest"]]
    return late, len(waits)


@pytest.mark.parametrize("policy", LEARNING)
@pytest.mark.parametrize("stamp", [0, START - 86_400_000_000])
def test_one_row_from_the_past_holds_nobody_up(policy, stamp):
    time, arrival, source = stream()
    late, left = outcome(policy, time, arrival, source)
    broken = time.copy()
    broken[1500] = stamp
    found, now_left = outcome(policy, broken, arrival, source)
    assert now_left >= left - 60, "rows are held because of one that is far too old"
    assert len(found) <= len(late) + 5


@pytest.mark.parametrize("policy", LEARNING)
def test_one_source_with_a_broken_clock_holds_nobody_up(policy):
    time, arrival, source = stream()
    late, left = outcome(policy, time, arrival, source)
    more = np.sort(np.random.default_rng(9).choice(len(time), 400, replace=False))
    time = np.insert(time, more, arrival[more] - 3 * 86_400_000_000)
    arrival, source = np.insert(arrival, more, arrival[more]), np.insert(source, more, 7)
    found, now_left = outcome(policy, time, arrival, source)
    # Tide takes the source's rows for a backlog at first, and waits a little
    assert now_left >= left - (200 if policy == "Tide" else 60)
    assert len(found) <= 1.5 * len(late) + 10


@pytest.mark.parametrize("policy", ["Static", "MeanPlusRange", "KSlack", "Tide"])
@pytest.mark.parametrize("at", [0, 1, 1500, 2999])
def test_one_row_from_the_future_makes_nobody_late(policy, at):
    """Without an arrival column the greatest time is the clock: one row must not carry it away."""
    time, arrival, source = stream()
    late, left = outcome(policy, time, arrival, source, with_arrival=False)
    broken = time.copy()
    broken[at] = 4_070_908_800_000_000
    found, now_left = outcome(policy, broken, arrival, source, with_arrival=False)
    assert len(found) <= len(late) + 5
    assert now_left >= left - 60
