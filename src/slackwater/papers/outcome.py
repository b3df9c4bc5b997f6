"""What an experiment hands back: its files, and the paper's findings beside ours."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["UNEXPLAINED", "Experiment", "Fact", "Outcome", "claim", "close", "write_rows",
           "write_table"]

UNEXPLAINED = "unexplained"
"""Stands where a reason should: a difference that was not expected, and that nobody has found."""


@dataclass(frozen=True)
class Fact:
    """One value or finding of a paper beside ours.

    Parameters
    ----------
    what
        What was measured.
    printed
        What the text prints: a number, or its words; None where only the lost figure has it.
    ours
        What came out here.
    agrees
        Whether the two say the same.
    why
        Why they differ, one sentence; needed where they do.
    """

    what: str
    printed: float | str | None
    ours: float | str
    agrees: bool = True
    why: str = ""

    def __post_init__(self) -> None:
        if not self.agrees and not self.why:
            raise ValueError(f"{self.what}: a difference needs a reason")

    @property
    def ratio(self) -> float | None:
        """Ours ÷ printed, where both are numbers."""
        if isinstance(self.printed, str) or isinstance(self.ours, str) or not self.printed:
            return None
        return self.ours / self.printed


@dataclass(frozen=True)
class Outcome:
    """The files that an experiment wrote (data first), its facts, and which data it lacked.

    `missing` names data without which the figure cannot be judged; what is drawn then is a
    stand-in.  `partly` names parts of it for which data are missing, where the rest can be judged.
    `note` is for the reader of the page.
    """

    files: list[Path]
    facts: Sequence[Fact] = ()
    missing: str = ""
    note: str = ""
    partly: str = ""

    @property
    def verdict(self) -> str:
        """``same``, ``differs`` or ``cannot``."""
        if self.missing:
            return "cannot"
        return "same" if all(fact.agrees for fact in self.facts) else "differs"


Experiment = Callable[[Path, bool], Outcome]
"""Takes the output folder and whether to run small (for tests)."""


def close(what: str, printed: float, ours: float, *, within: float, why: str) -> Fact:
    """A number that agrees if the two are at most `within` (a share of the printed one) apart.

    Examples
    --------
    >>> close("events", 100.0, 103.0, within=0.05, why="chance").agrees
    True
    """
    agrees = abs(ours - printed) <= within * abs(printed)
    return Fact(what, printed, ours, agrees, "" if agrees else why)


def claim(what: str, printed: float | str, ours: float | str, holds: bool,
          why: str = UNEXPLAINED) -> Fact:
    """What a text says beside what was found; `why` counts only if it does not hold.

    Examples
    --------
    >>> claim("order", "rising", "falling", False).why
    'unexplained'
    """
    return Fact(what, printed, ours, holds, "" if holds else why)


def write_table(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write rows under a head."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([[_short(v) for v in row] for row in rows])
    return path


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write rows that name their columns."""
    return write_table(path, list(rows[0]), [list(row.values()) for row in rows])


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
