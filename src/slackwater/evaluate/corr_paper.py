"""The experiments of paper 2 (lazy interval timing correlation), its Figures 3 to 8.

Streams as in the paper: two of them, r tuples a second each, interval lengths in [20, 200] ms,
d = 500 ms (1000 in Fig. 8).  The paper does not tell its delays; here they are uniform on 0…500 ms.
Execution time is the processor time of the run.  Response time is waiting, by the data's clock,
plus that time; a machine of today keeps up with all of the paper's rates, so the response times of
the simple algorithms do not blow up at r1600 as they did in 2010.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from slackwater.correlate.match import ALGORITHMS
from slackwater.correlate.replay import Arrivals, Measured, replay

__all__ = ["EXPERIMENTS", "arrivals"]

_MS = 1000
_SHORTEST, _LONGEST, _DELAY = 20 * _MS, 200 * _MS, 500 * _MS
_RATES = (12, 24, 50, 100, 200, 400, 800, 1600)
_BLOCKS = tuple(range(200, 2001, 200))
_LOOK = {"simple": ("#7f7f7f", "o"), "simple-sort": ("#bcbd22", "s"), "eager": ("#1f77b4", "^"),
         "lazy": ("#ff7f0e", "D"), "lazy-lookup": ("#d62728", "v")}


def arrivals(rate: float, seconds: float, *, ordered: bool = False, seed: int = 2) -> Arrivals:
    """Two Poisson streams of `rate` tuples a second; `ordered`: they arrive by latest time."""
    rng = np.random.default_rng(seed)
    sides = []
    for side in range(2):
        n = max(int(rate * seconds), 1)
        last = np.cumsum(rng.exponential(1e6 / rate, n)).astype(np.int64)
        first = last - rng.integers(_SHORTEST, _LONGEST + 1, n)
        delay = np.zeros(n, np.int64) if ordered else rng.integers(0, _DELAY + 1, n)
        sides.append((np.full(n, side), first, last, last + delay))
    columns = [np.concatenate(parts) for parts in zip(*sides, strict=True)]
    order = np.argsort(columns[3], kind="stable")
    return Arrivals(*(column[order] for column in columns))


def _measure(stream: Arrivals, algorithm: str, *, d: int = 500, ct: float = 0.8, block: int = 1000,
             repeat: int = 3) -> Measured:
    """The fastest of some runs: what others do on the machine only ever adds time."""
    replay(Arrivals(*(column[:200] for column in stream)), algorithm, within=d * _MS, confidence=ct,
           shortest=_SHORTEST, longest=_LONGEST, max_delay=_DELAY, block=50)  # compile
    runs = [replay(stream, algorithm, within=d * _MS, confidence=ct, shortest=_SHORTEST,
                   longest=_LONGEST, max_delay=_DELAY, block=block) for _ in range(repeat)]
    return min(runs, key=lambda run: run.seconds)


@cache
def _rates(quick: bool) -> list[tuple[str, int, Measured]]:
    rates, seconds = (_RATES[:5], 10) if quick else (_RATES, 30)
    return [(algorithm, rate, _measure(arrivals(rate, seconds), algorithm,
                                       repeat=1 if quick else 3))
            for algorithm in ALGORITHMS for rate in rates]


@cache
def _blocks(quick: bool) -> list[tuple[str, float, int, Measured]]:
    stream = arrivals(500, 10 if quick else 30)
    return [(algorithm, ct, block, _measure(stream, algorithm, ct=ct, block=block,
                                            repeat=1 if quick else 5))
            for algorithm in ("lazy", "lazy-lookup") for ct in (0.8, 0.5)
            for block in (_BLOCKS[:3] if quick else _BLOCKS)]


def _write(out: Path, name: str, head: list[str], rows: Iterable[list[object]]) -> Path:
    path = out / f"{name}.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def _axes(title: str, x: str, y: str) -> tuple[Figure, object]:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Figure, out: Path, name: str) -> Path:
    path = out / f"{name}.png"
    figure.savefig(path, dpi=160)
    return path


def _by_rate(name: str, title: str, unit: str,
             value: Callable[[Measured], float]) -> Callable[[Path, bool], list[Path]]:
    def run(out: Path, quick: bool) -> list[Path]:
        rows = _rates(quick)
        table = _write(out, name, ["algorithm", "tuples_per_second", unit, "pairs"],
                       [[a, r, value(m), m.pairs] for a, r, m in rows])
        figure, axes = _axes(title, "arrival rate of each stream (tuples/s)", unit)
        for k, (algorithm, (colour, marker)) in enumerate(_LOOK.items()):
            # lines may lie on each other: the lower ones are drawn wider
            points = [(r, value(m)) for a, r, m in rows if a == algorithm]
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker,  # type: ignore[attr-defined]
                      markersize=11 - 1.6 * k, linewidth=3.5 - 0.6 * k, label=algorithm)
        axes.set_xscale("log")  # type: ignore[attr-defined]
        axes.set_yscale("log")  # type: ignore[attr-defined]
        ticks = sorted({r for _, r, _ in rows})
        axes.set_xticks(ticks, [str(r) for r in ticks])  # type: ignore[attr-defined]
        axes.minorticks_off()  # type: ignore[attr-defined]
        axes.legend(frameon=False)  # type: ignore[attr-defined]
        return [table, _save(figure, out, name)]
    return run


def _by_block(name: str, title: str, unit: str, only: tuple[str, ...],
              value: Callable[[Measured], float]) -> Callable[[Path, bool], list[Path]]:
    def run(out: Path, quick: bool) -> list[Path]:
        rows = [row for row in _blocks(quick) if row[0] in only]
        table = _write(out, name, ["algorithm", "confidence", "block", unit],
                       [[a, ct, b, value(m)] for a, ct, b, m in rows])
        figure, axes = _axes(title, "tuples in a block", unit)
        for algorithm in only:
            for ct, line in ((0.8, "-"), (0.5, "--")):
                points = [(b, value(m)) for a, c, b, m in rows if (a, c) == (algorithm, ct)]
                colour, marker = _LOOK[algorithm]
                axes.plot(*zip(*points, strict=True), line, color=colour, marker=marker,  # type: ignore[attr-defined]
                          markersize=5, label=f"{algorithm}, ct = {ct}")
        axes.set_ylim(bottom=0)  # type: ignore[attr-defined]
        axes.legend(frameon=False)  # type: ignore[attr-defined]
        return [table, _save(figure, out, name)]
    return run


def _fig8(out: Path, quick: bool) -> list[Path]:
    """Execution times under various confidence thresholds, tuples ordered by latest time."""
    stream = arrivals(500, 10 if quick else 30, ordered=True)
    rows = [(algorithm, ct, _measure(stream, algorithm, d=1000, ct=ct, repeat=1 if quick else 5))
            for ct in (1.0, 0.7, 0.4, 0.1) for algorithm in ("eager", "lazy", "lazy-lookup")]
    table = _write(out, "corr-fig8", ["algorithm", "confidence", "execution time (s)", "probes",
                                      "lookup_hits", "pairs"],
                   [[a, ct, m.seconds, m.probes, m.lookup_hits, m.pairs] for a, ct, m in rows])
    figure, axes = _axes("Execution time by confidence (ordered tuples, d = 1 s)",
                         "confidence threshold", "execution time (s)")
    for k, algorithm in enumerate(("eager", "lazy", "lazy-lookup")):
        heights = [m.seconds for a, _, m in rows if a == algorithm]
        axes.bar(np.arange(4) + (k - 1) * 0.27, heights, 0.25, label=algorithm,  # type: ignore[attr-defined]
                 color=_LOOK[algorithm][0])
    axes.set_xticks(np.arange(4), ["1.0", "0.7", "0.4", "0.1"])  # type: ignore[attr-defined]
    axes.set_ylim(0, 1.25 * max(m.seconds for _, _, m in rows))  # type: ignore[attr-defined]
    axes.legend(frameon=False, ncols=3, loc="upper center")  # type: ignore[attr-defined]
    return [table, _save(figure, out, "corr-fig8")]


EXPERIMENTS: dict[str, Callable[[Path, bool], list[Path]]] = {
    "corr-fig3": _by_rate("corr-fig3", "Execution time by arrival rate", "execution time (s)",
                          lambda m: m.seconds),
    "corr-fig4": _by_rate("corr-fig4", "Mean response time by arrival rate", "response time (ms)",
                          lambda m: m.response_ms),
    "corr-fig5": _by_rate("corr-fig5", "Mean buffer length by arrival rate", "tuples held",
                          lambda m: m.buffer),
    "corr-fig6": _by_block("corr-fig6", "Execution time by block size (r500, d = 500 ms)",
                           "execution time (s)", ("lazy", "lazy-lookup"), lambda m: m.seconds),
    "corr-fig7": _by_block("corr-fig7", "Look-up hit ratio by block size (r500, d = 500 ms)",
                           "hit ratio", ("lazy-lookup",), lambda m: m.hit_ratio),
    "corr-fig8": _fig8,
}
"""Experiment name to a function of the output folder and whether to run small."""
