"""Eager and lazy: the bounds decide most targets, the rest are probed (Algorithms 2 to 5).

The two differ in when they run: eager at every tuple, lazy for a block of them, which then finds
its regions by going on from where its neighbour's were.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.correlate.bounds import TOLERANCE, Task
from slackwater.correlate.distribution import UNIFORM
from slackwater.correlate.pairs import Pairs, more_room, probe_range, probe_uniform, take_range
from slackwater.correlate.regions import Regions, Targets

__all__ = ["by_regions"]

Int64 = NDArray[np.int64]


@njit(cache=True, _nrt=False)
def _uniform_regions(
    first: Int64, last: Int64, target_first: Int64, target_last: Int64, found: Regions, lo: int,
    hi: int, least: float, left: bool, all_p: bool, base: NDArray[np.int32],
    target: NDArray[np.int32], probability: NDArray[np.float64], count: int,
) -> int:
    """`by_regions` of two uniforms: nothing but numbers and plain columns in the loops."""
    keep = len(probability) > 0
    for i in range(len(first)):
        m, x = first[i], last[i]
        begin, end = found.b[i], found.c[i]
        if all_p:
            begin = end = found.d[i]
        for side in range(2):
            for t in range(found.a[i] if side == 0 else end, begin if side == 0 else found.d[i]):
                p = probe_uniform(m, x, target_first[t], target_last[t], lo, hi, least, left)
                if p >= 0.0:
                    base[count], target[count] = i, t
                    if keep:
                        probability[count] = p
                    count += 1
            if side == 0:
                to = count + end - begin
                base[count:to] = i
                for t in range(end - begin):
                    target[count + t] = begin + t
                if keep:
                    probability[count:to] = np.nan
                count = to
    return count


@njit(cache=True, nogil=True)
def by_regions(first: Int64, last: Int64, targets: Targets, found: Regions, task: Task, all_p: bool,
               pairs: Pairs, count: int, counters: Int64) -> tuple[Pairs, int]:
    """Take what is certain, probe what is not; `all_p`: compute the probability of all.

    Where both are uniform, pairs without room for probabilities get none.
    """
    all_, unseen = (found.d - found.a).sum(), (found.c - found.b).sum()
    counters[0] += all_ - unseen
    counters[2] += unseen
    pairs = more_room(pairs, count, all_)
    if task.base.kind == UNIFORM and task.target.kind == UNIFORM:
        count = _uniform_regions(first, last, targets.first, targets.last, found, task.lo, task.hi,
                                 task.confidence - TOLERANCE, task.left, all_p, pairs.base,
                                 pairs.target, pairs.probability, count)
        return pairs, count
    for i in range(len(first)):
        a, b, c, d = found.a[i], found.b[i], found.c[i], found.d[i]
        for side in range(3):
            begin, end = (a, b) if side == 0 else ((b, c) if side == 1 else (c, d))
            if side == 1 and not all_p:
                count = take_range(i, begin, end, pairs, count)
            elif begin < end:
                count = probe_range(i, first[i], last[i], targets, begin, end, task, pairs, count)
    return pairs, count
