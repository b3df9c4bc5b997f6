"""Targets in order, and for each base tuple where its regions begin and end among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.correlate.bounds import Bounds

__all__ = ["Regions", "Targets", "regions", "regions_into"]

Int64 = NDArray[np.int64]


class Targets(NamedTuple):
    """Intervals sorted by key and latest time; key k's are at starts[k] … starts[k + 1]."""

    first: Int64
    last: Int64
    starts: Int64


class Regions(NamedTuple):
    """Positions among the targets: probe [a, b), take [b, c), probe [c, d)."""

    a: Int64
    b: Int64
    c: Int64
    d: Int64


@njit(cache=True)
def seek(last: Int64, x: int, first: int, end: int, hint: int) -> int:
    """The first position in [first, end) with last ≥ x, looked for from `hint` outwards."""
    hint = min(max(hint, first), end)
    step = 1
    if hint < end and last[hint] < x:
        low, high = hint + 1, hint + 2
        while high < end and last[high] < x:
            low, step = high + 1, 2 * step
            high = low + step
        high = min(high, end)
    else:
        high, low = hint, hint - 1
        while low >= first and last[low] >= x:
            high, step = low, 2 * step
            low = high - step
        low = max(low, first)
    while low < high:
        middle = (low + high) // 2
        if last[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def regions(key: Int64, b: Bounds, targets: Targets) -> Regions:
    """Find the regions of base tuples; quick where neighbours' regions are near each other."""
    n = len(key)
    out = Regions(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
                  np.empty(n, np.int64))
    regions_into(key, b, targets, out)
    return out


@njit(cache=True, nogil=True, _nrt=False)
def regions_into(key: Int64, b: Bounds, targets: Targets, out: Regions) -> None:
    """The same, written over `out`."""
    p0 = p1 = p2 = p3 = 0
    for i in range(len(key)):
        k = key[i]
        first, end = targets.starts[k], targets.starts[k + 1]
        p0 = seek(targets.last, b.L_H[i], first, end, p0)
        p3 = max(seek(targets.last, b.R_H[i] + 1, first, end, p3), p0)
        if b.L_L[i] <= b.R_L[i]:
            p1 = min(max(seek(targets.last, b.L_L[i], first, end, p1), p0), p3)
            p2 = min(max(seek(targets.last, b.R_L[i] + 1, first, end, p2), p1), p3)
            out.b[i], out.c[i] = p1, p2
        else:  # nothing is certain: all of it is probed, as one region
            out.b[i] = out.c[i] = p3
        out.a[i], out.d[i] = p0, p3
