"""The paper's experiments: every algorithm finds the same pairs, and the files are written."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.correlate import Predicate, find_pairs
from slackwater.correlate.probability import uniform_satisfaction
from slackwater.correlate.replay import REPLAYED, replay
from slackwater.papers.catalogue import run
from slackwater.papers.correlation.streams import arrivals

FAR = 10**9


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


def chance(one, other, low, high):
    """P(low ≤ other − one ≤ high), by the function that the kernels use."""
    return uniform_satisfaction(*one, *other, low, high)


def test_corollaries_on_random_cases():
    """Corollaries 1 to 3 of our probabilities, and these against numbers drawn at random."""
    rng = np.random.default_rng(7)
    covered = ordered = 0
    for _ in range(400):
        first, length = rng.integers(0, 400, 3), rng.integers(20, 201, 3)
        intervals = sorted(zip(first.tolist(), (first + length).tolist(), strict=True))
        one, i, j = intervals
        d = int(rng.integers(200, 500))  # d ≥ π
        within, deadline = chance(one, i, -d, d), chance(one, i, -FAR, d)
        x, y = (rng.uniform(*interval, 4_000) for interval in (one, i))
        assert within == pytest.approx(np.mean(np.abs(x - y) <= d), abs=0.04)
        # 1: with an earlier start, |I1 − I2| ≤ d is I1 + d ≥ I2
        assert within == pytest.approx(deadline, abs=1e-12)
        # 2: of two intervals, the one that is later at both ends is not met the sooner
        if i[1] <= j[1]:
            ordered += 1
            assert deadline >= chance(one, j, -FAR, d) - 1e-12
        # 3: an interval that covers another is within d of it for certain
        if one[1] >= i[1]:
            covered += 1
            assert within == pytest.approx(1.0, abs=1e-12)
    assert min(covered, ordered) > 40
