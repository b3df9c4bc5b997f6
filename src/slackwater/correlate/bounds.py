"""Where a target's latest time decides a pair without computing its probability.

For a base interval [m, M] and a target known only by x = max and a length between ρ and π:
x in [L_L, R_L] always satisfies the condition, x outside [L_H, R_H] never does, and the rest must
be probed (the paper's Fig. 1).

Write S = len(base)·U + len(target)·(1 − V), U and V the shapes on [0, 1].  Then target − base =
x − m − S, so "target − base ≥ lo with confidence ct" holds from x = m + lo + Q(ct) on, and
"target − base ≤ hi" up to x = m + hi + Q(1 − ct), Q the quantile of S.  S grows with the target's
length, whatever the shapes, so ρ gives L_H and R_L, and π gives L_L and R_H.  For two uniforms S is
a trapezoid and Q is exact.  For other shapes Q is found by bisection, erring to the side of
probing, for up to `_GRID` lengths of base intervals; a base in between takes its neighbours' (Q
grows with the base's length too).

Both ends of a narrow predicate can fail at once when hi − lo < len(base) + π.  Then L_L and R_L
leave half of the doubt 1 − ct to each end: sound, but wider than need be.  An open end has no
bound but the horizon.

`TOLERANCE`: a pair is taken if its probability is at least ct − 1e-12, so that rounding decides
nothing (at ct = 1 above all); the bounds allow for that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.correlate.distribution import UNIFORM, UNIFORMLY, Distribution, Shape
from slackwater.correlate.predicate import OPEN, Predicate
from slackwater.correlate.probability import cdf_of_difference

__all__ = ["TOLERANCE", "Bounds", "Task", "base_bounds", "bounds", "reach"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
TOLERANCE = 1e-12
_GRID = 32
_HALVINGS = 24
_FAR = np.int64(OPEN)
_ROUNDING = 1e-14  # of a length: moves a probability far less than the tolerance


class Bounds(NamedTuple):
    """For each base tuple, on the scale of the target's latest time."""

    L_H: Int64
    L_L: Int64
    R_L: Int64
    R_H: Int64


class Task(NamedTuple):
    """What is looked for, as compiled loops read it; target − base in [lo, hi].

    `left` is whether the base is the left side: the predicate and the shapes are those of
    right − left, turned round by whoever makes the task.
    """

    lo: int
    hi: int
    confidence: float
    horizon: int
    left: bool
    base: Shape
    target: Shape


def task(predicate: Predicate, confidence: float, horizon: int | None, left: bool,
         shapes: tuple[Shape, Shape]) -> Task:
    """The task of a base on the left, or on the right."""
    lo, hi = (predicate.lo, predicate.hi) if left else (-predicate.hi, -predicate.lo)
    base, target = shapes if left else shapes[::-1]
    return Task(lo, hi, confidence, OPEN if horizon is None else horizon, left, base, target)


@njit(cache=True)
def trapezoid_quantile(p: float, a: float, b: float) -> float:
    """The p-quantile of the sum of two independent uniforms on [0, a] and [0, b]."""
    short, long = min(a, b), max(a, b)
    if long == 0.0:
        return 0.0
    p = min(max(p, 0.0), 1.0)
    corner = 0.5 * short / long
    if p < corner:
        return math.sqrt(2.0 * p * short * long)
    if p > 1.0 - corner:
        return short + long - math.sqrt(2.0 * (1.0 - p) * short * long)
    return p * long + 0.5 * short


@njit(cache=True)
def _quantile(p: float, length: float, other: float, base: Shape, target: Shape, upper: bool,
              outer: bool) -> float:
    """One side of inf{q: P(S ≤ q) ≥ p}, or if `upper` of sup{q: P(S ≥ q) ≥ p}.

    S ≤ q is length·U ≤ (q − other) + other·V.  `outer` chooses the side towards ±∞, the greater
    for `upper`, on which the condition is not met; else the side on which it is met.  Positions get
    a margin far below a microsecond, since a point's place may be rounded otherwise elsewhere.
    """
    lo, hi = 0.0, length + other
    margin = 1e-6 + 1e-12 * hi
    for _ in range(_HALVINGS):
        q = 0.5 * (lo + hi)
        below = cdf_of_difference(q - other, other, length, target, base, upper)
        met = (1.0 - below >= p) if upper else (below >= p)
        if met == upper:
            lo = q
        else:
            hi = q
        if hi - lo < 1e-7 * (length + other):
            break
    if upper:
        return hi + margin if outer else lo - margin
    return lo - margin if outer else hi + margin


@njit(cache=True, nogil=True)
def _uniform(first: Int64, last: Int64, rho: float, pi: float, near: float, far: float, lo: int,
             hi: int, horizon: int, out: Int64) -> None:
    """Exact bounds for two uniforms."""
    for i in range(len(first)):
        m, n = first[i], float(last[i] - first[i])
        if lo == -_FAR:
            out[0, i] = out[1, i] = last[i] - horizon
        else:
            out[0, i] = m + lo + np.int64(math.ceil(trapezoid_quantile(far, n, rho)))
            out[1, i] = m + lo + np.int64(math.ceil(
                trapezoid_quantile(near, n, pi) - _ROUNDING * (n + pi)))
        if hi == _FAR:
            out[2, i] = out[3, i] = last[i] + horizon
        else:
            out[2, i] = m + hi + np.int64(math.floor(
                trapezoid_quantile(1.0 - near, n, rho) + _ROUNDING * (n + rho)))
            out[3, i] = m + hi + np.int64(math.floor(trapezoid_quantile(1.0 - far, n, pi)))


