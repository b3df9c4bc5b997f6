"""Paper 4's Algorithm 1 to the letter, against the algorithm written out plainly."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.reorder import DropRatio, Reorder
from slackwater.reorder.policies.drop_ratio_paper import buffer_size, simple_buffer_size

START = 1_700_000_000_000_000
TICK = 1000
ROLES = Roles("time", "arrival", unit="us")


def plainly(times: list[int], arrivals: list[int], z: float, every: int,
            estimate: int) -> list[int]:
    """Which arrivals are dropped: Figure 4 of the paper, line by line, in ticks.

    The estimate is made from the second sample on, and not before 30 arrivals: one sample has no
    deviation.  Until then nothing is sent out.
    """
    held: list[int] = []
    samples: list[tuple[int, int]] = []
    size, t1, dropped, since = None, None, [], arrivals[0]
    for c, (t, a) in enumerate(zip(times, arrivals, strict=True)):
        if size is not None and held:
            t1 = min(held)                                   # (6) and the text: the heartbeat
        if c % every == 0:                                   # (1)
            samples.append((a - t, a))
        due = c % estimate == 0 or a - since >= 1_000_000 // TICK
        if due and len(samples) >= 2 and c >= min(estimate, 30):  # (2) … (4)
            delays = np.array([d for d, _ in samples], float) * TICK
            theta = (samples[-1][1] - samples[0][1]) * TICK / ((len(samples) - 1) * every)
            size_of = buffer_size if theta > 1e4 else simple_buffer_size
            size, since = size_of(z, float(delays.std()), max(theta, 1e-3)), a
        if t1 is not None and t < t1:                        # (8), (9)
            dropped.append(c)
            continue
        held.append(t)                                       # (13); (10), (11) leave at once
        while size is not None and len(held) > size and min(held) < max(held):
            earliest = min(held)
            held = [h for h in held if h != earliest]        # all with the earliest timestamp
    return dropped


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 200)), min_size=60, max_size=200),
       st.sampled_from([10, 40]))
def test_the_option_drops_what_the_algorithm_drops(steps, estimate):
    arrivals = np.cumsum([gap for gap, _ in steps])
    times = arrivals - np.array([delay for _, delay in steps])
    batch = pa.record_batch({"time": START + times * TICK, "arrival": START + arrivals * TICK,
                             "n": np.arange(len(steps))})
    policy = DropRatio(0.05, literal=True, heartbeat="earliest", sample_every=2,
                       estimate_every=estimate, samples=500, tick=TICK)
    out = Reorder(policy, ROLES).start().push(batch)
    z = 1.6448536269514722
    base = START // TICK
    expected = plainly((base + times).tolist(), (base + arrivals).tolist(), z, 2, estimate)
    assert out.late["n"].to_pylist() == expected


def test_the_heartbeat_is_the_earliest_tuple_held():
    """An event before the earliest one held is dropped, though nothing after it has left.

    Sixty events with a constant delay: σ is 0 and the buffer has its least size, 30.
    """
    times = [10 * n for n in range(60)]
    arrivals = [t + 600 for t in times]
    first = min(t for t in times[30:])
    rows = [*zip(times, arrivals, strict=True)]
    for heartbeat, late in (("released", 0), ("earliest", 1)):
        policy = DropRatio(0.3, literal=True, heartbeat=heartbeat, sample_every=1,
                           estimate_every=30, tick=TICK)
        batch = pa.record_batch({
            "time": [START + t * TICK for t, _ in rows] + [START + (first - 5) * TICK,
                                                           START + first * TICK],
            "arrival": [START + a * TICK for _, a in rows] + [START + 1200 * TICK] * 2,
        })
        logic = Reorder(policy, ROLES).start()
        out = logic.push(batch)
        # between the last that left (290) and the first that is held (300) lies 295
        assert out.late["time"].to_pylist() == [START + (first - 5) * TICK] * late


def test_equation_12_is_equation_11_at_high_rates():
    for sigma in (0.5, 3.0):
        assert simple_buffer_size(2.326, sigma, 1e-4) == pytest.approx(
            buffer_size(2.326, sigma, 1e-4), rel=1e-3)
    assert simple_buffer_size(2.326, 1.0, 1.0) == 30


def test_a_reservoir_is_deterministic_and_estimates_alike():
    rng = np.random.default_rng(1)
    time = np.cumsum(rng.exponential(1e3, 60_000)).astype(np.int64) + START
    arrival = time + np.abs(rng.normal(3e5, 1e5, 60_000)).astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    batch = pa.record_batch({"time": time[order], "arrival": arrival[order]})
    held = {}
    for sampling in ("every", "reservoir"):
        policy = DropRatio(0.01, literal=True, sampling=sampling, samples=256)
        runs = [Reorder(policy, ROLES).start().push(batch) for _ in range(2)]
        assert runs[0].ready.equals(runs[1].ready)
        held[sampling] = runs[0].notes["held"]
    assert held["reservoir"] == pytest.approx(held["every"], rel=0.1)


@pytest.mark.parametrize("option", [{"heartbeat": "latest"}, {"sampling": "none"}])
def test_unknown_ways_are_refused(option):
    with pytest.raises(ConfigError, match="paper's ways"):
        DropRatio(0.01, literal=True, **option)
