"""Figures 3 to 5 of paper 2: execution time, response time and buffer length by arrival rate.

The paper's rates end at 1600 tuples a second, where its machine no longer kept up with the simple
algorithms.  A machine of today does, so the sweep goes on to 12 800, over shorter streams.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from slackwater.correlate.replay import Measured
from slackwater.evaluate import pictures
from slackwater.papers.correlation.streams import ALGORITHMS, arrivals, measure
from slackwater.papers.outcome import Fact, Outcome, write_table

__all__ = ["EXPERIMENTS"]

_RATES = {12: 30, 24: 30, 50: 30, 100: 30, 200: 20, 400: 15, 800: 8, 1600: 5, 3200: 2.5, 6400: 1.5,
          12800: 1}
"""Tuples a second, and seconds."""

Rows = list[tuple[str, int, Measured]]


@cache
def _measured(quick: bool) -> Rows:
    rates = dict.fromkeys(list(_RATES)[:5], 6) if quick else _RATES
    return [(algorithm, rate, measure(arrivals(rate, seconds), algorithm,
                                      repeat=1 if quick or rate > 800 else 2))
            for algorithm in ALGORITHMS for rate, seconds in rates.items()]


def _draw(out: Path, name: str, what: str, rows: Rows, value: Callable[[Measured], float],
          log: bool = True) -> list[Path]:
    table = write_table(
        out / f"{name}.csv",
        ["algorithm", "tuples_per_second", what, "pairs", "probes", "lookup_hits"],
        [[a, r, value(m), m.pairs, m.probes, m.lookup_hits] for a, r, m in rows])
    with pictures.figure(pictures.WIDE, 3.4) as picture:
        axes = picture.subplots()
        for k, algorithm in enumerate(ALGORITHMS):
            points = [(r, value(m)) for a, r, m in rows if a == algorithm]
            axes.plot(*zip(*points, strict=True), label=algorithm, **pictures.style_of(k))
        ticks = sorted({r for _, r, _ in rows})
        axes.set(xscale="log", yscale="log", ylabel=what,
                 xlabel="arrival rate of each stream (tuples/s)")
        axes.set_xticks(ticks, [str(r) for r in ticks])
        axes.minorticks_off()
        picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return [table, *pictures.save(picture, out / name)]


def figure3(out: Path, quick: bool) -> Outcome:
    """Execution times."""
    rows = _measured(quick)
    files = _draw(out, "corr-fig3", "execution time per second of stream (ms)", rows,
                  lambda m: 1e3 * m.seconds / m.span)
    if quick:
        return Outcome(files)
    took = {(a, r): m.seconds / m.span for a, r, m in rows}
    order = all(took["lazy", r] <= took["eager", r] < took["simple-sort", r] <= took["simple", r]
                for r in (400, 800, 1600))
    growth = {a: took[a, 1600] / took[a, 200] for a in ("simple", "eager", "lazy")}
    return Outcome(files, [
        _claim("from 400 tuples a second on: lazy ≤ eager < simple-sort ≤ simple",
               "lazy family < eager < simple-sort < simple", order,
               ", ".join(f"{a} {1e3 * took[a, 1600]:.0f} ms/s" for a in ALGORITHMS),
               "the machine was busy, or two of them lie together"),
        _claim("growth of the time from r200 to r1600: simple; eager; lazy",
               "eager and lazy “much slower”",
               growth["eager"] < growth["simple"] and growth["lazy"] < growth["simple"],
               "; ".join(f"{g:.0f}" for g in growth.values()), "see the data"),
    ])


def figure4(out: Path, quick: bool) -> Outcome:
    """Response times."""
    rows = _measured(quick)
    files = _draw(out, "corr-fig4", "mean response time (ms)", rows, lambda m: m.response_ms)
    if quick:
        return Outcome(files)
    response = {(a, r): m.response_ms for a, r, m in rows}
    below = [r for r in _RATES if response["simple", r] < response["lazy", r]]
    crossing = next((r for r in _RATES if response["simple", r] > response["lazy", r]), None)
    return Outcome(files, [
        _claim("at low rates eager and the simple ones answer sooner than the lazy ones",
               "until 400 tuples a second", bool(below) and below[0] == 12,
               f"until r{below[-1]}" if below else "never", "see the data"),
        Fact("rate from which simple answers later than lazy", "above 400 (r800)",
             f"r{crossing}" if crossing else "none up to r12800", crossing == 800,
             "" if crossing == 800 else
             "the curves cross where a tuple's processing takes as long as the time to the next: "
             "compiled code on a machine of today is some thirty times faster than Java in 2010"),
    ])


def figure5(out: Path, quick: bool) -> Outcome:
    """Mean lengths of the buffers."""
    rows = _measured(quick)
    files = _draw(out, "corr-fig5", "tuples held, both buffers", rows, lambda m: m.buffer)
    held = {(a, r): m.buffer for a, r, m in rows}
    rates = sorted({r for _, r, _ in rows})
    order = all(held["eager", r] < held["simple-sort", r] <= held["simple", r] for r in rates)
    top = rates[-1] if quick else 1600
    lazy = held["lazy", top] - held["eager", top]
    same = held["lazy", top] == held["lazy-lookup", top]
    return Outcome(files, [
        _claim("eager < simple-sort < simple", "eager < simple-sort < simple", order,
               f"at r{top}: " + ", ".join(f"{a} {held[a, top]:,.0f}" for a in ALGORITHMS),
               "see the data"),
        _claim(f"lazy − eager at r{top}, both buffers, blocks of 1000", "“roughly … a thousand”",
               800 < lazy < 2200, f"{lazy:,.0f}",
               "each of the two buffers holds half a block more on average, and what is obsolete "
               "leaves once a block"),
        _claim("lazy with look-up holds as much as lazy", "“almost the same”", same,
               "the same" if same else "not the same", "see the data"),
    ])


def _claim(what: str, printed: str, holds: bool, ours: str, why: str) -> Fact:
    return Fact(what, printed, ours, holds, "" if holds else why)


EXPERIMENTS = {"corr-fig3": figure3, "corr-fig4": figure4, "corr-fig5": figure5}
"""By the names of the catalogue."""
