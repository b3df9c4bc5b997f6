"""The page: no figure or table of the five papers without a row, and each row says what holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slackwater.papers.catalogue import ENTRIES, experiment_names, run
from slackwater.papers.outcome import UNEXPLAINED, Fact, Outcome, claim
from slackwater.papers.report import Row, page

PRINTED = {  # what the five papers have
    1: {"Table I", *(f"Fig. {n}" for n in range(1, 7))},
    2: {f"Fig. {n}" for n in range(1, 10)},
    3: {"Table 1", "Table 2", *(f"Fig. {n}" for n in range(1, 10))},
    4: {f"Fig. {n}" for n in range(1, 8)},
    5: {f"Fig. {n}" for n in range(1, 10)},
}
DRAWINGS = [e.name for e in ENTRIES if e.module.endswith("drawings") and e.name != "reorder-fig4"]


@pytest.mark.parametrize("paper", list(PRINTED))
def test_no_figure_without_an_entry(paper: int) -> None:
    labels = [e.label for e in ENTRIES if e.paper == paper and e.label]
    assert len(labels) == len(set(labels))
    assert set(labels) == PRINTED[paper]


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_come_from_running_code(name: str, tmp_path: Path) -> None:
    outcome = run(name, tmp_path, quick=True)
    assert [f.suffix for f in outcome.files] == [".csv", ".png", ".pdf"]
    assert outcome.files[1].read_bytes().startswith(b"\x89PNG")
    # what a drawing claims is what the text prints, but for the bound that is derived more tightly
    assert all(f.agrees for f in outcome.facts) or name == "corr-fig9"


def test_every_row_has_a_verdict() -> None:
    rows = {}
    for i, e in enumerate(ENTRIES):
        facts = [Fact("a value", 2.0, 3.0, i % 3 != 1, "" if i % 3 != 1 else "the reason")]
        rows[e.name] = (Row(e, None, reason="S-7 missing") if i % 3 == 2
                        else Row(e, Outcome([], facts)))
    text = page(rows)
    cells = re.findall(r"^\| .* \| `([a-z0-9-]+)` \| (.*) \|$", text, re.MULTILINE)
    assert [name for name, _ in cells] == experiment_names()
    for i, (_, verdict) in enumerate(cells):
        assert verdict == ("same", "differs (the reason)", "cannot (S-7 missing)")[i % 3]
    assert "| a value | 2 | 3 | 1.5 | differs: the reason |" in text


def test_the_documentation_is_that_page():
    """Made by ``slackwater reproduce --all --page docs/experiments.md``: no row is missing."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "experiments.md").read_text()
    cells = re.findall(r"^\| .* \| `([a-z0-9-]+)` \| (.*) \|$", text, re.MULTILINE)
    assert [name for name, _ in cells] == experiment_names()
    for name, verdict in cells:
        assert verdict.split(maxsplit=1)[0].rstrip(";") in ("same", "differs", "cannot"), name
        assert UNEXPLAINED not in verdict, name


def test_what_is_missing_in_part_is_said():
    e = ENTRIES[0]
    facts = [Fact("a value", 2.0, 2.0)]
    assert Row(e, Outcome([], facts, partly="D-4 (missing)")).verdict == (
        "same; cannot for D-4 (missing)")
    assert claim("a value", 1.0, 2.0, False).why == UNEXPLAINED


def test_a_difference_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        Fact("a value", 1.0, 2.0, agrees=False)
