"""Figure 9 of paper 5: ordered input, ready for disorder against relying on order (SASE)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from slackwater.evaluate import pictures
from slackwater.papers.outcome import Fact, Outcome, claim, write_rows
from slackwater.papers.sequences.ais import push_ordered
from slackwater.papers.sequences.streams import measured, stream

__all__ = ["EXPERIMENTS"]

_SLACK = 100


def figure9(out: Path, quick: bool) -> Outcome:
    """The overhead of AIS-CLOCK, K-slack purge and divider where nothing is out of order."""
    sizes = [2_000, 4_000] if quick else [20_000, 40_000, 60_000, 80_000, 100_000]
    rounds = 2 if quick else 60
    ways: dict[str, dict[str, Any]] = {
        "ordered": {"run": push_ordered}, "ready": {}, "kept": {"purge": False}}
    for way in ways.values():
        measured(*stream(100, 0.0, _SLACK), _SLACK, **way)  # compile
    rows = []
    for size in sizes:
        kinds, times = stream(size, 0.0, _SLACK)
        # in turn, so that what else the machine does meets all of them alike
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                runs[name].append(measured(kinds, times, _SLACK, **way))
        ms = {name: min(r["ms"] for r in some) for name, some in runs.items()}
        assert len({some[0]["matches"] for some in runs.values()}) == 1
        rows.append({"events": size, "ordered_ms": ms["ordered"], "ready_ms": ms["ready"],
                     "overhead_pct": 100 * (ms["ready"] / ms["ordered"] - 1),
                     "without_purge_ms": ms["kept"], "held": runs["ready"][0]["held"],
                     "held_without_purge": runs["kept"][0]["held"],
                     "matches": runs["ready"][0]["matches"]})
    files = [write_rows(out / "seq-fig9.csv", rows)]
    with pictures.figure(pictures.WIDE * 0.75, 2.9) as picture:
        axes = picture.subplots()
        x = np.array([r["events"] / 1000 for r in rows])
        width = (x[1] - x[0]) * 0.35
        for i, (name, label) in enumerate((("ordered_ms", "relies on order (SASE)"),
                                           ("ready_ms", f"ready for {_SLACK} s of disorder"))):
            axes.bar(x + (i - 0.5) * width, [r[name] for r in rows], width, label=label,
                     color=pictures.COLOURS[i])
        for r, position in zip(rows, x, strict=True):
            axes.annotate(f"{r['overhead_pct']:+.0f} %", (position, max(r["ready_ms"],
                                                                        r["ordered_ms"])),
                          textcoords="offset points", xytext=(0, 3), ha="center", fontsize=7)
        axes.set_xticks(x)
        axes.set(xlabel="events, all in order (thousands)", ylabel="processor time (ms)")
        axes.grid(axis="x", visible=False)
        axes.margins(y=0.15)
        picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    files += pictures.save(picture, out / "seq-fig9")
    over = [r["overhead_pct"] for r in rows]
    held = [r["held"] for r in rows]
    shown = ", ".join(f"{o:.1f}" for o in over)
    return Outcome(files, [
        claim("overhead from the smallest to the largest set (%)", "5.1 to 24.6", shown,
              min(over) > 0 and max(over) < 30),
        claim("overhead against the size of the set", "“increases while increasing the dataset "
              "size”", f"{over[0]:.1f} to {over[-1]:.1f} %", over[-1] > 2 * over[0],
              f"what an event costs depends on the instances held, and the purge keeps those at "
              f"{min(held):.0f} to {max(held):.0f} whatever the size of the set"),
        Fact("time without the purge of Algorithm 3 ÷ with it; instances held, largest set", None,
             f"{rows[-1]['without_purge_ms'] / rows[-1]['ready_ms']:.2f}; "
             f"{rows[-1]['held_without_purge']:,.0f} ÷ {held[-1]:.0f}")])


EXPERIMENTS = {"seq-fig9": figure9}
"""By the names of the catalogue."""
