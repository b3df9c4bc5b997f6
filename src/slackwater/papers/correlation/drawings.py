"""Figures 1, 2 and 9 of paper 2, drawn from the bounds and probabilities that the kernel uses."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from slackwater.correlate.bounds import bounds
from slackwater.correlate.predicate import Predicate
from slackwater.correlate.probability import uniform_satisfaction
from slackwater.evaluate import pictures
from slackwater.papers.drawing import finish
from slackwater.papers.outcome import Outcome, claim

__all__ = ["EXPERIMENTS", "edges"]

_RHO, _PI, _D = 20, 200, 500
_BASE = (1000, 1100)


def edges(ct: float, d: int = _D) -> tuple[int, int, int, int]:
    """L_H, L_L, R_L, R_H of the base tuple."""
    found = bounds(np.array([_BASE[0]]), np.array([_BASE[1]]), Predicate.of(within=d), ct,
                   shortest=_RHO, longest=_PI)
    return int(found.L_H[0]), int(found.L_L[0]), int(found.R_L[0]), int(found.R_H[0])


def _chances(length: int, ends: np.ndarray) -> list[float]:
    return [uniform_satisfaction(*_BASE, int(x) - length, int(x), -_D, _D) for x in ends]


def _regions(axes: Axes, ct: float) -> tuple[int, int, int, int]:
    ends = np.arange(300, 1900, 5)
    low, high = _chances(_RHO, ends), _chances(_PI, ends)
    axes.plot(ends, np.maximum(low, high), color=pictures.COLOURS[0], label="upper bound")
    axes.plot(ends, np.minimum(low, high), color=pictures.COLOURS[0], linestyle=":",
              label="lower bound")
    axes.axhline(ct, color="#555555", linewidth=0.7)
    left_high, left_low, right_low, right_high = edges(ct)
    axes.axvspan(left_low, right_low, color="#d9ead3", zorder=0, label="satisfied unseen")
    for a, b in ((left_high, left_low), (right_low, right_high)):
        axes.axvspan(a, b, color="#fdf3dd", zorder=0, label="probed" if a == left_high else None)
    for x, name in ((left_high, "$L_H$"), (left_low, "$L_L$"), (right_low, "$R_L$"),
                    (right_high, "$R_H$")):
        axes.text(x, 1.09 if "H" in name else 1.02, name, ha="center", fontsize=7)
    axes.set(xlabel="x = max of the target's interval (ms)", ylim=(0, 1.18))
    axes.set_title(f"ct = {ct:g}", loc="left", pad=8)
    return left_high, left_low, right_low, right_high


def _pair(out: Path, name: str, thresholds: tuple[float, float], facts: bool) -> Outcome:
    with pictures.figure(pictures.WIDE, 3.0) as picture:
        axes = picture.subplots(1, 2, sharey=True)
        found = [_regions(axis, ct) for axis, ct in zip(axes, thresholds, strict=True)]
        axes[0].set_ylabel("satisfaction probability")
        picture.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    rows = [[ct, *f, f[1] - f[0], f[3] - f[2]] for ct, f in zip(thresholds, found, strict=True)]
    said = []
    if facts:
        left = [r[5] for r in rows]
        right = [r[6] for r in rows]
        grows = left[0] > left[1] and right[0] < right[1]
        swept = [edges(ct, 1000) for ct in (1e-6, *np.linspace(0.01, 0.99, 99), 1.0)]
        widest = max(e[1] - e[0] for e in swept)
        right_most = max(e[3] - e[2] for e in swept)
        narrow = swept[-1][3] - swept[-1][2]
        said = [
            claim(f"left region with ct = {thresholds[0]:g}, {thresholds[1]:g} (ms); right region",
                 "left larger with a higher ct, right with a lower",
                 f"{left[0]}, {left[1]}; {right[0]}, {right[1]}", grows),
            claim("greatest width of the left region, d = 1000 (ms)", float(1000 - _RHO),
                  float(widest), widest == 1000 - _RHO,
                  f"the text has d − ρ; derived exactly it is π − ρ = {_PI - _RHO}: the left edges "
                  "differ only by where the target's interval begins, and that it ends at max(I2) "
                  "leaves π − ρ for it"),
            claim("width of the right region at ct = 1; greatest of all, d = 1000 (ms)",
                  f"none; π − ρ = {_PI - _RHO}", f"{narrow}; {right_most}",
                  narrow == 0 and abs(right_most - (_PI - _RHO)) <= 1),
        ]
    else:
        sound = all(f[0] <= f[1] <= f[2] <= f[3] for f in found)
        said = [claim("L_H ≤ L_L ≤ R_L ≤ R_H", "yes", "yes" if sound else "no", sound)]
    return finish(picture, out, name, ["ct", "L_H", "L_L", "R_L", "R_H", "left_width",
                                       "right_width"], rows, said,
                  f"Base tuple [{_BASE[0]}, {_BASE[1]}], d = {_D}, lengths {_RHO} … {_PI} ms, from "
                  "the functions that the kernel uses.")


def figure1(out: Path, quick: bool) -> Outcome:
    """The bounds and the regions that they cut out."""
    return _pair(out, "corr-fig1", (0.8, 0.5), facts=False)


def figure9(out: Path, quick: bool) -> Outcome:
    """High and low confidence thresholds."""
    return _pair(out, "corr-fig9", (0.95, 0.1), facts=True)


def figure2(out: Path, quick: bool) -> Outcome:
    """Example 1: what one result says about other intervals."""
    target = (0, 150)  # I2
    bases = {"I11": (450, 600), "I12": (500, 640), "I13": (430, 690), "I14": (560, 700)}
    ct = 0.5
    chance = {n: uniform_satisfaction(*target, *i, -10**9, _D) for n, i in bases.items()}
    order = ["I11", "I12", "I14"]
    monotone = all(chance[a] >= chance[b] for a, b in pairwise(order))
    with pictures.figure(pictures.WIDE, 2.2) as picture:
        axes = picture.subplots()
        for y, (name, (first, last)) in enumerate([("I2", target), *bases.items()]):
            kept = name == "I2" or chance[name] >= ct
            axes.plot([first, last], [-y, -y], linewidth=5, solid_capstyle="butt",
                      color=pictures.COLOURS[0] if name == "I2" else
                      (pictures.COLOURS[2] if kept else pictures.COLOURS[1]))
            said = "" if name == "I2" else f"  {chance[name]:.2f}: " + (
                "satisfied" if kept else "violated")
            axes.text(last + 8, -y, name + said, va="center", fontsize=7)
        axes.set(xlabel="time (ms)", xlim=(-20, 900), yticks=[])
        axes.set_title(f"probability of I2 + {_D} ≥ I, ct = {ct}", loc="left")
    return finish(picture, out, "corr-fig2", ["interval", "min", "max", "probability"],
                  [[n, *i, chance[n]] for n, i in bases.items()], [
        claim("I11, I12, I14 in the order of both ends: probabilities",
             "a violation holds for all later ones, a satisfaction for all earlier ones",
             ", ".join(f"{chance[n]:.2f}" for n in order), monotone)],
        "I13 starts before I11 and ends after I12: neither says anything about it. The figure's "
        "own numbers are lost.")


EXPERIMENTS = {"corr-fig1": figure1, "corr-fig2": figure2, "corr-fig9": figure9}
"""By the names of the catalogue."""
