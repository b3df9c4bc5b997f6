"""What the demo prints is what was computed, nothing else."""

from __future__ import annotations

import pytest

from slackwater.demo.page import TITLE, as_json, parts, picture
from slackwater.demo.plant import make_plant
from slackwater.demo.story import Story
from slackwater.view.findings import Sheet, findings_page


@pytest.fixture(scope="module")
def story() -> Story:
    """One contender finds everything but one leak, and invents one; the other finds nothing."""
    plant = make_plant()
    leaks = sorted(leak for leak in plant.leaks if leak[1] <= plant.judged_until)
    given = [*leaks[1:], ("A", leaks[0][1] + 1)]
    nothing = {"means": [], "leaks": [], "heard": []}
    ours = {"means": [], "heard": [], "leaks": [
        (fell + 2_000_000, {"line": line, "fell": fell}) for line, fell in given]}
    return Story(plant, nothing, ours, late=7, seconds=1.0)


def test_the_table(story):
    (sheet,) = [part for part in parts(story) if isinstance(part, Sheet)]
    plain, ours = [row[2:] for row in sheet.rows if "pattern" in row[0]]
    true = len([leak for leak in story.plant.leaks if leak[1] <= story.plant.judged_until])
    assert plain == [0, true, 0, None, None]
    assert ours == [true - 1, 1, 1, 2.0, 2.0]
    assert "7 late rows" in parts(story)[-1]


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
