"""The story as sentences, tables and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slackwater.demo.plant import LINES, WINDOW
from slackwater.demo.score import Score, Scores, missing_readings
from slackwater.demo.story import WATERMARK, Story
from slackwater.view.findings import Part, Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TITLE", "as_json", "parts", "picture"]

TITLE = "A compressed-air plant: Spark alone, and with Slackwater"
_NAMES = ("Spark alone", "Slackwater")
_QUESTIONS = {"windows": "leaking windows", "leaks": "leaks", "heard": "pairs"}


def parts(story: Story) -> list[Part]:
    """Everything that was computed."""
    plant, scores = story.plant, story.scores
    wrong = [sum(len(one.missed) + len(one.invented) for one in _answers(score))
             for score in scores]
    rows = []
    for question, words in _QUESTIONS.items():
        for name, score in zip(_NAMES, scores, strict=True):
            one: Score = getattr(score, question)
            rows.append([words, name, len(one.found), len(one.missed), len(one.invented),
                         _seconds(one.mean_wait), _seconds(max(one.waits, default=None))])
    return [
        f"A compressed-air plant, simulated, so that the truth is known: {len(LINES)} lines with "
        f"{3 * len(LINES)} radio nodes sent {plant.table.num_rows:,} rows in {plant.seconds} s. "
        "Nodes stall and then send everything they have kept; their clocks are off.",
        f"Spark alone and Slackwater got the same rows, in micro-batches of {plant.batch} s, and "
        "three questions to answer:",
        f"  leaking windows: in which {WINDOW} s does a line lose air? Compares the means of both "
        "its ends.",
        "  leaks: when does the pressure fall although the valve is shut? A pattern.",
        "  pairs: which hiss belongs to which drop in pressure? A join by time.",
        f"Spark alone has a watermark of {WATERMARK}, a state machine that sees rows as they "
        "arrive, and a join that takes times as exact. Slackwater puts rows in order first "
        f"({story.policy}), matches a pattern with a negation, and joins times as intervals.",
        Sheet("Against the truth", ["question", "answered by", "found", "missed", "invented",
                                    "wait (s)", "worst"], rows),
        f"Wrong answers, missed or invented: Spark alone {wrong[0]}, Slackwater {wrong[1]}. "
        "The wait runs from the end of what is asked about until the answer is known.",
        _readings(story)]


def _answers(score: Scores) -> list[Score]:
    return [getattr(score, question) for question in _QUESTIONS]


def _readings(story: Story) -> str:
    """Rows that are in no mean, and when: a policy that learns has to see a stall first."""
    half = story.plant.seconds // 2
    middle = min(at for _, at in story.plant.counts) + half * 1_000_000
    words = []
    for name, given in zip(_NAMES, (story.plain, story.ours), strict=True):
        missing = missing_readings(story.plant, given)
        early = sum(count for at, count in missing.items() if at < middle)
        words.append(f"{name} {sum(missing.values()):,} ({early:,} of them in the first {half} s)")
    return (f"Readings missing from the means: {words[0]}, dropped silently; {words[1]}, kept: "
            f"all {story.late:,} late rows are in out/late, each with its reason.")


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
