"""Figures 1 to 5 of paper 5, drawn from EXPLAIN and from the stacks of its examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from slackwater.evaluate import pictures
from slackwater.papers.drawing import arrow, bare, box, events_on_a_line, finish, lines_of_text
from slackwater.papers.outcome import Outcome, claim
from slackwater.papers.sequences.ais import BUILT, MATCHES, Ais, new_ais, push, stacks
from slackwater.query.event.explain import explain_event

__all__ = ["EXPERIMENTS", "STREAM", "appended", "fed"]

STREAM = ("a3", "b6", "a7", "c9", "d10", "b11", "c13", "d15", "f16", "f17")
"""The stream of Figure 2(c), as far as the text names its events."""

_KINDS = {"a": 0, "b": 1, "d": 2}
_WINDOW = 10


def fed(events: Sequence[str], *, slack: int = 100, divider: bool = False) -> Ais:
    """The stacks after these events."""
    ais = new_ais(3, len(events) + 1)
    kinds = np.array([_KINDS.get(e[0], -1) for e in events])
    push(ais, kinds, np.array([int(e[1:]) for e in events]), _WINDOW, slack, True, divider, True)
    return ais


def appended(events: Sequence[str]) -> list[list[tuple[int, int | None]]]:
    """What SASE does, which trusts the order: append, and point to the top of the stack before."""
    found: list[list[tuple[int, int | None]]] = [[], [], []]
    for e in events:
        kind = _KINDS.get(e[0], -1)
        if kind >= 0:
            top = found[kind - 1][-1][0] if kind and found[kind - 1] else None
            found[kind].append((int(e[1:]), top))
    return found


def _stacks(axes: Axes, found: Sequence[Sequence[tuple[int, int | None]]], title: str,
            marked: Sequence[str] = ()) -> None:
    bare(axes, 6, 5)
    axes.set_ylim(1.8, 4.9)
    axes.set_title(title, loc="left")
    for s, own in enumerate(found):
        axes.text(1 + 2 * s, 4.6, f"S{s + 1} ({'ABD'[s]})", ha="center", fontsize=7)
        for i, (time, rip) in enumerate(own):
            name = f"{'abd'[s]}{time}"
            before = f"({'abd'[s - 1]}{rip}) " if s and rip is not None else ("(–) " if s else "")
            box(axes, 1 + 2 * s, 4.0 - 0.85 * i, before + name, width=1.7, height=0.62,
                colour="#fbe3d6" if name in marked else "#e8f1f8", size=7)


def _rows(found: Sequence[Sequence[tuple[int, int | None]]]) -> list[list[object]]:
    return [[f"S{s + 1}", time, "" if rip is None else rip]
            for s, own in enumerate(found) for time, rip in own]


def figure1(out: Path, quick: bool) -> Outcome:
    """The plan of the paper's query, by EXPLAIN."""
    query = "EVENT SEQ(A a, B b, !(C c), D d)\nWHERE a.id = b.id AND b.id = d.id\nWITHIN 10 seconds"
    plan = explain_event(query)
    with pictures.figure(pictures.WIDE, 2.4) as picture:
        lines_of_text(picture.subplots(), query + "\n\n" + plan, size=6.5)
    parts = [line.split()[0] for line in plan.splitlines() if line[:1].strip()]
    known = {"scan", "sequence", "construct", "negation", "output"} <= set(parts)
    return finish(picture, out, "seq-fig1", ["line"], [[line] for line in plan.splitlines()], [
        claim("operators of the plan", "SS, SC, WD, SL, NG, TF",
             ", ".join(p for p in parts if p != "EVENT"), known)],
        "EXPLAIN of a query of the figure's form; its own text is lost. WD and SL are pushed into "
        "the construction, TF is RETURN.")


def figure2(out: Path, quick: bool) -> Outcome:
    """The stacks after the stream, and the sequences."""
    ais = fed(STREAM)
    found = stacks(ais)
    with pictures.figure(pictures.WIDE, 2.6) as picture:
        left, right = picture.subplots(1, 2, width_ratios=(3, 2))
        _stacks(left, found, "stacks after f17; in brackets the RIP")
        lines_of_text(right, f"stream:\n  {' '.join(STREAM[:5])}\n  {' '.join(STREAM[5:])}\n\n"
                             f"sequences built: {ais.tally[BUILT]}\nwithin {_WINDOW}: "
                             f"{ais.tally[MATCHES]}")
    expected = [[(3, None), (7, None)], [(6, 3), (11, 7)], [(10, 6), (15, 11)]]
    return finish(picture, out, "seq-fig2", ["stack", "time", "rip"], _rows(found), [
        claim("RIP of b11", "a7", f"a{found[1][1][1]}", found == expected),
        claim("sequences built", 4.0, float(ais.tally[BUILT]), int(ais.tally[BUILT]) == 4),
        claim("of these within the window", 2.0, float(ais.tally[MATCHES]),
             int(ais.tally[MATCHES]) == 2),
    ])


