"""The experiments of paper 3 run, write what they say, and show what the paper found."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from slackwater.core.errors import ConfigError, DataError
from slackwater.datasets import simulated
from slackwater.datasets.recordings import FOLDER
from slackwater.evaluate import evaluate
from slackwater.evaluate.pictures import save
from slackwater.evaluate.profile_picture import profile_picture
from slackwater.evaluate.scatter import scatter_picture
from slackwater.evaluate.table import PAPER, compare, label, write_csv
from slackwater.papers.catalogue import experiment_names, reproduce

NAMES = ["reorder-fig5", "reorder-fig8", "reorder-fig9", "reorder-all", "reorder-table1",
         "reorder-table2"]


@pytest.mark.parametrize("name", NAMES)
def test_experiments_without_recordings(name: str, tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    assert name in experiment_names()
    files = reproduce(name, tmp_path, quick=True)
    assert [f.name for f in files] == [f"{name}.csv", f"{name}.png", f"{name}.pdf"]
    with files[0].open() as file:
        assert len(list(csv.reader(file))) > 5
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert files[2].read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("name", ["reorder-fig6", "reorder-fig7"])
def test_experiments_on_recordings_say_that_they_are_missing(
        name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(DataError, match="recordings"):
        reproduce(name, tmp_path, quick=True)


def test_scatter_of_the_recordings(recordings: list[Path], tmp_path: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(recordings[0].parent))
    table, *_ = reproduce("reorder-fig6", tmp_path, quick=True)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["dataset"], r["policy"]) for r in rows] == [(d, p) for d in ("d-1", "d-2")
                                                          for p in PAPER]
    assert float(rows[0]["min_buffer_ms"]) == 4653


def test_unknown_experiment() -> None:
    with pytest.raises(ConfigError, match="did you mean 'reorder-fig5'"):
        reproduce("reorder-fg5", Path("."))


def test_what_the_paper_found_on_the_simulated_sets() -> None:
    """Section 6: BSTTD fails where delays change and their spread does not; the others do not."""
    found = {(m.dataset, m.policy): m for m in compare(simulated(n) for n in ("g-3", "g-6", "g-8"))}
    for name in ("g-3", "g-8"):
        assert found[name, "bsttd"].not_compensated_pct > 30
        assert found[name, "bsttda"].not_compensated_pct < 1
        assert found[name, "bsttwa"].not_compensated_pct < 1
    kslack, bsttwa = found["g-6", "kslack"], found["g-6", "bsttwa"]
    assert kslack.mean_buffer_ms is not None
    assert bsttwa.mean_buffer_ms is not None
    assert kslack.mean_buffer_ms > bsttwa.mean_buffer_ms  # it does not come down again


def test_table_of_nothing_is_a_header(tmp_path: Path) -> None:
    assert write_csv([], tmp_path / "t.csv").read_text() == "dataset\n"


def test_pictures_do_not_depend_on_the_moment(tmp_path: Path) -> None:
    rows = evaluate(simulated("g-2"), ["sba", "kslack"])
    first = save(scatter_picture(rows), tmp_path / "a")
    second = save(scatter_picture(rows), tmp_path / "b")
    assert [f.suffix for f in first] == [".png", ".pdf"]
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]


def test_profile_picture_has_every_event() -> None:
    picture = profile_picture(simulated("g-2"))
    left, right = picture.axes
    assert sum(len(line.get_xdata()) for line in left.lines) == 30_000
    assert len(right.lines) == 1


def test_labels() -> None:
    assert (label("sba"), label("Static"), label("sba(buffer=2s)")) == ("SBA", "Static",
                                                                        "sba(buffer=2s)")
    assert evaluate(simulated("g-2"), ["SBA"])[0].policy == "SBA"
