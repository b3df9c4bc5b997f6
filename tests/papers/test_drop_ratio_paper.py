"""Paper 4: the experiments run, and its method keeps its bound where its model holds."""

from __future__ import annotations

import csv

import pytest

from slackwater.papers.catalogue import run
from slackwater.papers.drop_ratio.streams import RATIOS, measure, paper_method, stream


@pytest.mark.parametrize("name", ["dratio-fig5", "dratio-fig6", "dratio-fig7", "dratio-promise"])
def test_files_are_written(name, tmp_path):
    outcome = run(name, tmp_path, quick=True)
    assert [f.suffix for f in outcome.files] == [".csv", ".png", ".pdf"]
    with outcome.files[0].open() as file:
        assert len(list(csv.reader(file))) > 2


@pytest.mark.parametrize("sigma", [1.0, 5.0])
def test_the_stationary_share_is_within_the_bound(sigma):
    """By hand: 0.05 to 0.06 % at D = 1 %; with both ends of the stream it is above 1 %."""
    batch = stream(1, 200_000, sigma=sigma)
    for ratio in RATIOS:
        assert measure(paper_method(ratio), batch).stationary_pct <= 100 * ratio
    found = measure(paper_method(0.01), batch)
    assert found.stationary_pct == pytest.approx(0.055, abs=0.02)
    assert found.whole_pct > 1.0
    letter = measure(paper_method(0.01, heartbeat="earliest"), batch)
    assert letter.stationary_pct == pytest.approx(found.stationary_pct, abs=0.005)
