"""`profile` says in words what its figures mean."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slackwater import Roles
from slackwater.datasets import Dataset
from slackwater.evaluate import profile

START = 1_700_000_000_000_000
ROLES = Roles("time", "arrival", source="source", unit="us")


def dataset(time, arrival, source):
    order = np.argsort(arrival, kind="stable")
    return Dataset("made", pa.table({
        "time": START + np.asarray(time)[order], "arrival": START + np.asarray(arrival)[order],
        "source": pa.array([f"s{k}" for k in np.asarray(source)[order]])}), ROLES)


def test_a_merge_of_ordered_sources_is_told_from_sources_that_swap():
    time, source = np.arange(1000) * 1000, np.arange(1000) % 2
    slow = dataset(time, time + np.where(source == 1, 50_500, 0), source)
    found = profile(slow)
    assert found.within_sources == 0
    assert "the disorder comes from merging sources" in found.words()[0]
    rng = np.random.default_rng(1)
    found = profile(dataset(time, time + rng.integers(0, 50_000, 1000), source))
    assert "sources themselves swap events" in found.words()[0]
    assert found.recommended_line().startswith("policy = Tide(")


def test_a_receiver_that_is_behind_is_named():
    time = np.arange(100) * 1000
    words = " ".join(profile(dataset(time, time - 1_270_000, time % 3)).words())
    assert "the receiver's clock is behind" in words
    assert "Nothing is out of order" in words


def test_gaps_and_silence():
    time = np.append(np.arange(100) * 1000, 10_000_000)
    words = profile(dataset(time, time, time * 0)).words()
    assert "the longest silence is 9.901s" in " ".join(words)


def test_events_that_arrive_together():
    time = np.repeat(np.arange(50) * 1000, 3)
    assert "Most events arrive at the same time as another one" in " ".join(
        profile(dataset(time, time, time * 0)).words())


def test_a_source_with_a_wrong_clock_is_named_with_how_far_it_is_off():
    rng = np.random.default_rng(1)
    time, source = np.arange(1000) * 1000, np.arange(1000) % 4
    arrival = time + rng.integers(0, 2000, 1000)
    found = profile(dataset(time - np.where(source == 3, 86_400_000_000, 0), arrival, source))
    assert {name: round(off / 1e4) for name, off in found.clocks_off_ms.items()} == {"s3": 8640}
    words = " ".join(found.words())
    assert "1 of 4 sources is behind (s3 by " in words
    assert "does not wait for them" in words
    assert not profile(dataset(time, time + 100_000 * source, source)).clocks_off_ms


def test_a_clock_that_is_fast_is_not_said_to_be_left_out():
    """Its own events wait; nobody can do without them."""
    rng = np.random.default_rng(1)
    time, source = np.arange(1000) * 1000, np.arange(1000) % 4
    arrival = time + rng.integers(0, 2000, 1000)
    ahead = np.where(source == 3, 240_000_000, 0)
    words = " ".join(profile(dataset(time + ahead, arrival, source)).words())
    assert "1 of 4 sources is ahead (s3 by " in words
    assert "does not wait for them" not in words


def test_where_nothing_says_when_events_arrived_no_silence_is_measured():
    time = np.random.default_rng(1).permutation(1000) * 1000
    found = profile(Dataset("made", pa.table({"time": START + time}), Roles("time", unit="us")))
    words = " ".join(found.words())
    assert "does not say when events arrived" in words
    assert "silence" not in words
    assert set(found.gap_ms.values()) == {None}


def test_what_is_quarantined_is_why_there_are_no_events():
    time = np.arange(10) * 1000
    found = profile(dataset(time + 3_600_000_000, time, time * 0))
    assert found.words() == ["There are no events with a usable time: 10 rows are quarantined."]
