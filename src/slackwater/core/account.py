"""What became of every row of a run, and how to say it: no row may vanish without a word.

Enters: the outcomes of a run as Arrow rows with ``_reason``.  Leaves: counts, a line and remarks.
May import: html.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.html import html_pairs

__all__ = ["Account"]

_FIGURE = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass
class Account:
    """Counts of a run's rows by outcome.

    Parameters
    ----------
    rows
        Rows that were read.
    filtered
        Rows that WHERE left out.
    late, quarantined, unusable
        Rows that took no part: behind the watermark; without a usable time; of a correlation,
        without a usable interval or key.
    results
        Rows that came out.
    bound
        The share of late rows that the policy promises to stay under, if it promises one.

    Examples
    --------
    >>> found = Account(rows=4, results=2, bound=0.01)
    >>> found.add("late", pa.table({"_reason": ["came 5 ms behind the watermark"]}))
    >>> print(found.line())
    4 rows: 3 ready, 1 late, 0 quarantined, 0 unusable; loss 25 %; 2 results
    >>> found.remarks()
    ['25 % of the rows were late, where at most 1 % was promised; most often: came 5 ms behind the
    watermark']
    """

    rows: int = 0
    filtered: int = 0
    late: int = 0
    quarantined: int = 0
    unusable: int = 0
    results: int = 0
    bound: float | None = None
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    _example: dict[str, str] = field(default_factory=dict, repr=False)

    def add(self, outcome: str, rows: pa.RecordBatch | pa.Table) -> None:
        """Count rows that took no part: `outcome` is late, quarantined or unusable."""
        if not rows.num_rows:
            return
        setattr(self, outcome, getattr(self, outcome) + rows.num_rows)
        seen = self.reasons.setdefault(outcome, Counter())
        for entry in pc.value_counts(rows.column("_reason")).to_pylist():
            reason = entry["values"] or "for no stated reason"
            alike = _FIGURE.sub("#", reason)  # "came 5 ms behind …" and "came 7 ms …" are one
            self._example.setdefault(alike, reason)
            seen[alike] += entry["counts"]

    @property
    def ready(self) -> int:
        """Rows that took part in their place."""
        return self.rows - self.filtered - self.late - self.quarantined - self.unusable

    @property
    def loss(self) -> float:
        """The share of the rows with a usable time that was late."""
        usable = self.ready + self.late
        return self.late / usable if usable else 0.0

    def line(self) -> str:
        """One line on all rows and what was lost."""
        where = f", {self.filtered:,} left out by WHERE" if self.filtered else ""
        return (f"{_several(self.rows, 'row')}: {self.ready:,} ready, {self.late:,} late, "
                f"{self.quarantined:,} quarantined, {self.unusable:,} unusable{where}; "
                f"loss {100 * self.loss:.4g} %; {_several(self.results, 'result')}")

    def remarks(self) -> list[str]:
        """What a user must not overlook, with the most frequent reason."""
        found = []
        asked = self.rows - self.filtered
        if asked and not self.ready:
            found.append(f"no row took part: {self.late:,} were late, {self.quarantined:,} "
                         f"quarantined, {self.unusable:,} unusable" + self.most_often(
                             "quarantined", "unusable", "late"))
        elif self.bound is not None and self.loss > self.bound:
            found.append(f"{100 * self.loss:.4g} % of the rows were late, where at most "
                         f"{100 * self.bound:g} % was promised" + self.most_often("late"))
        elif self.loss > 0.01 and self.bound is None:
            found.append(f"{100 * self.loss:.4g} % of the rows were late; wait longer "
                         "(slack), or let Tide(loss=…) hold a bound" + self.most_often("late"))
        for outcome in ("quarantined", "unusable"):
            if self.ready and getattr(self, outcome):
                found.append(f"{_several(getattr(self, outcome), 'row')} {outcome}"
                             + self.most_often(outcome))
        return found

    def _repr_html_(self) -> str:
        facts = {"rows": self.rows, "ready": self.ready, "late": self.late,
                 "quarantined": self.quarantined, "unusable": self.unusable,
                 "left out by WHERE": self.filtered, "loss": f"{100 * self.loss:.4g} %",
                 "results": self.results}
        return html_pairs("; ".join(self.remarks()) or "every row took part", facts)

    def most_often(self, *outcomes: str) -> str:
        """The most frequent reason among these outcomes, ready to be added to a sentence."""
        seen: Counter[str] = sum((self.reasons.get(name, Counter()) for name in outcomes),
                                 Counter())
        if not seen:
            return ""
        [(alike, count)] = seen.most_common(1)
        share = f" ({_several(count, 'row')})" if len(seen) > 1 else ""
        return f"; most often: {self._example[alike]}{share}"


def _several(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
