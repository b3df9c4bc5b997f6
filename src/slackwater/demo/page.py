"""The story as sentences, tables and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slackwater.demo.plant import LINES
from slackwater.demo.score import Score, missing_readings
from slackwater.demo.story import WATERMARK, Story
from slackwater.view.findings import Part, Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TITLE", "as_json", "parts", "picture"]

TITLE = "A compressed-air plant: Spark alone, and with Slackwater"
_NAMES = ("Spark alone", "Slackwater")
_QUESTIONS = {"windows": "10 s means: windows in which a line leaks",
              "leaks": "pattern: pressure falls, valve shut",
              "heard": "pairs: drop and hiss, times uncertain"}
_HOW = {"windows": f"watermark {WATERMARK}", "leaks": "order of arrival", "heard": "exact times"}


def parts(story: Story) -> list[Part]:
    """Everything that was computed."""
    plant, scores = story.plant, story.scores
    rows = plant.table.num_rows
    late = [score.readings for score in scores]
    sheets: list[Part] = [
        f"{len(LINES)} lines with {3 * len(LINES)} radio nodes sent {rows:,} rows in "
        f"{plant.seconds} s of plant time; they stall, and their clocks are off. Both saw the same "
        f"rows in micro-batches of {plant.batch} s."]
    table = []
    for question, words in _QUESTIONS.items():
        for name, score in zip(_NAMES, scores, strict=True):
            one: Score = getattr(score, question)
            how = _HOW[question] if name == _NAMES[0] else "in order" if question != "heard" \
                else "intervals"
            table.append([words, f"{name}, {how}", len(one.found), len(one.missed),
                          len(one.invented), _seconds(one.mean_wait),
                          _seconds(max(one.waits, default=None))])
    sheets.append(Sheet("Against the truth", ["question", "asked of", "found", "missed", "invented",
                                              "known after (s), mean", "worst"], table))
    sheets.append(
        f"Readings that are in no mean: Spark alone {late[0]:,}, dropped without a word; "
        f"Slackwater {late[1]:,}, and all {story.late:,} late rows of the run are kept, each with "
        "its reason.")
    return sheets


def as_json(story: Story) -> dict[str, Any]:
    """The same for machines."""
    found: dict[str, Any] = {"rows": story.plant.table.num_rows, "late_rows_kept": story.late,
                             "seconds": round(story.seconds, 1)}
    for name, score in zip(("spark", "slackwater"), story.scores, strict=True):
        found[name] = {"readings_missing": score.readings, **{
            question: {"found": len(one.found), "missed": len(one.missed),
                       "invented": len(one.invented), "mean_wait_s": _seconds(one.mean_wait)}
            for question in _QUESTIONS for one in [getattr(score, question)]}}
    return found


def picture(story: Story) -> Figure:
    """Which leaks each reported, and how many readings each left out of the means."""
    from slackwater.evaluate.pictures import COLOURS, WIDE, figure

    colours = (COLOURS[1], COLOURS[0])
    start = min(at for _, at in story.plant.counts)
    with figure(WIDE, 3.8) as drawn:
        top, bottom = drawn.subplots(2, 1, sharex=True)
        for row, (score, colour) in enumerate(zip(story.scores, colours, strict=True)):
            leaks = score.leaks
            for answers, marker, face, words in (
                    (leaks.found, "o", colour, "found"), (leaks.missed, "o", "none", "missed"),
                    (leaks.invented, "x", colour, "invented")):
                x = [(one[1] - start) / 1e6 for one in sorted(answers)]  # type: ignore[index,type-var]
                style = {"color": colour} if marker == "x" else {
                    "facecolors": face, "edgecolors": colour}
                top.scatter(x, [1 - row] * len(x), marker=marker, s=28,
                            label=f"{words}: {len(x)}", **style)
        top.set_yticks([1, 0], _NAMES)
        top.set_ylim(-0.6, 1.6)
        top.set_title("leaks by pattern: ● found, ○ missed, × invented")
        for shift, name, given, colour in zip((-1.5, 1.5), _NAMES, (story.plain, story.ours),
                                              colours, strict=True):
            missing = missing_readings(story.plant, given)
            bottom.bar([(at - start) / 1e6 + 5 + shift for at in missing], list(missing.values()),
                       3, color=colour, label=name)
        bottom.set_title("readings missing from the 10 s means")
        bottom.set_xlabel("second of the plant")
        bottom.legend()
    return drawn


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