def figure3(out: Path, quick: bool) -> Outcome:
    """Three streams with events out of order."""
    base = [e for e in STREAM if e != "c9"]
    panels = {"(a)": [*base, "c9"], "(b)": ["b1", *base, "a0", "d2"], "(c)": [*base, "b8", "d2"]}
    with pictures.figure(pictures.WIDE, 2.6) as picture:
        for axes, (title, events) in zip(picture.subplots(3, 1), panels.items(), strict=True):
            bare(axes, 14, 2)
            newest, marks = -1, []
            for i, e in enumerate(events):
                late = int(e[1:]) < newest
                newest = max(newest, int(e[1:]))
                marks.append((i + 1.0, e, "#fbe3d6" if late else "#e8f1f8"))
            events_on_a_line(axes, 1, marks)
            axes.text(0.1, 1, title, va="center", fontsize=8)
    built = int(fed(panels["(b)"]).tally[BUILT])
    more = int(fed(panels["(b)"][:-2]).tally[BUILT])
    return finish(picture, out, "seq-fig3", ["panel", "events"],
                  [[k, " ".join(v)] for k, v in panels.items()], [
        claim("(b): sequences more once a0 and d2 have come (a0 b1 d2 among them)",
              "“a0 b1 d2” should be constructed", str(built - more), built > more)],
        "Orange: out of order.")


def figure4(out: Path, quick: bool) -> Outcome:
    """Appending misplaces b8 and d2; sorting them in does not."""
    base = [e for e in STREAM if e != "c9"]
    wrong_b, wrong_d = appended([*base, "b8"]), appended([*base, "b8", "d2"])
    right = stacks(fed([*base, "b8", "d2"]))
    with pictures.figure(pictures.WIDE, 2.6) as picture:
        a, b, c = picture.subplots(1, 3)
        _stacks(a, wrong_b, "(a) b8 appended", ["b8"])
        _stacks(b, wrong_d, "(b) d2 appended", ["b8", "d2"])
        _stacks(c, right, "sorted in", ["b8", "d2"])
    said = wrong_b[1][-1] == (8, 7) and wrong_d[2][-1] == (2, 8)
    good = right[1] == [(6, 3), (8, 7), (11, 7)] and right[2][0] == (2, None)
    return finish(picture, out, "seq-fig4", ["stack", "time", "rip"], _rows(right), [
        claim("appended: RIP of b8, of d2", "a7, b8", f"a{wrong_b[1][-1][1]}, b{wrong_d[2][-1][1]}",
             said),
        claim("sorted in: d10 points to; d2 points to", "b8; nothing",
             f"b{right[2][1][1]}; nothing" if good else "another", good)])


def figure5(out: Path, quick: bool) -> Outcome:
    """What goes wrong where in the plan, counted on the example."""
    base = [e for e in STREAM if e != "c9"]
    events = [*base, "b8", "d2"]
    right = int(fed(events).tally[BUILT])
    purged = int(fed(events, slack=0).tally[BUILT])
    with pictures.figure(pictures.WIDE, 2.0) as picture:
        axes = picture.subplots()
        bare(axes, 12, 3)
        for x, name in ((2, "SSC\nstacks"), (5.2, "WD, SL"), (8.0, "TF")):
            box(axes, x, 1.5, name, width=2.0, height=0.9)
        box(axes, 2.2, 2.7,
            f"purge by the window alone: {right - purged} of {right} sequences lost",
            width=4.0, height=0.4, colour="#fbe3d6", size=6.5)
        box(axes, 2.2, 0.3, "append: b8 and d2 misplaced", width=3.6, height=0.4, colour="#fbe3d6",
            size=6.5)
        for a, b in ((3.1, 4.1), (6.3, 6.9), (9.1, 10.2)):
            arrow(axes, (a, 1.5), (b, 1.5))
    return finish(picture, out, "seq-fig5", ["what", "sequences"],
                  [["slack purge", right], ["purge by the window alone", purged]], [
        claim("sequences lost to an “unauthorized” purge", "some", str(right - purged),
             right > purged)])


EXPERIMENTS = {"seq-fig1": figure1, "seq-fig2": figure2, "seq-fig3": figure3, "seq-fig4": figure4,
               "seq-fig5": figure5}
"""By the names of the catalogue."""
