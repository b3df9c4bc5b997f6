"""The paper's experiments: every algorithm finds the same pairs, and the files are written."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.correlate import Predicate, find_pairs
from slackwater.correlate.replay import REPLAYED, replay
from slackwater.papers.catalogue import run
from slackwater.papers.correlation.streams import arrivals


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("ct", [1.0, 0.8, 0.3])
def test_replays_find_the_pairs_of_the_tables(ct, ordered):
    stream = arrivals(60, 8, ordered=ordered)
    left, right = ((stream.first[stream.side == s], stream.last[stream.side == s])
                   for s in range(2))
    expected = len(find_pairs(left, right, Predicate.of(within=500_000), ct).left)
    for algorithm in REPLAYED:
        got = replay(stream, algorithm, within=500_000, confidence=ct, shortest=20_000,
                     longest=200_000, max_delay=500_000, block=70)
        assert got.pairs == expected, algorithm


def test_lazy_waits_and_holds_more():
    stream = arrivals(40, 20)
    setting = {"within": 500_000, "confidence": 0.8, "shortest": 20_000, "longest": 200_000,
               "max_delay": 500_000}
    eager, lazy = (replay(stream, name, **setting) for name in ("eager", "lazy"))
    assert eager.response_ms < 1000 < lazy.response_ms
    assert eager.buffer < lazy.buffer
    assert eager.probes < replay(stream, "simple", **setting).probes / 3
    lookup = replay(stream, "lazy-lookup", **setting)
    assert lookup.probes + lookup.lookup_hits == lazy.probes
    assert 0 < lookup.hit_ratio < 1


def test_arrivals_are_in_order_within_the_delay():
    stream = arrivals(100, 5)
    assert (np.diff(stream.arrival) >= 0).all()
    assert ((stream.arrival - stream.last) <= 500_000).all()
    assert (np.diff(arrivals(100, 5, ordered=True).last) >= 0).all()


@pytest.mark.parametrize("name", [f"corr-fig{n}" for n in range(3, 9)] + ["corr-algorithm7"])
def test_experiments_write_data_and_picture(name, tmp_path):
    files = run(name, tmp_path, quick=True).files
    assert [f.suffix for f in files] == [".csv", ".png", ".pdf"]
    assert len(files[0].read_text().splitlines()) > 3


def test_the_paper_s_buffers_differ_in_length():
    """Fig. 5: eager < simple-sort < simple; the simple ones invalidate at the head only."""
    stream = arrivals(100, 15)
    held = {name: replay(stream, name, within=500_000, confidence=0.8, shortest=20_000,
                         longest=200_000, max_delay=500_000).buffer
            for name in ("eager", "simple-sort", "simple")}
    assert held["eager"] < held["simple-sort"] < held["simple"]


def test_three_readings_of_algorithm_7():
    """As printed it forgets what a failed probe found, so it helps least; ours keeps the best."""
    stream = arrivals(300, 10)
    hits = [replay(stream, name, within=500_000, confidence=0.8, shortest=20_000, longest=200_000,
                   max_delay=500_000).hit_ratio
            for name in ("lookup-as-printed", "lookup-as-told", "lazy-lookup")]
    assert hits == sorted(hits)
    assert hits[0] < 0.5 * hits[1]


def test_corollaries_on_random_cases():
    """Corollaries 1 to 3, each by numbers drawn from the intervals themselves."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        d = 200.0
        first = rng.uniform(0, 300, 3)
        length = rng.uniform(20, 200, 3)
        one, i, j = sorted(zip(first, first + length, strict=True))
        x, y, z = (rng.uniform(*interval, 40_000) for interval in (one, i, j))
        # 1: with d ≥ π and an earlier start, |I1 − I2| ≤ d is I1 + d ≥ I2
        assert np.mean(np.abs(x - y) <= d) == pytest.approx(np.mean(x + d >= y), abs=1e-9)
        # 2: of two later intervals the earlier one is the likelier to be met
        if one[1] <= i[1] <= j[1]:
            assert np.mean(x + d >= y) >= np.mean(x + d >= z) - 0.02
        # 3: an interval that covers another is within d of it for certain
        if one[0] <= i[0] and one[1] >= i[1]:
            assert np.mean(np.abs(x - y) <= d) == 1.0
