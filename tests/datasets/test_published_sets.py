"""The simulated sets against the published summaries of paper 3."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from slackwater.core.errors import ConfigError
from slackwater.datasets import SIMULATED, Summary, simulated
from slackwater.datasets.published import PUBLISHED


def measured(name: str, seed: int) -> Summary:
    dataset = simulated(name, seed)
    time = dataset.table["time"].cast("int64").to_numpy()
    disordered = np.mean(time[1:] < np.maximum.accumulate(time)[:-1]) * 100
    delay = dataset.delays() / 1000
    q1, median, q3, p95, p98 = np.percentile(delay, [25, 50, 75, 95, 98])
    return Summary(len(dataset), float(disordered), q1, median, float(delay.mean()), q3, p95, p98,
                   float(delay.std(ddof=1)))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", list(SIMULATED))
def test_fits_the_published_summary(name: str, seed: int) -> None:
    ours, published = measured(name, seed), PUBLISHED[name]
    assert ours.out_of_order_pct == pytest.approx(published.out_of_order_pct, abs=3)
    for quantile in ("q1", "median", "mean", "q3", "p95", "p98"):
        assert getattr(ours, quantile) == pytest.approx(getattr(published, quantile), rel=0.05)
    assert ours.events == pytest.approx(published.events, rel=0.0005)
    assert ours.std == pytest.approx(published.std, rel=0.06)


def test_has_ten_sources_and_whole_milliseconds() -> None:
    table = simulated("g-4").table
    assert len(table["source"].unique()) == 10
    assert not (table["time"].cast("int64").to_numpy() % 1000).any()
    assert not (table["arrival"].cast("int64").to_numpy() % 1000).any()


def test_the_rate_rises_or_falls() -> None:
    for name, rises in (("g-9", True), ("g-11", False)):
        time = simulated(name).table["true_time"].cast("int64").to_numpy()
        early = int((time < time.min() + 300_000_000).sum())
        assert (early < len(time) / 3) is rises


def test_unknown_set_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="did you mean 'g-"):
        simulated("g-13")


def test_the_table_is_what_was_published(recordings: list[Path]) -> None:
    number = r"([0-9.]+)"
    for name, summary in PUBLISHED.items():
        text = (recordings[0].parent / f"{name}-summary.txt").read_text()
        head = text.split("Round Trip")[0]
        pattern = (rf"Events:\s+{number}.*\({number}%\).*1st Q:\s+{number}.*median:\s+{number}.*"
                   rf"mean:\s+{number}.*3st Q:\s+{number}.*sd:\s+{number}.*p 0.95:\s+{number}.*"
                   rf"p 0.98:\s+{number}")
        found = re.search(pattern, head, re.DOTALL)
        assert found is not None
        events, share, q1, median, mean, q3, std, p95, p98 = (float(g) for g in found.groups())
        assert summary == Summary(int(events), share, q1, median, mean, q3, p95, p98, std)
