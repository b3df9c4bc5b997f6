"""Whether `DropRatio` keeps its promise: the worst of some streams with seeds of their own.

For each kind of stream and ratio one row has the greatest share of late events as a part of the
ratio (at most 1: kept), over the whole stream and in its stationary part, and for constant streams
how the mean buffer compares with that of the paper's estimator by its formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slackwater.evaluate.pictures import figure, save, style_of
from slackwater.papers.drop_ratio.streams import RATIOS, Measured, cases, measure, paper_method
from slackwater.papers.outcome import Fact, Outcome, write_rows
from slackwater.reorder import DropRatio

__all__ = ["EXPERIMENTS", "Kept", "promise"]

_SEED = 2000


@dataclass(frozen=True)
class Kept:
    """The worst over the seeds, for one kind of stream and one ratio."""

    stream: str
    sigma_or_period_s: float
    ratio: float
    seeds: int
    worst_share_whole: float
    worst_share_stationary: float
    mean_held: float
    worst_held_to_formula: float | None


def promise(rows: int, seeds: int, *, quick: bool = False) -> list[Kept]:
    """Run all kinds of streams, `seeds` of each."""
    found = []
    for case in cases(quick):
        ours: dict[float, list[Measured]] = {r: [] for r in RATIOS}
        formula: dict[float, list[float]] = {r: [] for r in RATIOS}
        for seed in range(_SEED, _SEED + seeds):
            batch = case.stream(seed, rows)
            for ratio in RATIOS:
                m = measure(DropRatio(ratio), batch)
                ours[ratio].append(m)
                if case.kind == "constant":
                    formula[ratio].append(m.held / measure(paper_method(ratio), batch).held)
        for ratio in RATIOS:
            runs = ours[ratio]
            found.append(Kept(
                case.kind, case.value, ratio, seeds,
                max(m.whole_pct for m in runs) / (100 * ratio),
                max(m.stationary_pct for m in runs) / (100 * ratio),
                sum(m.held for m in runs) / seeds, max(formula[ratio], default=None)))
    return found


def _promise(out: Path, quick: bool) -> Outcome:
    found = promise(*((100_000, 1) if quick else (400_000, 2)), quick=quick)
    path = write_rows(out / "dratio-promise.csv", [vars(k) for k in found])
    with figure(height=2.8) as picture:
        left, right = picture.subplots(1, 2, sharey=True)
        for axes, kind, title, x in ((left, "constant", "a) constant streams",
                                      "σ of the delays (s)"),
                                     (right, "changing", "b) changing streams",
                                      "μ and σ change every … s")):
            for i, ratio in enumerate(RATIOS):
                own = [k for k in found if k.stream == kind and k.ratio == ratio]
                x_values = [k.sigma_or_period_s for k in own]
                axes.plot(x_values, [k.worst_share_whole for k in own],
                          label=f"D = {100 * ratio:g} %, whole stream", **style_of(i))
                axes.plot(x_values, [k.worst_share_stationary for k in own], linestyle=":",
                          label=f"D = {100 * ratio:g} %, stationary part", **style_of(i))
            axes.axhline(1.0, color="black", linewidth=0.6, linestyle=":")
            axes.set(title=title, xlabel=x,
                     xticks=sorted({k.sigma_or_period_s for k in found if k.stream == kind}))
        left.set_ylim(bottom=0)
        left.set_ylabel(f"worst share late ÷ D, of {found[0].seeds}")
        picture.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        files = save(picture, out / "dratio-promise")
    whole = max(k.worst_share_whole for k in found)
    part = max(found, key=lambda k: k.worst_share_stationary)
    smaller = max(k.worst_held_to_formula or 0.0 for k in found)
    return Outcome([path, *files], [
        Fact("greatest share late ÷ D over a whole stream (kept: at most 1)", None,
             f"{whole:.2f}"),
        Fact("the same in a stationary part alone, which is not what is promised", None,
             f"{part.worst_share_stationary:.2f} ({part.stream}, D = {100 * part.ratio:g} %)"),
        Fact("greatest buffer ÷ that of the paper's formula, constant streams", None,
             f"{smaller:.2f}")])


EXPERIMENTS = {"dratio-promise": _promise}
"""By the names of the catalogue."""
