"""Waits as they are when time passes between arrivals, and the best constant, against a replay."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slackwater.evaluate.live import best_constant, live_release, needed_buffers
from slackwater.evaluate.metrics import constant_run, evaluate
from slackwater.evaluate.run import Events, run
from slackwater.reorder import Static

streams = st.lists(st.tuples(st.integers(1, 50), st.integers(-20, 120)), min_size=1, max_size=60)


def events_of(stream):
    arrival = np.cumsum([gap for gap, _ in stream]) + 10_000
    time = arrival - np.array([delay for _, delay in stream])
    zero = np.zeros(len(stream), np.int64)
    return Events("s", time, arrival, zero, zero, None, ("a",), 0)


@given(stream=streams, buffer=st.integers(0, 150))
def test_a_constant_buffer_releases_at_time_plus_buffer(stream, buffer):
    events = events_of(stream)
    done = run(events, Static(buffer))
    oracle = constant_run(events, buffer)
    assert (done.late == oracle.late).all(), "needed ≥ buffer is what is late"
    assert (done.released == oracle.released).all()


@given(stream=streams, loss=st.sampled_from([0.01, 0.1, 0.5]))
def test_the_best_constant_is_the_smallest_that_keeps_the_loss(stream, loss):
    events = events_of(stream)
    best = best_constant(events.time, events.arrival, events.key, loss)
    if best is None:
        assert (needed_buffers(events.time, events.arrival, events.key)
                > np.iinfo(np.int64).min).mean() <= loss
        return
    assert constant_run(events, best).late.mean() <= loss
    assert constant_run(events, best - 1).late.mean() > loss


def test_in_a_sparse_stream_a_row_does_not_wait_for_the_next_arrival():
    at = np.array([0, 1_000_000_000], np.int64)
    zero = np.zeros(2, np.int64)
    events = Events("sparse", at, at, zero, zero, None, ("a",), 0)
    assert run(events, Static("1s")).released[0] == 1_000_000
    assert run(events, Static("1s"), literal=True).released[0] == 1_000_000_000
    assert live_release(at, at, zero, np.zeros(2, bool), at, np.zeros(2)).tolist() == at.tolist()


def test_a_loss_sets_the_targets_and_adds_the_best_constant():
    events = events_of([(10, d) for d in (5, 100, 3, 60, 4, 30) * 30])
    best, static, tide = evaluate(events, ["sba(buffer=1ms)", "tide"], loss=0.05)
    assert (best.policy, best.wait_ratio) == ("best constant", 1.0)
    assert static.parameters == "Static(buffer='1ms')"
    assert tide.parameters.startswith("Tide(loss=0.05")
    assert static.wait_ratio == static.wait_ms["mean"] / best.wait_ms["mean"]
