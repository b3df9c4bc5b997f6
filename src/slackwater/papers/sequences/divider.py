"""Figures 7 and 8 of paper 5: what the stack partition (divider) saves in sequences and in time."""

from __future__ import annotations

from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from slackwater.evaluate import pictures
from slackwater.papers.outcome import UNEXPLAINED, Fact, Outcome, claim, write_rows
from slackwater.papers.sequences.streams import LENGTH, WINDOW, measured, out_of_order, stream

__all__ = ["EXPERIMENTS"]


@cache
def _measured(quick: bool) -> list[dict[str, Any]]:
    events, repeats = (1_500, 1) if quick else (12_000, 1)
    slacks = (10, 20) if quick else (5, 10, 20, 30, 40, 50)
    measured(*stream(100, 0.5, 5), 5)  # compile
    rows = []
    for share in (0.0, 0.1, 0.3):
        for slack in slacks:
            kinds, times = stream(events, share, slack)
            off, on = (measured(kinds, times, slack, divider=divider, repeats=repeats)
                       for divider in (False, True))
            rows.append({
                "delayed_pct": 100 * share, "out_of_order_pct": out_of_order(times),
                "slack_s": slack, "built_without": off["built"], "built_with": on["built"],
                "built_ratio": off["built"] / max(on["built"], 1), "ms_without": off["ms"],
                "ms_with": on["ms"], "time_ratio": off["ms"] / on["ms"],
                "matches_without": off["matches"], "matches_with": on["matches"]})
    return rows


def _draw(out: Path, name: str, without: str, with_: str, ratio: str, label: str,
          rows: list[dict[str, Any]]) -> list[Path]:
    files = [write_rows(out / f"{name}.csv", rows)]
    with pictures.figure(pictures.WIDE, 3.2) as picture:
        left, right = picture.subplots(1, 2)
        for n, share in enumerate(sorted({r["delayed_pct"] for r in rows})):
            some = [r for r in rows if r["delayed_pct"] == share]
            x = [r["slack_s"] for r in some]
            title = f"{some[-1]['out_of_order_pct']:.0f} % out of order"
            look = pictures.style_of(n)
            left.plot(x, [r[without] for r in some], linestyle="--",
                      label=f"{title}, without the divider", **look)
            left.plot(x, [r[with_] for r in some], label=f"{title}, with", **look)
            right.plot(x, [r[ratio] for r in some], **look)
        k = np.linspace(min(x), max(x), 50)
        theory = ((k + WINDOW) / WINDOW) ** LENGTH
        right.plot(k, theory, color="#999999", label="((K + W) / W)$^S$")
        for axes, title in ((left, "(a)"), (right, "(b) gain: without ÷ with")):
            axes.set_yscale("log")
            axes.set(xlabel="slack K (s)", title=title)
        right.yaxis.set_major_formatter("{x:g}")
        left.set_ylabel(label)
        handles, labels = (a + b for a, b in zip(left.get_legend_handles_labels(),
                                                 right.get_legend_handles_labels(), strict=True))
        picture.legend(handles, labels, loc="outside lower center", ncols=3)
    return files + pictures.save(picture, out / name)


def _facts(rows: list[dict[str, Any]], ratio: str, what: str) -> list[Fact]:
    by = {(r["delayed_pct"], r["slack_s"]): r[ratio] for r in rows}
    shares, slacks = sorted({s for s, _ in by}), sorted({k for _, k in by})
    longer = all(by[s, slacks[-1]] > by[s, slacks[0]] for s in shares)
    ordered = by[shares[0], slacks[-1]] > by[shares[-1], slacks[-1]]
    return [
        claim(f"a larger slack, a larger gain ({what})", "larger",
              f"{by[shares[0], slacks[0]]:.1f} to {by[shares[0], slacks[-1]]:.1f} × when all is "
              "in order", longer),
        claim(f"more events in order, a larger gain ({what})", "larger",
              ", ".join(f"{by[s, slacks[-1]]:.1f} × with {s:g} % delayed" for s in shares),
              ordered),
    ]


def figure7(out: Path, quick: bool) -> Outcome:
    """Sequences built: the intermediate buffer."""
    rows = _measured(quick)
    files = _draw(out, "seq-fig7", "built_without", "built_with", "built_ratio",
                  "sequences built", rows)
    lost = sum(r["matches_without"] - r["matches_with"] for r in rows)
    facts = _facts(rows, "built_ratio", "sequences")
    top = max(r["slack_s"] for r in rows)
    mine = next(r["built_ratio"] for r in rows if r["delayed_pct"] == 0 and r["slack_s"] == top)
    theory = ((top + WINDOW) / WINDOW) ** LENGTH
    ways = comb(top + WINDOW, LENGTH - 1) / comb(WINDOW, LENGTH - 1)
    facts.append(claim(
        f"gain with everything in order and K = {top} s against ((K + W) / W)^S",
        f"“directly proportional”: {theory:.0f}", f"{mine:.0f}", abs(mine / theory - 1) < 0.1,
        f"the last event is the one that triggers; the other S − 1 = {LENGTH - 1} are chosen in "
        f"order from the K + W events before it, or from W: C({top + WINDOW}, {LENGTH - 1}) ÷ "
        f"C({WINDOW}, {LENGTH - 1}) = {ways:.0f}, which is what was built"
        if abs(mine / ways - 1) < 0.1 else UNEXPLAINED))
    facts.append(Fact("matches that the divider lost", None, f"{lost}"))
    return Outcome(files, facts)


def figure8(out: Path, quick: bool) -> Outcome:
    """Processor time."""
    rows = _measured(quick)
    return Outcome(_draw(out, "seq-fig8", "ms_without", "ms_with", "time_ratio",
                         "processor time (ms)", rows), _facts(rows, "time_ratio", "time"))


EXPERIMENTS = {"seq-fig7": figure7, "seq-fig8": figure8}
"""By the names of the catalogue."""