@njit(cache=True, nogil=True)
def _moved(first: Int64, lengths: Int64, least: int, of_length: Int64, out: Int64) -> None:
    """The bounds of intervals by those of one that begins at 0 and is as long."""
    for i in range(len(first)):
        for k in range(4):
            out[k, i] = first[i] + of_length[k, lengths[i] - least]


@njit(cache=True, nogil=True)
def _quantiles(lengths: Int64, rho: float, pi: float, near: float, far: float, both: Task,
               out: Float64) -> None:
    for i in range(len(lengths)):
        n, b, t = float(lengths[i]), both.base, both.target
        out[0, i] = _quantile(far, n, rho, b, t, False, True)
        out[1, i] = _quantile(near, n, pi, b, t, False, False)
        out[2, i] = _quantile(near, n, rho, b, t, True, False)
        out[3, i] = _quantile(far, n, pi, b, t, True, True)


@njit(cache=True, nogil=True)
def _place(first: Int64, last: Int64, q: Float64, below: Int64, above: Int64, task: Task,
           out: Int64) -> None:
    for i in range(len(first)):
        m, low, high = first[i], below[i], above[i]
        if task.lo == -_FAR:
            out[0, i] = out[1, i] = last[i] - task.horizon
        else:
            out[0, i] = m + task.lo + np.int64(math.ceil(q[0, low]))
            out[1, i] = m + task.lo + np.int64(math.ceil(q[1, high]))
        if task.hi == _FAR:
            out[2, i] = out[3, i] = last[i] + task.horizon
        else:
            out[2, i] = m + task.hi + np.int64(math.floor(q[2, low]))
            out[3, i] = m + task.hi + np.int64(math.floor(q[3, high]))


def base_bounds(first: Int64, last: Int64, rho: int, pi: int, task: Task) -> Bounds:
    """The bounds of base intervals [first, last] against targets of lengths in [rho, pi]."""
    lengths = last - first
    widest = int(lengths.max(initial=0)) + pi
    near = task.confidence
    if task.lo != -OPEN and task.hi != OPEN and task.hi - task.lo < widest:
        near = (1 + near) / 2
    far = task.confidence - 2 * TOLERANCE
    out = np.empty((4, len(first)), np.int64)
    if task.base.kind == UNIFORM and task.target.kind == UNIFORM:
        least, most = (int(lengths.min()), int(lengths.max())) if len(lengths) else (0, 0)
        if most - least < len(lengths) // 4:  # reckoned once for all that are as long
            each = np.arange(least, most + 1)
            of_length = np.empty((4, len(each)), np.int64)
            _uniform(np.zeros_like(each), each, float(rho), float(pi), near, far, task.lo, task.hi,
                     task.horizon, of_length)
            _moved(first, lengths, least, of_length, out)
        else:
            _uniform(first, last, float(rho), float(pi), near, far, task.lo, task.hi, task.horizon,
                     out)
        return Bounds(*out)
    grid = np.unique(lengths)
    if len(grid) > _GRID:
        grid = np.unique(grid[np.linspace(0, len(grid) - 1, _GRID).astype(np.int64)])
    below = np.searchsorted(grid, lengths, "right") - 1
    above = np.searchsorted(grid, lengths, "left")
    quantiles = np.empty((4, len(grid)))
    _quantiles(grid, float(rho), float(pi), near, far, task, quantiles)
    _place(first, last, quantiles, below, above, task, out)
    return Bounds(*out)


def bounds(first: Int64, last: Int64, predicate: Predicate, confidence: float, *, shortest: int,
           longest: int, base: Distribution = UNIFORMLY, target: Distribution = UNIFORMLY,
           side: str = "left") -> Bounds:
    """L_H, L_L, R_L and R_H of base tuples, for targets of the other side.

    Examples
    --------
    >>> b = bounds(np.array([0]), np.array([100]), Predicate.of(within=500), 0.8, shortest=20,
    ...            longest=200)
    >>> [int(x[0]) for x in b]
    [-410, -289, 530, 589]
    """
    left = side == "left"
    shapes = (base.shape(), target.shape()) if left else (target.shape(), base.shape())
    return base_bounds(np.asarray(first, np.int64), np.asarray(last, np.int64), shortest, longest,
                       task(predicate, confidence, None, left, shapes))


def reach(shortest: int, longest: int, task: Task) -> int:
    """How far behind the latest time of the oldest base to come a target may end and still match.

    That base ends at C or later and is no longer than `longest`; a target that ends before
    C + reach is obsolete.  L_H falls with the base's length, so the longest base decides.
    """
    none = np.zeros(1, np.int64)
    return int(base_bounds(none - longest, none, shortest, longest, task).L_H[0])
