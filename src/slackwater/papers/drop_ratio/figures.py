"""Figures 5 to 7 of paper 4: the adaptive method, and the paper's own, on streams of its model.

Next to the paper's methods stands ours, `DropRatio` as it is by default.  Shares are those of the
stationary part (see `slackwater.papers.drop_ratio.streams`), with the whole stream's beside them;
the buffer size is the mean number of events held in the stationary part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from slackwater.evaluate.pictures import COLOURS, MARKERS, figure, save
from slackwater.papers.drop_ratio.streams import (
    RATIOS,
    Case,
    cases,
    measure,
    paper_method,
)
from slackwater.papers.outcome import UNEXPLAINED, Fact, Outcome, claim, write_table
from slackwater.reorder import DropRatio, MaxDelay, Policy

__all__ = ["EXPERIMENTS"]

_ADAPTIVE = 10_000  # W of the adaptive method where the paper has it no smaller than the rate


class Row(NamedTuple):
    """One run."""

    stream: str
    value: float
    method: str
    ratio: float
    seed: int
    whole_pct: float
    stationary_pct: float
    held: float


_HEAD = ["stream", "sigma_or_period_s", "method", "ratio_or_n", "seed", "late_pct_whole",
         "late_pct_stationary", "mean_held"]


def _size(quick: bool) -> tuple[int, int]:
    """Events in a stationary part, and seeds."""
    return (100_000, 1) if quick else (600_000, 2)


def _runs(policies: Sequence[tuple[str, float, Policy]], quick: bool,
          wanted: Sequence[Case]) -> list[Row]:
    rows, seeds = _size(quick)
    found = []
    for case in wanted:
        for seed in range(1, seeds + 1):
            batch = case.stream(seed, rows)
            for name, ratio, policy in policies:
                m = measure(policy, batch)
                found.append(Row(case.kind, case.value, name, ratio, seed, m.whole_pct,
                                 m.stationary_pct, m.held))
    return found


@cache
def _by_ratio(quick: bool) -> list[Row]:
    """What Figures 6 and 7 share: our policy, and the paper's formula with its two heartbeats."""
    policies: list[tuple[str, float, Policy]] = []
    for ratio in RATIOS:
        policies += [("ours", ratio, DropRatio(ratio)), ("paper", ratio, paper_method(ratio))]
    policies += [("to the letter", 0.01, paper_method(0.01, heartbeat="earliest")),
                 ("adaptive", 0.001, MaxDelay(n=_ADAPTIVE)),
                 ("adaptive, W = λ / 10", 0.001, MaxDelay(n=_ADAPTIVE // 10))]
    return _runs(policies, quick, cases(quick))


def _by_samples() -> str:
    """What M, which the paper does not print, does to the share at D = 0.5 %."""
    slowest = [c for c in cases(False) if c.kind == "changing"][-1:]
    samples = (256, 1024, 4096)
    rows = _runs([("paper", float(m), replace(paper_method(0.005), samples=m)) for m in samples],
                 False, slowest)
    shares = [mean(r.stationary_pct for r in _pick(rows, ratio=float(m))) for m in samples]
    return ", ".join(f"{s:.2f} %" for s in shares)


def _pick(rows: Sequence[Row], **wanted: object) -> list[Row]:
    return [r for r in rows if all(getattr(r, k) == v for k, v in wanted.items())]


def _line(axes: Axes, rows: Sequence[Row], value: str, x: Callable[[Row], float], label: str,
          look: tuple[int, int], dash: str, aside: float = 0.0) -> None:
    """The mean over the seeds, with the least and the greatest as a bar; a little aside."""
    places = sorted({x(r) for r in rows})
    values = [[getattr(r, value) for r in rows if x(r) == p] for p in places]
    middle = np.array([mean(v) for v in values])
    spread = np.abs(np.array([[min(v) for v in values], [max(v) for v in values]]) - middle)
    beside = [p * 1.1**aside if axes.get_xscale() == "log" else p + 0.05 * aside for p in places]
    axes.errorbar(beside, middle, yerr=spread, color=COLOURS[look[0]], marker=MARKERS[look[1]],
                  capsize=2, label=label, linestyle=dash)


def fig5(out: Path, quick: bool) -> Outcome:
    """The adaptive method over changing streams: buffer size and drops by W."""
    sizes = (100, 10_000) if quick else (10, 100, 1_000, 10_000, 100_000)
    changing = [c for c in cases(quick) if c.kind == "changing"]
    rows = _runs([("adaptive", float(n), MaxDelay(n=n)) for n in sizes], quick, changing)
    files = [write_table(out / "dratio-fig5.csv", _HEAD, rows)]
    with figure(height=2.8) as picture:
        left, right = picture.subplots(1, 2)
        for axes, value, what in ((left, "held", "mean buffer size (events)"),
                                  (right, "stationary_pct", "late events (%)")):
            axes.set(xscale="log", xlabel="W (arrivals)", ylabel=what)
            for i, case in enumerate(changing):
                _line(axes, _pick(rows, value=case.value), value, lambda r: r.ratio,
                      f"changing every {case.value:g} s", (i, i), "-", i - 1)
        left.yaxis.set_major_formatter("{x:,.0f}")
        # where the share passes a bound is what one looks for
        right.set_yscale("log")
        right.yaxis.set_major_formatter("{x:g}")
        left.set_title("a) buffer size")
        right.set_title("b) late events")
        picture.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        files += save(picture, out / "dratio-fig5")
    if quick:
        return Outcome(files)
    held = [mean(r.held for r in _pick(rows, ratio=float(n))) for n in sizes]
    late = [mean(r.stationary_pct for r in _pick(rows, ratio=float(n))) for n in sizes]
    crossing = next((n for n, share in zip(sizes, late, strict=True) if share <= 1.0), None)
    return Outcome(files, [
        _claim("a greater W, a larger buffer", "“the buffer size becomes larger”",
               all(a < b for a, b in pairwise(held)),
               ", ".join(f"{h:,.0f}" for h in held)),
        _claim("a greater W, fewer drops (%)", "“the percentage of tuple drops gets reduced”",
               all(a > b for a, b in pairwise(late)),
               ", ".join(f"{v:.3g}" for v in late)),
        _claim("W at which drops come below 1 %", "between 100 and 1 000",
               crossing in (1_000,), f"between {sizes[sizes.index(crossing) - 1]:,} and "
                                     f"{crossing:,}" if crossing else "none"),
    ])


def _two_streams(out: Path, name: str, rows: list[Row], draw: Callable[[Axes, list[Row]], None],
                 what: str, bounds: Sequence[float]) -> list[Path]:
    files = [write_table(out / f"{name}.csv", _HEAD, rows)]
    with figure(height=3.4) as picture:
        for axes, kind, title, x in zip(
                picture.subplots(1, 2, sharey=True), ("constant", "changing"),
                ("a) constant streams", "b) changing streams"),
                ("σ of the delays (s)", "μ and σ change every … s"), strict=True):
            mine = _pick(rows, stream=kind)
            draw(axes, mine)
            axes.set(title=title, xlabel=x, xticks=sorted({r.value for r in mine}))
            for i, bound in enumerate(bounds):
                axes.axhline(100 * bound, color=COLOURS[i], linewidth=1.0, linestyle=":")
            if bounds:
                axes.set_yscale("log")
                axes.yaxis.set_major_formatter("{x:g}")
            else:
                axes.yaxis.set_major_formatter("{x:,.0f}")
                axes.set_ylim(bottom=0)
            if kind == "constant":
                axes.set_ylabel(what)
        handles, labels = picture.axes[0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=3)
        files += save(picture, out / name)
    return files


def fig6(out: Path, quick: bool) -> Outcome:
    """Share of tuples dropped by the paper's method, and by ours."""
    rows = _by_ratio(quick)

    def draw(axes: Axes, mine: list[Row]) -> None:
        for i, ratio in enumerate(RATIOS):
            for k, method in enumerate(("paper", "ours")):
                _line(axes, _pick(mine, method=method, ratio=ratio), "stationary_pct",
                      lambda r: r.value, f"{method}, D = {100 * ratio:g} %", (i, k),
                      "-" if method == "ours" else "--", 2 * k - 1)
            _line(axes, _pick(mine, method="paper", ratio=ratio), "whole_pct", lambda r: r.value,
                  f"paper, whole stream, D = {100 * ratio:g} %", (i, 3), ":", 2)

    files = _two_streams(out, "dratio-fig6", rows, draw, "late events (%), stationary part", RATIOS)
    facts = []
    for ratio in RATIOS:
        mine = _pick(rows, method="paper", ratio=ratio, stream="constant")
        worst = max(r.stationary_pct for r in mine)
        facts.append(_claim(f"constant streams, D = {100 * ratio:g} %: greatest share (%)",
                            "no case violates the ratio", worst <= 100 * ratio, f"{worst:.3f}"))
    why = "" if quick else ("how many samples are kept decides it, which is not printed: with "
                            "M = 256, 1024, 4096 the share at D = 0.5 %, changing every 5 s, is "
                            + _by_samples())
    for ratio in RATIOS if not quick else ():
        mine = _pick(rows, method="paper", ratio=ratio, stream="changing")
        shares = [mean(r.stationary_pct for r in mine if r.value == v)
                  for v in sorted({r.value for r in mine})]
        violated = max(shares) > 100 * ratio
        small = ratio == 0.001
        facts.append(_claim(
            f"changing streams, D = {100 * ratio:g} %: share by period (%)",
            "violated" if small else "observed", violated == small,
            ", ".join(f"{s:.3f}" for s in shares), why))
    whole = max(r.whole_pct for r in _pick(rows, method="paper", ratio=0.01, stream="constant"))
    facts.append(Fact("the same with both ends of the stream counted, D = 1 %: greatest share (%)",
                      None, f"{whole:.2f}"))
    letter = _pick(rows, method="to the letter", stream="constant")
    facts.append(Fact("Algorithm 1 to the letter, D = 1 %: greatest share (%)", None,
                      f"{max(r.stationary_pct for r in letter):.3f}"))
    return Outcome(files, facts, note="The text gives no values, only which cases violate.")


def fig7(out: Path, quick: bool) -> Outcome:
    """Buffer sizes of the paper's method and the adaptive one at D = 0.1 %."""
    rows = [r for r in _by_ratio(quick) if r.ratio == 0.001]

    def draw(axes: Axes, mine: list[Row]) -> None:
        for i, method in enumerate(("ours", "paper", "adaptive", "adaptive, W = λ / 10")):
            _line(axes, _pick(mine, method=method), "held", lambda r: r.value,
                  "adaptive, W = λ" if method == "adaptive" else method, (i, i),
                  "-" if method == "ours" else "--", i - 1.5)

    files = _two_streams(out, "dratio-fig7", rows, draw, "mean buffer size (events)", ())

    def against(kind: str, other: str = "adaptive") -> list[float]:
        paper, rival = (_pick(rows, stream=kind, method=m) for m in ("paper", other))
        return [mean(r.held for r in paper if r.value == v)
                / mean(r.held for r in rival if r.value == v)
                for v in sorted({r.value for r in paper})]

    constant, changing = against("constant"), against("changing")
    smaller = against("changing", "adaptive, W = λ / 10")
    return Outcome(files, [
        _claim("constant streams: the paper's method ÷ the adaptive one, W = λ", "similar",
               all(0.85 < c < 1.2 for c in constant), ", ".join(f"{c:.2f}" for c in constant)),
        _claim("changing streams: the paper's method ÷ the adaptive one, W = λ", "up to 1.15",
               max(changing) >= 1.0 and max(changing) < 1.3,
               ", ".join(f"{c:.2f}" for c in changing),
               "the text has W ≥ λ but not the W of this figure: with W = λ / 10 the ratios are "
               + ", ".join(f"{c:.2f}" for c in smaller)),
    ])


def _claim(what: str, printed: str, holds: bool, ours: str, why: str = UNEXPLAINED) -> Fact:
    return claim(what, printed, ours, holds, why)


EXPERIMENTS = {"dratio-fig5": fig5, "dratio-fig6": fig6, "dratio-fig7": fig7}
"""By the names of the catalogue."""
