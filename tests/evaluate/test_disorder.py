"""Out of order, and the least buffer that would do, against their definitions written out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.events import Roles
from slackwater.datasets import Dataset
from slackwater.evaluate import evaluate
from slackwater.evaluate.disorder import min_buffer, out_of_order, sequence_breaks

EVENTS = st.lists(st.tuples(st.integers(0, 12), st.integers(-3, 9), st.integers(0, 2)),
                  max_size=40)
"""Time, delay, key: few values, so that ties and negative delays are common."""


def columns(events: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """In arrival order: time, arrival, key."""
    rows = sorted(((t, t + d, k) for t, d, k in events), key=lambda row: row[1])
    table = np.array(rows, np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def slow_out_of_order(time: np.ndarray, key: np.ndarray) -> list[bool]:
    return [any(time[i] > time[j] and key[i] == key[j] for i in range(j)) for j in range(len(time))]


def slow_min_buffer(time: np.ndarray, arrival: np.ndarray, key: np.ndarray) -> int | None:
    waits = []
    for j in range(len(time)):
        before = [time[i] for i in range(j) if time[i] > time[j] and key[i] == key[j]]
        if before:
            waits.append(arrival[j] - min(before))
    return max(waits) if waits else None


@given(EVENTS)
def test_out_of_order_is_its_definition(events: list[tuple[int, int, int]]) -> None:
    time, _, key = columns(events)
    assert out_of_order(time, key).tolist() == slow_out_of_order(time, key)


@given(EVENTS)
def test_min_buffer_is_its_definition(events: list[tuple[int, int, int]]) -> None:
    time, arrival, key = columns(events)
    assert min_buffer(time, arrival, key) == slow_min_buffer(time, arrival, key)


@given(EVENTS)
def test_a_buffer_above_the_least_compensates_all_and_the_least_does_not(
        events: list[tuple[int, int, int]]) -> None:
    time, arrival, key = columns(events)
    least = min_buffer(time, arrival, key)
    if least is None or least < 0:
        return
    table = pa.table({"time": time, "arrival": arrival, "key": key})
    dataset = Dataset("d", table, Roles("time", "arrival", key=("key",), unit="us"))
    above, at = evaluate(dataset, [f"sba(buffer={least + 1}us)", f"sba(buffer={least}us)"])
    assert above.not_compensated == 0
    assert at.not_compensated > 0


@given(EVENTS)
def test_breaks_of_sequence(events: list[tuple[int, int, int]]) -> None:
    number, _, source = columns(events)
    last: dict[int, int] = {}
    expected = []
    for n, s in zip(number.tolist(), source.tolist(), strict=True):
        expected.append(s in last and n != last[s] + 1)
        last[s] = n
    assert sequence_breaks(number, source).tolist() == expected


def test_the_least_buffer_of_a_long_stream_in_no_time() -> None:
    """400 000 equal times, then one late event: quadratic code would not come back."""
    n = 400_000
    time = np.concatenate([np.full(n, 5), [3]])
    arrival = np.concatenate([np.arange(n), [n]])
    assert min_buffer(time, arrival, np.zeros(n + 1, np.int64)) == n - 5


@pytest.mark.parametrize("time", [[], [1], [1, 1, 2]])
def test_nothing_out_of_order_needs_no_buffer(time: list[int]) -> None:
    values = np.array(time, np.int64)
    assert min_buffer(values, values, np.zeros_like(values)) is None
