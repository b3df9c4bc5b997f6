"""`Tide` keeps the share of late events, whatever the delays do; and who is better?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from slackwater import Reorder, Roles
from slackwater.datasets import (
    Bursty,
    Feed,
    Jittered,
    Pareto,
    Poisson,
    Regular,
    Stalls,
    generate,
    simulated,
)
from slackwater.evaluate import evaluate
from slackwater.reorder import Tide

START = 1_700_000_000_000_000


def changing(seed, rows):
    """Poisson events of ten sources, lognormal delays whose level steps, ramps and bursts."""
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.exponential(0.002, rows))
    part = time / time[-1]
    level = np.select(
        [part < 1 / 3, part < 2 / 3],
        [rng.permutation([0.05, 0.1, 0.2, 0.4])[np.minimum((part * 12).astype(int), 3)],
         0.05 + 0.4 * np.abs(6 * part - 3)], 0.1)
    for begin in rng.uniform(2 / 3, 1, 5) * time[-1]:
        level[(time > begin) & (time < begin + 2)] *= rng.uniform(2, 5)
    arrival = time + level * np.exp(rng.normal(0, 0.5, rows))
    order = np.argsort(arrival, kind="stable")
    return pa.record_batch({
        "time": START + (time[order] * 1e6).astype(np.int64),
        "arrival": START + (arrival[order] * 1e6).astype(np.int64),
        "source": rng.integers(0, 10, rows)})


@pytest.mark.parametrize(("loss", "source"), [
    (0.01, "source"), (0.005, "source"), (0.001, "source"), (0.005, None)])
def test_the_long_run_share_of_late_events_keeps_the_target(loss, source):
    rows = 200_000
    kernel = Reorder(Tide(loss=loss), Roles("time", "arrival", source=source, unit="us"))
    shares = [kernel.start().push(changing(seed, rows)).late.num_rows / rows for seed in range(10)]
    assert max(shares) <= 1.2 * loss
    assert max(shares) > 0.2 * loss, "a policy that never dares is not what was asked for"


def stalling(seed, rate=10_000, seconds=100, devices=100):
    """A fast stream of devices that stall once a minute, for four seconds on average."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(0, seconds, rate * seconds))
    device, arrival = rng.integers(0, devices, len(time)), time + rng.lognormal(-3, 0.6, len(time))
    for one in range(devices):
        mine = np.flatnonzero(device == one)
        for begin in np.cumsum(rng.exponential(60, 20)):
            end = begin + rng.exponential(4)
            held = mine[(arrival[mine] >= begin) & (arrival[mine] < end)]
            arrival[held] = end + rng.uniform(0, 0.2, len(held))
    order = np.argsort(arrival, kind="stable")
    return pa.record_batch({"time": START + (time[order] * 1e6).astype(np.int64),
                            "arrival": START + (arrival[order] * 1e6).astype(np.int64),
                            "source": device[order]})


def test_stalls_of_a_fast_stream_are_paid_back():
    """Each has hundreds of rows: with 300 rows of debt at most, 1.7 times the loss is late."""
    kernel = Reorder(Tide(loss=0.01), Roles("time", "arrival", source="source", unit="us"))
    shares = []
    for seed in range(3, 7):
        rows = stalling(seed)
        shares.append(kernel.start().push(rows).late.num_rows / rows.num_rows)
    assert np.mean(shares) <= 1.5 * 0.01


def test_sensors_whose_times_are_whole_seconds_have_no_wrong_clocks():
    """All two hundred begin in one instant, and more than half of their delays are zero."""
    rng = np.random.default_rng(2)
    time = np.repeat(np.arange(200.0), 200)
    arrival = np.floor(time + rng.lognormal(np.log(0.8), 0.8, len(time)))
    order = np.argsort(arrival, kind="stable")
    rows = pa.record_batch({"time": START + (time[order] * 1e6).astype(np.int64),
                            "arrival": START + (arrival[order] * 1e6).astype(np.int64),
                            "source": (np.arange(len(time)) % 200)[order]})
    out = Reorder(Tide(loss=0.01), Roles("time", "arrival", source="source", unit="us")
                  ).start().push(rows)
    assert out.notes["odd_rows"] < 0.01 * rows.num_rows


