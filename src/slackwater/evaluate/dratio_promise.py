"""Whether `DropRatio` keeps its promise: the worst of many streams of paper 4's model.

The streams are those of `dratio_paper`, with seeds of their own.  For each kind of stream and ratio
one row tells the greatest share of late events as a part of the ratio (at most 1: kept), over the
whole stream and once settled, and for constant streams how the mean buffer compares to that of the
paper's own estimator: by its formula, and with the method that it takes for ratios up to 0.1 %.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slackwater.evaluate.dratio_paper import RATIOS, Measured, cases, measure, paper_method, stream
from slackwater.evaluate.pictures import figure, save, style_of
from slackwater.reorder import DropRatio

__all__ = ["EXPERIMENTS", "Kept", "promise"]

_SEED = 2000


@dataclass(frozen=True)
class Kept:
    """The worst over the seeds, for one kind of stream and one ratio."""

    stream: str
    sigma_or_period_s: str
    ratio: float
    seeds: int
    worst_share: float
    worst_share_settled: float
    mean_held: float
    worst_held_to_formula: float | None
    worst_held_to_paper: float | None


def promise(rows: int, seeds: int, *, quick: bool = False) -> list[Kept]:
    """Run all kinds of streams, `seeds` each."""
    found = []
    for kind, label, made_from in cases(quick):
        ours: dict[float, list[Measured]] = {r: [] for r in RATIOS}
        formula: dict[float, list[float]] = {r: [] for r in RATIOS}
        paper: dict[float, list[float]] = {r: [] for r in RATIOS}
        for seed in range(_SEED, _SEED + seeds):
            batch = stream(seed, rows, **made_from)
            for ratio in RATIOS:
                m = measure(DropRatio(ratio), batch)
                ours[ratio].append(m)
                if kind == "constant":
                    formula[ratio].append(m.held / measure(paper_method(ratio), batch).held)
                    paper[ratio].append(
                        m.held / measure(DropRatio(ratio, literal=True), batch).held)
        for ratio in RATIOS:
            runs = ours[ratio]
            found.append(Kept(
                kind, label, ratio, seeds, max(m.late_pct for m in runs) / (100 * ratio),
                max(m.settled_pct for m in runs) / (100 * ratio),
                sum(m.held for m in runs) / seeds, max(formula[ratio], default=None),
                max(paper[ratio], default=None)))
    return found


def _promise(out: Path, quick: bool) -> list[Path]:
    found = promise(*((100_000, 1) if quick else (1_000_000, 10)), quick=quick)
    path = out / "dratio-promise.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Kept.__dataclass_fields__)
        for kept in found:
            writer.writerow([f"{v:.4g}" if isinstance(v, float) else v
                             for v in vars(kept).values()])
    with figure(height=2.8) as picture:
        left, right = picture.subplots(1, 2, sharey=True)
        for axes, kind, title, x in ((left, "constant", "a) constant streams, whole",
                                      "σ of the delays (s)"),
                                     (right, "changing", "b) changing streams, settled",
                                      "μ and σ change every … s")):
            for i, ratio in enumerate(RATIOS):
                own = [k for k in found if k.stream == kind and k.ratio == ratio]
                axes.plot([float(k.sigma_or_period_s) for k in own],
                          [k.worst_share if kind == "constant" else k.worst_share_settled
                           for k in own], label=f"D = {100 * ratio:g} %", **style_of(i))
            axes.axhline(1.0, color="black", linewidth=0.6, linestyle=":")
            axes.set(title=title, xlabel=x, ylim=(0, None),
                     xticks=sorted({float(k.sigma_or_period_s) for k in found if k.stream == kind}))
        left.set_ylabel(f"worst share late ÷ D, of {found[0].seeds}")
        picture.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        files = save(picture, out / "dratio-promise")
    return [path, *files]


EXPERIMENTS: dict[str, Callable[[Path, bool], list[Path]]] = {"dratio-promise": _promise}
"""Name to the function that runs it into a folder, small if so asked, and tells its files."""
