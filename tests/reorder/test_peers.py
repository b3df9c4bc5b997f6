"""The watermarks that users come from: a percentile of delays, and Flink's bound."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from slackwater import Reorder, Roles
from slackwater.core.errors import ConfigError
from slackwater.reorder import BoundedOutOfOrderness, Percentile, as_policy

ROLES = Roles("time", "arrival", unit="ms")
START = 1_700_000_000_000


def rows(*pairs):
    return pa.record_batch({"time": [START + t for t, _ in pairs],
                            "arrival": [START + a for _, a in pairs]})


def times(batch):
    return [t.as_py() - START for t in batch["time"]]


def test_the_watermark_is_the_greatest_time_less_the_bound_and_a_millisecond():
    logic = Reorder(BoundedOutOfOrderness("100ms"), ROLES).start()
    out = logic.push(rows((0, 10), (101, 111), (50, 112), (300, 310), (299, 311)))
    assert times(out.ready) == [0, 50, 101]
    assert logic.tick((START + 10_000) * 1000).ready.num_rows == 0, "time alone moves nothing"
    assert times(logic.finish().ready) == [299, 300]


def test_an_idle_key_lets_go():
    logic = Reorder(BoundedOutOfOrderness("100ms", idleness="1s"), ROLES).start()
    logic.push(rows((0, 10), (50, 60)))
    assert logic.tick((START + 900) * 1000).ready.num_rows == 0
    assert times(logic.tick((START + 1100) * 1000).ready) == [0, 50]


def test_the_buffer_is_the_percentile_of_the_delays():
    rng = np.random.default_rng(1)
    time = np.arange(20_000) * 10
    arrival = time + rng.exponential(100, 20_000).astype(int)
    order = np.argsort(arrival, kind="stable")
    batch = pa.record_batch({"time": START + time[order], "arrival": START + arrival[order]})
    out = Reorder(Percentile("1%"), ROLES).start().push(batch)
    exact = np.quantile(arrival - time, 0.99) * 1000
    assert exact <= out.notes["buffer"] <= 1.25 * exact


def test_bounds_and_forgetting():
    slow = [(t, t + 5000) for t in range(0, 40_000, 100)]
    fast = [(t, t + 20) for t in range(10_000_000, 10_000_000 + 400_000, 100)]
    policy = Percentile("5%", least="200ms", most="2s", window="1 minute")
    logic = Reorder(policy, ROLES, forget_after=None).start()
    assert logic.push(rows(*slow)).notes["buffer"] == 2_000_000
    assert logic.push(rows(*fast)).notes["buffer"] == 200_000


@pytest.mark.parametrize("text", ["Percentile(loss=0)", "Percentile(least=3s, most=2s)",
                                  "BoundedOutOfOrderness(disorder=much)"])
def test_mistakes_are_named(text):
    with pytest.raises(ConfigError):
        as_policy(text)
