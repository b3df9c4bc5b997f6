"""What `Tide` learns of one source: its frontier with sequence numbers, its rhythm, its delays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater import Reorder, Roles
from slackwater.reorder.tide.source import edge_of, learn_delay, learn_gap, move_on, queued
from slackwater.reorder.tide.state import NEVER, fresh_source


def source():
    return fresh_source().reshape(1).copy()[0]


@given(order=st.integers(2, 40).flatmap(lambda n: st.permutations(range(1, n))))
def test_the_frontier_stops_at_the_first_missing_number(order):
    """Number k is stamped 10·k. The oracle: the last number up to which all are there."""
    s = source()
    move_on(s, 0, 0, NEVER)
    there = {0}
    for k in order:
        move_on(s, 10 * k, k, NEVER)
        there.add(k)
        complete = next(n for n in range(len(order) + 2) if n not in there)
        assert s["expected"] == complete
        gap = complete <= max(there)
        assert (s["gap_time"] != NEVER) == gap
        assert s["frontier"] <= 10 * (complete - 1), "beyond a missing event"
        if not gap:
            assert s["frontier"] == 10 * max(there)


def test_a_missing_number_is_given_up_when_its_time_has_been_released():
    s = source()
    for k in (0, 1, 3, 4):
        move_on(s, 10 * k, k, NEVER)
    assert (s["frontier"], s["expected"]) == (10, 2)
    move_on(s, 50, 5, 30)
    assert (s["frontier"], s["expected"], s["gap_time"]) == (50, 6, NEVER)


@pytest.mark.parametrize("numbers", [(7, 8, 0, 1), (7, 8, 500, 501)])
def test_a_producer_may_number_anew(numbers):
    s = source()
    for at, k in enumerate(numbers):
        move_on(s, 10 * at, k, NEVER)
    assert (s["frontier"], s["expected"]) == (30, numbers[-1] + 1)


def test_copies_move_nothing():
    s = source()
    for k in (0, 1, 1, 0, 2):
        move_on(s, 10 * k, k, NEVER)
    assert (s["frontier"], s["expected"]) == (20, 3)


def taught(gaps):
    s = source()
    s["frontier"] = 0
    for gap in gaps:
        s["count"] += 1
        learn_gap(s, float(gap), 1.0)
    return s


def test_a_regular_source_foretells_nearly_its_period():
    rng = np.random.default_rng(1)
    assert 900 < edge_of(taught(1000 + rng.uniform(-20, 20, 2000)), 2.0) <= 985


def test_a_first_gap_of_nothing_does_not_hide_a_rhythm():
    """Two events of one time at the start: the mean gap begins at nothing."""
    rng = np.random.default_rng(4)
    assert edge_of(taught([0.0, *(1000 + rng.uniform(-20, 20, 60))]), 2.0) > 600


def test_a_poisson_source_foretells_nothing():
    rng = np.random.default_rng(2)
    assert edge_of(taught(rng.exponential(1000, 5000)), 2.0) == 0


def test_a_source_that_swaps_events_is_held_back_by_that_and_by_the_patience():
    rng = np.random.default_rng(3)
    s = taught(rng.normal(100, 300, 5000))
    assert -600 < edge_of(s, 2.0) < -50
    assert edge_of(s, 20.0) == pytest.approx(10 * edge_of(s, 2.0), rel=0.02)


def test_one_outlier_costs_little():
    s = taught([1000.0] * 200)
    before = edge_of(s, 2.0)
    s["count"] += 1
    learn_gap(s, 1.0, 1.0)
    for _ in range(100):
        s["count"] += 1
        learn_gap(s, 1000.0, 1.0)
    assert before - edge_of(s, 2.0) < 250


def follow(delays):
    s = source()
    for delay in delays:
        learn_delay(s, float(delay), 1.0, 1.0)
        s["count"] += 1
    return float(s["least"]), float(s["spread"])


@pytest.mark.parametrize("offset", [0.0, -1.27e6, 8e13])
@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9])
def test_delays_are_followed_whatever_their_offset_and_scale(offset, scale):
    rng = np.random.default_rng(5)
    least, spread = follow(offset + scale * rng.exponential(1.0, 2000))
    assert least - offset == pytest.approx(0, abs=0.3 * scale)
    assert spread == pytest.approx(scale, rel=0.5)


def test_of_a_sources_first_delays_one_long_one_is_no_rule_and_two_are():
    _, calm = follow([0.0, 1.0, 1.0, 1.0, 1.0])
    _, once = follow([0.0, 1.0, 10_000.0, 1.0, 1.0])
    _, twice = follow([0.0, 1.0, 10_000.0, 10_000.0, 1.0])
    assert once < 10 * calm
    assert twice > 1000


def test_events_sent_again_together_are_one_observation():
    """A batch of fifty events, a second apart, comes once more thirty seconds later, at once."""
    s = source()
    s["frontier"], s["seen"], s["delay"] = 100_000, 130_000, 31_000  # the first copy has come
    weights = [1.0 - queued(s, 100_000, 130_000)]
    for k in range(1, 50):
        s["seen"], s["delay"] = 130_000, 31_000 - 1000 * k
        weights.append(1.0 - queued(s, 100_000 + 1000 * k, 130_000))
    assert sum(weights) <= 1.0
    s["seen"], s["delay"] = 130_000, 31_000
    assert queued(s, 98_000, 130_000) == 0.0, "it is older than its predecessor: it swapped places"


def test_a_step_is_followed_and_one_outlier_is_not():
    rng = np.random.default_rng(6)
    calm = 100 + rng.exponential(10, 1000)
    least, spread = follow([*calm, 1e9, *calm[:64]])
    assert (least < 110, spread < 40) == (True, True)
    least, spread = follow([*calm, *(10_000 + rng.exponential(1000, 1000))])
    assert least + 3 * spread > 10_000, "the bound has gone up with the delays"


@pytest.mark.parametrize("policy", ["Tide(loss=1%)", "DropRatio(ratio=1%)", "KSlack()"])
def test_a_key_that_takes_the_place_of_a_forgotten_one_learns_nothing_from_it(policy):
    """Without a source role a key is its own source: that is forgotten with it, too."""
    def rows(key, first, count, delay):
        time = 1_700_000_000_000_000 + first * 1_000_000 + np.arange(count) * 10_000
        order = np.argsort(time + delay, kind="stable")
        return pa.record_batch({"key": [key] * count, "time": time[order],
                                "arrival": (time + delay)[order]})

    def released(batches):
        logic = Reorder(policy, Roles("time", "arrival", key=("key",), unit="us"),
                        forget_after="1s").start()
        for batch in batches:
            out = logic.push(batch)
            logic.tick(batch["arrival"][-1].as_py() + 10_000_000)
        return out.ready.to_pylist()

    rng = np.random.default_rng(3)
    slow = rows("slow", 0, 500, rng.integers(0, 900_000, 500))
    again = rows("again", 1000, 500, rng.integers(0, 5_000, 500))
    assert released([slow, again]) == released([slow.slice(0, 1), again])
