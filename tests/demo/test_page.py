"""What the demo prints is what was computed, nothing else."""

from __future__ import annotations

import pytest

from slackwater.cli.show import print_parts
from slackwater.demo.page import TITLE, as_json, parts, picture
from slackwater.demo.plant import make_plant
from slackwater.demo.score import missing_readings
from slackwater.demo.story import KERNELS, Story
from slackwater.view.findings import Sheet, findings_page
from slackwater.warm import workloads


@pytest.fixture(scope="module")
def story() -> Story:
    """One contender finds everything but one leak, and invents one; the other finds nothing."""
    plant = make_plant()
    leaks = sorted(leak for leak in plant.leaks if leak[1] <= plant.judged_until)
    given = [*leaks[1:], ("A", leaks[0][1] + 1)]
    nothing = {"means": [], "leaks": [], "heard": []}
    ours = {"means": [], "heard": [], "leaks": [
        (fell + 2_000_000, {"line": line, "fell": fell}) for line, fell in given]}
    return Story(plant, nothing, ours, late=7, policy="tide(loss=0.1%)", seconds=1.0)


def test_the_table(story):
    (sheet,) = [part for part in parts(story) if isinstance(part, Sheet)]
    plain, ours = [row[2:] for row in sheet.rows if row[0] == "leaks"]
    true = len([leak for leak in story.plant.leaks if leak[1] <= story.plant.judged_until])
    assert plain == [0, true, 0, None, None]
    assert ours == [true - 1, 1, 1, 2.0, 2.0]
    sentences = [part for part in parts(story) if isinstance(part, str)]
    assert "all 7 late rows" in sentences[-1]
    assert any("tide(loss=0.1%)" in one for one in sentences)
    wrong = [sum(row[3] + row[4] for row in sheet.rows if row[1] == name)
             for name in ("Spark alone", "Slackwater")]
    assert f"Spark alone {wrong[0]}, Slackwater {wrong[1]}." in sentences[-2]


def test_the_table_fits_a_terminal(story, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    print_parts(parts(story))
    assert "did not fit" not in capsys.readouterr().out


def test_when_readings_went_missing(story):
    last = parts(story)[-1]
    missing = missing_readings(story.plant, story.plain)
    start = min(at for _, at in story.plant.counts)
    early = sum(n for at, n in missing.items() if at < start + 60_000_000)
    assert f"Spark alone {sum(missing.values()):,} ({early:,} of them in the first 60 s)" in last


def test_the_demo_compiles_what_slackwater_warm_does():
    known = [workload.name for workload in workloads()]
    assert {name for names in KERNELS for name in names} <= set(known)


def test_for_machines(story):
    told = as_json(story)
    assert told["slackwater"]["leaks"]["invented"] == 1
    assert told["spark"]["leaks"]["found"] == 0
    assert told["spark"]["readings_missing"] == told["slackwater"]["readings_missing"] > 0


def test_the_report_is_one_file(story):
    page = findings_page(TITLE, parts(story), [("leaks", picture(story))])
    assert "data:image/svg+xml;base64," in page
    assert "<script" not in page
    assert "http://" not in page.partition("data:image")[0]
