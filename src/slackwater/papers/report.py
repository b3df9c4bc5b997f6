"""One page with every figure and table: printed values, ours, the ratio, and why they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slackwater.papers.catalogue import ENTRIES, PAPERS, Entry
from slackwater.papers.notes import READINGS, SETTING
from slackwater.papers.outcome import Fact, Outcome

__all__ = ["Row", "page"]


@dataclass(frozen=True)
class Row:
    """What became of an entry: its outcome, or why there is none; how long it took."""

    entry: Entry
    outcome: Outcome | None
    seconds: float = 0.0
    reason: str = ""

    @property
    def verdict(self) -> str:
        """The cell of the overview: same, differs (why), or cannot (what is missing)."""
        if self.outcome is None:
            return f"cannot ({self.reason})"
        if self.outcome.verdict == "cannot":
            return f"cannot ({self.outcome.missing} missing)" if " " not in self.outcome.missing \
                else f"cannot (missing: {self.outcome.missing})"
        whys = list(dict.fromkeys(f.why for f in self.outcome.facts if not f.agrees))
        said = f"differs ({'; '.join(whys)})" if whys else "same"
        return f"{said}; cannot for {self.outcome.partly}" if self.outcome.partly else said


def page(rows: Mapping[str, Row], *, pictures: Path | None = None) -> str:
    """The page as Markdown; with `pictures`, the folder of the images relative to the page."""
    parts = ["# The papers, figure by figure", "", SETTING, ""]
    for number, title in PAPERS.items():
        mine = [rows[e.name] for e in ENTRIES if e.paper == number and e.name in rows]
        parts += [f"## Paper {number}", "", f"{title}.", "", *READINGS.get(number, ()), "",
                  "| | what | command | verdict |", "|---|---|---|---|"]
        parts += [f"| {r.entry.label or '(ours)'} | {r.entry.title} | `{r.entry.name}` | "
                  f"{_cell(r.verdict)} |" for r in mine]
        parts.append("")
        for row in mine:
            parts += _details(row, pictures)
    return "\n".join(parts).rstrip() + "\n"


def _details(row: Row, pictures: Path | None) -> list[str]:
    outcome = row.outcome
    if outcome is None or not (outcome.facts or outcome.note or pictures):
        return []
    shown = sorted(outcome.facts, key=lambda f: f.agrees)
    long = len(shown) > 12
    lines = [f"### {row.entry.label or 'Beyond the paper'}: {row.entry.title}", ""]
    if outcome.note:
        lines += [outcome.note, ""]
    if shown:
        agreeing = sum(f.agrees for f in shown)
        if long:
            lines += [f"{agreeing} of {len(shown)} values agree; those that differ, and the first "
                      f"that agree (all are in `{outcome.files[0].name}`):", ""]
            shown = shown[: max(len(shown) - agreeing, 0) + 6]
        lines += ["| | printed | here | ratio | |", "|---|---|---|---|---|"]
        lines += [_fact(f) for f in shown]
        lines.append("")
    if pictures is not None:
        picture = next((f for f in outcome.files if f.suffix == ".png"), None)
        if picture is not None:
            lines += [f"![{row.entry.title}]({(pictures / picture.name).as_posix()})", ""]
    return lines


def _fact(fact: Fact) -> str:
    ratio = "" if fact.ratio is None else f"{fact.ratio:.3g}"
    printed = "–" if fact.printed is None else _number(fact.printed)
    said = "" if fact.printed is None else "same" if fact.agrees else f"differs: {fact.why}"
    return "| " + " | ".join(_cell(c) for c in (fact.what, printed, _number(fact.ours), ratio,
                                                said)) + " |"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
