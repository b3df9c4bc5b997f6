"""Results against the truth: what was found, missed, invented, and after how long."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from slackwater.demo.plant import WINDOW, Plant

__all__ = ["Given", "Score", "Scores", "missing_readings", "score_all"]

_WINDOW_US = WINDOW * 1_000_000
LOSS = 0.3
"""Bar by which the two ends of a sound line never differ in the mean."""

Given = Mapping[str, list[tuple[int, dict[str, Any]]]]
"""By stream, results with the time at which they were known; times in microseconds."""


@dataclass(frozen=True)
class Score:
    """How one question was answered.

    Parameters
    ----------
    found, missed, invented
        True answers that were given, that were not, and answers that are not true.
    waits
        Seconds from the end of what an answer is about until it was known.
    """

    found: frozenset[Hashable]
    missed: frozenset[Hashable]
    invented: frozenset[Hashable]
    waits: tuple[float, ...]

    @property
    def mean_wait(self) -> float | None:
        """Seconds, None: there was no answer."""
        return sum(self.waits) / len(self.waits) if self.waits else None


@dataclass(frozen=True)
class Scores:
    """All questions: leaking windows, leaks by pattern, drops and hisses in pairs."""

    windows: Score
    leaks: Score
    heard: Score
    readings: int
    """Readings that are in no mean, of those that belong there."""


def score_all(plant: Plant, given: Given) -> Scores:
    """Judge the results of one contender.

    Examples
    --------
    >>> from slackwater.demo.plant import make_plant
    >>> plant = make_plant(seconds=60)
    >>> nothing = score_all(plant, {"means": [], "leaks": [], "heard": []})
    >>> nothing.leaks.found, nothing.leaks.missed <= plant.leaks
    (frozenset(), True)
    """
    until = plant.judged_until
    means = [(at, row) for at, row in given["means"] if row["start"] + _WINDOW_US <= until]
    alarms = {(row["line"], row["start"]) for _, row in means if _differs(row)}
    windows = _judged(
        alarms, {w for w in plant.leaking if w[1] + _WINDOW_US <= until},
        [(at, row["start"] + _WINDOW_US) for at, row in means])
    leaks = [(at, (row["line"], row["fell"])) for at, row in given["leaks"] if row["fell"] <= until]
    heard = [(at, (row["line"], row["fell"], row["hissed"])) for at, row in given["heard"]
             if row["fell"] <= until]
    return Scores(
        windows,
        _judged({leak for _, leak in leaks}, {one for one in plant.leaks if one[1] <= until},
                [(at, leak[1]) for at, leak in leaks]),
        _judged({pair for _, pair in heard}, {one for one in plant.pairs if one[1] <= until},
                [(at, max(pair[1:])) for at, pair in heard]),
        sum(missing_readings(plant, given).values()))


def missing_readings(plant: Plant, given: Given) -> dict[int, int]:
    """How many readings the means of a window lack, over all lines, by the window's start."""
    had = {(row["line"], row["start"]): row["readings"] for _, row in given["means"]}
    missing: dict[int, int] = {}
    for (line, start), count in sorted(plant.counts.items(), key=lambda item: item[0][1]):
        if start + _WINDOW_US <= plant.judged_until:
            missing[start] = missing.get(start, 0) + count - had.get((line, start), 0)
    return missing


def _differs(row: Mapping[str, Any]) -> bool:
    inlet, outlet = row.get("inlet"), row.get("outlet")
    return inlet is not None and outlet is not None and inlet - outlet > LOSS


def _judged(answers: set[Any], truth: set[Any], waits: Iterable[tuple[int, int]]) -> Score:
    return Score(frozenset(answers & truth), frozenset(truth - answers),
                 frozenset(answers - truth), tuple((at - about) / 1e6 for at, about in waits))