FEEDS = {
    "regular": Feed(sources=20, rate=Regular("500ms"), in_order=True),
    "jittered, swapped": Feed(rate=Jittered("200ms")),
    "poisson": Feed(rate=Poisson("200ms"), in_order=True),
    "poisson, swapped": Feed(rate=Poisson("200ms")),
    "bursty": Feed(rate=Bursty("200ms"), in_order=True),
    "1 : 1000": Feed(sources=6, rate=(Regular("10ms"), Regular("10s")), in_order=True,
                     duration="5 minutes"),
    "1 : 1000, poisson": Feed(sources=6, rate=(Poisson("10ms"), Poisson("10s")), in_order=True,
                              duration="5 minutes"),
    "regular and poisson": Feed(sources=6, rate=(Regular("20ms"), Poisson("5s")), in_order=True,
                                duration="5 minutes"),
    "stalls": Feed(in_order=True, stalls=Stalls()),
    "stalls, poisson": Feed(rate=Poisson("200ms"), in_order=True, stalls=Stalls()),
    "churn": Feed(sources=30, churn=0.5, in_order=True),
    "skew": Feed(skew="300ms", in_order=True),
    "heavy tail": Feed(delay=Pareto(), in_order=True),
    "copies": Feed(duplicates=0.01, in_order=True),
}
OTHERS = ["sba", "bstt", "bsttwa", "bsttd", "bsttda", "bskf", "kslack"]


@pytest.mark.parametrize("name", FEEDS)
def test_no_other_policy_is_better_on_both_axes(name):
    for seed in (1, 2, 3):
        # these feeds are shorter than the warm-up for 0.1 %
        tide, *others = evaluate(generate(replace(FEEDS[name], seed=seed)),
                                 ["tide(loss=1%)", *OTHERS])
        for other in others:
            better = (other.not_compensated <= tide.not_compensated
                      and other.latency_ms["mean"] <= tide.latency_ms["mean"])
            assert not better, f"seed {seed}: {other.policy}: {other.not_compensated}, " \
                               f"{other.latency_ms['mean']} ms; tide: {tide.not_compensated}, " \
                               f"{tide.latency_ms['mean']} ms"


def test_the_share_is_kept_in_the_long_run_where_sources_stall_or_send_copies():
    for feed in (Feed(in_order=True, stalls=Stalls(), duration="3 hours"),
                 Feed(rate=Poisson("200ms"), in_order=True, stalls=Stalls(), duration="3 hours"),
                 Feed(duplicates=0.01, in_order=True, duration="1 hour")):
        dataset = generate(feed)
        out = Reorder(Tide(), dataset.roles).start().push(
            dataset.table.combine_chunks().to_batches()[0])
        arrivals = np.sort(dataset.table[dataset.roles.arrival].cast(pa.int64()).to_numpy())
        late = out.late[dataset.roles.arrival].cast(pa.int64()).to_numpy()
        after = late > arrivals[10_000]
        assert after.sum() <= 1.2 * 0.001 * (len(dataset) - 10_000)


@pytest.mark.parametrize("name", ["g-1", "g-3", "g-7", "g-11"])
def test_changing_delays_of_the_simulated_sets(name):
    tide, mean_plus_range = evaluate(simulated(name), ["tide", "bsttda"])
    allowed = 0.1 * 0.001 * tide.events  # a tenth of the loss
    assert tide.not_compensated <= max(mean_plus_range.not_compensated, allowed)
    assert tide.latency_ms["mean"] < 0.75 * mean_plus_range.latency_ms["mean"]


def test_recordings(recordings):
    """Undeclared against the paper's recommendation, declared against KSLACK; tuned on neither."""
    from slackwater.datasets import read_dataset
    from slackwater.evaluate.run import usable_events

    for file in recordings:
        events = usable_events(read_dataset(file))
        declared = Tide(sources=events.sources)
        open_, closed, bsttda, kslack = evaluate(events, ["tide", declared, "bsttda", "kslack"])
        assert open_.not_compensated <= bsttda.not_compensated
        assert open_.latency_ms["mean"] <= 0.35 * bsttda.latency_ms["mean"]
        assert closed.not_compensated <= kslack.not_compensated
        assert closed.latency_ms["mean"] <= 0.2 * kslack.latency_ms["mean"]
        _, loose = evaluate(events, ["tide"], loss=0.01)
        assert loose.wait_ratio <= 0.5
