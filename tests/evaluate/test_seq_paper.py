"""The experiments of the paper on sequence patterns, run small."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from slackwater.evaluate.reproduce import reproduce


def table(path: Path) -> list[dict[str, float]]:
    with path.open() as file:
        return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize("name", ["seq-fig6", "seq-fig7", "seq-fig8", "seq-fig9"])
def test_files_are_written(name: str, tmp_path: Path) -> None:
    files = reproduce(name, tmp_path, quick=True)
    assert {f.suffix for f in files} == {".csv", ".png", ".pdf"}
    assert all(f.stat().st_size for f in files)


def test_the_divider_saves_more_with_a_longer_slack(tmp_path: Path) -> None:
    rows = table(reproduce("seq-fig7", tmp_path, quick=True)[0])
    for share in {r["delayed_pct"] for r in rows}:
        short, long = [r for r in rows if r["delayed_pct"] == share]
        assert long["built_without"] > short["built_without"] > short["built_with"]
