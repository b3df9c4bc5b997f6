"""Table 2 of paper 3 for the recordings: every printed number."""

from __future__ import annotations

from pathlib import Path

import pytest

from slackwater.datasets import read_dataset
from slackwater.papers.buffer_sizing.tables import PRINTED_1, PRINTED_2, overview, times


@pytest.mark.parametrize("name", ["d-1", "d-2", "d-3"])
def test_the_recordings_have_the_printed_numbers(recordings: list[Path], name: str) -> None:
    dataset = read_dataset(next(p for p in recordings if p.stem == name))
    found, printed = times(dataset), PRINTED_2[name]
    assert found.out_of_order == printed.out_of_order
    assert found.percent == printed.percent
    for part in ("least", "q1", "median", "q3", "most"):
        assert getattr(found, part) == pytest.approx(getattr(printed, part), abs=0.5)
    assert found.mean == printed.mean
    assert found.std == printed.std
    assert overview(dataset).clients == PRINTED_1[name].clients
    assert overview(dataset).events == PRINTED_1[name].events
