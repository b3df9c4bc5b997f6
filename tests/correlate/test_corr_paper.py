"""The paper's experiments: every algorithm finds the same pairs, and the files are written."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.correlate import ALGORITHMS, Predicate, find_pairs
from slackwater.correlate.replay import replay
from slackwater.evaluate.corr_paper import EXPERIMENTS, arrivals
from slackwater.evaluate.reproduce import experiment_names


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("ct", [1.0, 0.8, 0.3])
def test_replays_find_the_pairs_of_the_tables(ct, ordered):
    stream = arrivals(60, 8, ordered=ordered)
    left, right = ((stream.first[stream.side == s], stream.last[stream.side == s])
                   for s in range(2))
    expected = len(find_pairs(left, right, Predicate.of(within=500_000), ct).left)
    for algorithm in ALGORITHMS:
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


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_write_data_and_picture(name, tmp_path):
    files = EXPERIMENTS[name](tmp_path, True)
    assert [f.suffix for f in files] == [".csv", ".png"]
    assert len(files[0].read_text().splitlines()) > 3
    assert files[1].stat().st_size > 10_000
    assert name in experiment_names()
