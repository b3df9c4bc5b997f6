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
from slackwater.papers.correlation.streams import ALGORITHMS, Case, arrivals, measure
from slackwater.papers.outcome import Outcome, claim, write_table

__all__ = ["EXPERIMENTS"]

_RATES = {12: 30, 24: 30, 50: 30, 100: 30, 200: 20, 400: 15, 800: 8, 1600: 5, 3200: 2.5, 6400: 1.5,
          12800: 1}
"""Tuples a second, and seconds."""

Rows = list[tuple[str, int, Measured]]


@cache
def _measured(quick: bool) -> Rows:
    rates = dict.fromkeys(list(_RATES)[:5], 6) if quick else _RATES
    found: dict[tuple[str, int], Measured] = {}
    for rate, seconds in rates.items():
        stream = arrivals(rate, seconds)
        found |= measure({(a, rate): Case(stream, a) for a in ALGORITHMS},
                         1 if quick or rate > 1600 else 5)
    return [(a, rate, found[a, rate]) for a in ALGORITHMS for rate in rates]


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
    growth = {a: 1e3 * (took[a, 1600] - took[a, 200]) for a in ("simple", "eager", "lazy")}
    probes = {a: m.probes for a, r, m in rows if r == 1600}
    return Outcome(files, [
        claim("from 400 tuples a second on: lazy ≤ eager < simple-sort ≤ simple (at r1600, ms per "
              "second of stream)", "lazy family < eager < simple-sort < simple",
              ", ".join(f"{a} {1e3 * took[a, 1600]:.0f}" for a in ALGORITHMS), order,
              "two of them lie closer together than repeated runs of one of them do; the "
              "probabilities that they compute at r1600 are in that order: "
              + ", ".join(f"{a} {n / 1e6:.1f} million" for a, n in probes.items())),
        claim("growth of the time from r200 to r1600 (ms per second of stream): simple; eager; "
              "lazy", "eager and lazy “much slower”",
              "; ".join(f"{g:.0f}" for g in growth.values()),
              max(growth["eager"], growth["lazy"]) < growth["simple"] / 2),
    ])


def figure4(out: Path, quick: bool) -> Outcome:
    """Response times."""
    rows = _measured(quick)
    files = _draw(out, "corr-fig4", "mean response time (ms)", rows, lambda m: m.response_ms)
    if quick:
        return Outcome(files)
    response = {(a, r): m.response_ms for a, r, m in rows}
    busy = {r: m.seconds / m.span for a, r, m in rows if a == "simple"}
    below = [r for r in _RATES if response["simple", r] < response["lazy", r]]
    crossing = next((r for r in _RATES if response["simple", r] > response["lazy", r]), None)
    return Outcome(files, [
        claim("at low rates eager and the simple ones answer sooner than the lazy ones",
              "until 400 tuples a second", f"until r{below[-1]}" if below else "never",
              bool(below) and below[0] == 12),
        claim("rate from which simple answers later than lazy", "above 400",
              f"r{crossing}" if crossing else "none up to r12800", crossing == 800,
              "the response of simple “begins to increase sharply” when it cannot catch up; here "
              f"it is busy {100 * busy[800]:.1f} % of the time at r800 and "
              f"{100 * busy[crossing or 12800]:.0f} % at r{crossing or 12800}"),
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
        claim("eager < simple-sort < simple", "eager < simple-sort < simple",
              f"at r{top}: " + ", ".join(f"{a} {held[a, top]:,.0f}" for a in ALGORITHMS), order),
        claim(f"lazy − eager at r{top}, both buffers, blocks of 1000", "“roughly … a thousand”",
              f"{lazy:,.0f}", 800 < lazy < 2200),
        claim("lazy with look-up holds as much as lazy", "“almost the same”",
              "the same" if same else "not the same", same),
    ])


EXPERIMENTS = {"corr-fig3": figure3, "corr-fig4": figure4, "corr-fig5": figure5}
"""By the names of the catalogue."""
