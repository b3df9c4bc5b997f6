"""Each pattern operator on a few events: which of them make a match.

The matches are those that the real matcher finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import slackwater
from manual.drawings.canvas import Canvas

__all__ = ["SHOWN", "pattern_drawings"]


@dataclass(frozen=True)
class Shown:
    """A query, the events (``A1`` is type A, with 1 as its id) a second apart, and an option."""

    events: str
    query: str
    told: str
    select: str = "skip_till_any"


SHOWN = {
    "sequence": Shown("A B A B", "SEQ(A a, B b)", "every A with every later B"),
    "within": Shown("A B A B", "SEQ(A a, B b) WITHIN 1 seconds", "first to last, at most so long"),
    "equal": Shown("A1 A2 B2 B1", "SEQ(A a, B b) WHERE [id]", "[id]: equal in all events"),
    "not-between": Shown("A B C A B", "SEQ(A a, !(C c), B b)", "no C between them"),
    "not-before": Shown("C A B . . A B", "SEQ(!(C c), A a, B b) WITHIN 3 seconds",
                        "no C before them, within the window"),
    "not-after": Shown("A B C . . A B", "SEQ(A a, B b, !(C c)) WITHIN 3 seconds",
                       "no C after them, within the window"),
    "plus": Shown("A B B C", "SEQ(A a, B+ b[], C c)", "one B or more: every choice of them"),
    "plus-next": Shown("A B B C", "SEQ(A a, B+ b[], C c)", "the run takes every B that fits",
                       "skip_till_next"),
    "star": Shown("A C A B C", "SEQ(A a, B* b[], C c)", "any number of Bs, none included",
                  "skip_till_next"),
    "optional": Shown("A C A B C", "SEQ(A a, B? b, C c)", "one B or none", "skip_till_next"),
    "counted": Shown("A B B B C", "SEQ(A a, B{2,3} b[], C c)", "two or three Bs"),
    "any": Shown("A B C", "SEQ(A a, ANY(B, C) x)", "one of several types"),
    "strict": Shown("A B A C B", "SEQ(A a => B b)", "=>: no event in between"),
    "next": Shown("A C B B", "SEQ(A a -> B b)", "->: the next B that fits"),
    "each": Shown("A C B B", "SEQ(A a ~> B b)", "~>: any B"),
    "skip-past": Shown("A A B A B", "SEQ(A a, B b) AFTER MATCH SKIP PAST LAST EVENT",
                       "matches do not overlap"),
    "skip-next": Shown("A A B A B", "SEQ(A a, B b) AFTER MATCH SKIP TO NEXT EVENT",
                       "one match for each first event"),
}
"""By the drawing's name."""

_STEP, _LEFT = 62, 40


def pattern_drawings() -> dict[str, Canvas]:
    """A drawing for each operator."""
    return {f"pattern-{name}": _draw(shown) for name, shown in SHOWN.items()}


def matches_of(shown: Shown) -> list[list[int]]:
    """The times of the events of each match, in the order in which the matches begin."""
    events = [(i, word) for i, word in enumerate(shown.events.split()) if word != "."]
    table = pa.table({"time": pa.array([i for i, _ in events], pa.int64()),
                      "type": [word[0] for _, word in events],
                      "id": [int(word[1:] or 0) for _, word in events]})
    text = f"EVENT {shown.query}"
    if "WITHIN" not in text:
        head, _, skip = text.partition(" AFTER")
        text = f"{head} WITHIN 1 minute" + (f" AFTER{skip}" if skip else "")
    found = slackwater.match(table, text, time="time", type="type", unit="s", slack="1 minute",
                             select=shown.select)
    return sorted(sorted(set(_times(match["events"]))) for match in found.ready.to_pylist())


def _times(value: Any) -> Iterator[int]:
    if isinstance(value, dict) and "time" in value and "type" in value:
        yield value["time"]
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _times(part)


def _draw(shown: Shown) -> Canvas:
    events, found = shown.events.split(), matches_of(shown)
    wide = max(560, 2 * _LEFT + _STEP * len(events))
    names = "; ".join(", ".join(f"{events[t]} at {t} s" for t in match) for match in found)
    canvas = Canvas(wide, 92 + 26 * max(len(found), 1), shown.query,
                    f"Events a second apart: {', '.join(e for e in events if e != '.')}. "
                    f"Matches, {shown.told}: {names or 'none'}.")
    canvas.text(12, 20, shown.query, look="code")
    option = "" if shown.select == "skip_till_any" else f" (select: {shown.select})"
    canvas.text(12, 40, shown.told + option, "faint", look="small")
    canvas.line([(_LEFT - 22, 66), (_LEFT + _STEP * len(events), 66)], "rule", arrow=True)

    def at(second: int) -> float:
        return _LEFT + _STEP * second

    for second, word in enumerate(events):
        if word != ".":
            used = any(second in match for match in found)
            canvas.dot(at(second), 66, "ink" if used else "faint", hollow=not used)
            canvas.text(at(second) + 9, 61, word)
    for row, match in enumerate(found):
        y = 92 + 26 * row
        if match[0] != match[-1]:
            canvas.line([(at(match[0]), y), (at(match[-1]), y)], "ready", width=2)
        for second in match:
            canvas.dot(at(second), y, "ready")
        canvas.text(at(match[-1]) + 12, y + 5, " ".join(events[t] for t in match), "ready",
                    look="small")
    if not found:
        canvas.text(_LEFT, 96, "no match", "late", look="small")
    return canvas
