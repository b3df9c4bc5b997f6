"""Figures 4 and 5 of paper 1: 10 000 events, no delay, equal throughput, ever more streams.

With n streams an event waits for the n − 1 others, so the tree holds n events in arrival order,
which for streams in step is one long right spine: visited nodes grow linearly with n.  The balanced
tree visits log n.

A readiness table grows by one 64-bit word at each multiple of 64 streams, which the paper sees as a
jump in processor time.  Visited nodes cannot show it, and here time hardly does: a table is read
word by word only until the first word that is not ready, which for a waiting event is nearly always
an early one, and a bit is set in one word however many there are.  The sweep has points on both
sides of the multiples, so that a step would be seen.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from slackwater.evaluate import pictures
from slackwater.papers.outcome import Outcome, claim, write_table
from slackwater.papers.synchronisation.streams import METHODS, Streams, draw_methods, measure

__all__ = ["EXPERIMENTS"]

Row = tuple[str, int, float, int]


def _sweep(quick: bool) -> list[int]:
    if quick:
        return [1, 8, 63, 64, 65, 128]
    return [1, 2, 4, 8, 16, 32, 64, 65, 96, 128, 129, 192, 256, 257, 384, 512, 513, 768, 1024,
            1025, 1500]


@cache
def _measured(quick: bool) -> list[Row]:
    events = 1_000 if quick else 10_000
    rows = []
    for label, method in METHODS.items():
        measure(method, Streams(2, 10), 1)  # compile
        for n in _sweep(quick):
            seconds, visited = measure(method, Streams(n, events), 1 if quick else 2)
            rows.append((label, n, seconds, visited))
    return rows


def figure4(out: Path, quick: bool) -> Outcome:
    """Processing time against the number of data streams."""
    rows = _measured(quick)
    path = write_table(out / "sync-fig4.csv", ["method", "streams", "seconds", "visited"], rows)
    most = max(n for _, n, _, _ in rows)
    with pictures.figure(pictures.WIDE, 3.4) as picture:
        axes = picture.subplots()
        draw_methods(axes, [(m, n, 1e3 * s) for m, n, s, _ in rows])
        for m in range(64, most + 1, 64):
            axes.axvline(m, color="gray", lw=0.4, alpha=0.4, zorder=0)
        axes.set(xlabel="data streams (thin lines: multiples of 64)",
                 ylabel="processor time (ms)", yscale="log")
        picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    took = {(m, n): s for m, n, s, _ in rows}
    counts = [n for n in _sweep(quick) if n >= 8]
    ratio = sum(took["method 2", n] / took["method 1", n] for n in counts) / len(counts)
    steps = [took["method 1", m + 1] / took["method 1", m] for m in (64, 128, 256, 512, 1024)
             if (("method 1", m + 1) in took and ("method 1", m) in took)]
    jump = sum(steps) / len(steps)
    return Outcome([path, *pictures.save(picture, out / "sync-fig4")], [
        claim("time of method 2 ÷ method 1, mean over the counts", "“about the same amount”",
              f"{ratio:.2f}", 0.75 < ratio < 1.33),
        claim("time with a stream more than a multiple of 64 ÷ at the multiple",
              "“a high increase … at each multiple of 64”", f"{jump:.2f}", jump > 1.15,
              "a table is read only up to its first word that is not ready, so a word more costs "
              "its writing and nothing else"),
    ], note="Processor time in place of CPU clocks; the paper prints no values.")


def figure5(out: Path, quick: bool) -> Outcome:
    """Visited nodes against the number of data streams."""
    rows = [row for row in _measured(quick) if row[0] != "FrontierSync"]
    path = write_table(out / "sync-fig5.csv", ["method", "streams", "visited"],
                       [(m, n, v) for m, n, _, v in rows])
    with pictures.figure(pictures.WIDE, 3.4) as picture:
        axes = picture.subplots()
        draw_methods(axes, [(m, n, v) for m, n, _, v in rows])
        axes.set(xlabel="data streams", ylabel="visited nodes", xscale="log", yscale="log")
        picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    visited = {(m, n): v for m, n, _, v in rows}
    counts = _sweep(quick)
    fewer = all(visited["method 2", n] <= visited["method 1", n] for n in counts)
    gaps = [1 - visited["method 2", n] / visited["method 1", n] for n in counts]
    low, high = (64, 128) if quick else (128, 512)
    growth = visited["method 1", high] / visited["method 1", low] / (high / low)
    return Outcome([path, *pictures.save(picture, out / "sync-fig5")], [
        claim("method 2 visits fewer nodes", "“smaller for the second method”",
              f"by {100 * max(gaps):.0f} % at few streams, {100 * gaps[-1]:.1f} % at "
              f"{counts[-1]}", fewer),
        claim("the gain at many streams", "“negligible”", f"{100 * gaps[-1]:.1f} %",
              gaps[-1] < 0.2),
        claim(f"growth of visited nodes ÷ growth of streams, {low} to {high}", "linear: 1",
              f"{growth:.2f}", 0.8 < growth < 1.2),
    ])


EXPERIMENTS = {"sync-fig4": figure4, "sync-fig5": figure5}
"""By the names of the catalogue."""
