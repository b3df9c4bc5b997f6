"""Figure 9 of paper 5: ordered input, ready for disorder against relying on order (SASE)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from slackwater.evaluate import pictures
from slackwater.papers.outcome import Fact, Outcome, write_rows
from slackwater.papers.sequences.ais import push_ordered
from slackwater.papers.sequences.streams import measured, stream

__all__ = ["EXPERIMENTS"]

_SLACK = 100


def figure9(out: Path, quick: bool) -> Outcome:
    """The overhead of AIS-CLOCK, K-slack purge and divider where nothing is out of order."""
    sizes = [2_000, 4_000] if quick else [20_000, 40_000, 60_000, 80_000, 100_000]
    repeats = 2 if quick else 15
    measured(*stream(100, 0.0, _SLACK), _SLACK)
    measured(*stream(100, 0.0, _SLACK), _SLACK, run=push_ordered)
    rows = []
    for size in sizes:
        kinds, times = stream(size, 0.0, _SLACK)
        relies = measured(kinds, times, _SLACK, run=push_ordered, repeats=repeats)
        ready = measured(kinds, times, _SLACK, repeats=repeats)
        assert relies["matches"] == ready["matches"]
        rows.append({"events": size, "ordered_ms": relies["ms"], "ready_ms": ready["ms"],
                     "overhead_pct": 100 * (ready["ms"] / relies["ms"] - 1),
                     "matches": ready["matches"]})
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
    within = min(over) > 0 and max(over) < 40
    return Outcome(files, [Fact(
        "overhead from the smallest to the largest set (%)", "5.1 to 24.6, rising",
        ", ".join(f"{o:.1f}" for o in over), within,
        "" if within else
        "in compiled code an event costs some ten nanoseconds, so the stacks' upkeep weighs more "
        "against it than against the sequences that Java built; it does not grow with the set, "
        "because the slack purge keeps the stacks at K + W")])


EXPERIMENTS = {"seq-fig9": figure9}
"""By the names of the catalogue."""
