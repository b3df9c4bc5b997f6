"""Pairs as they are found: positions of base and target, and the probability where it is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.correlate.bounds import TOLERANCE, Task
from slackwater.correlate.distribution import UNIFORM
from slackwater.correlate.probability import satisfaction, uniform_satisfaction
from slackwater.correlate.regions import Targets

__all__ = ["Pairs", "probe", "probe_range", "probe_uniform", "room",
           "take_range"]

Int32 = NDArray[np.int32]


class Pairs(NamedTuple):
    """Columns with room for more pairs than there are; whoever fills them keeps the count."""

    base: Int32
    target: Int32
    probability: NDArray[np.float64]


def room(n: int, probabilities: bool = True) -> Pairs:
    """Room for n pairs."""
    return Pairs(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n if probabilities else 0))


@njit(cache=True)
def more_room(pairs: Pairs, used: int, needed: int) -> Pairs:
    """The same pairs with room for `needed` more."""
    if used + needed <= len(pairs.base):
        return pairs
    n = max(used + needed, 2 * len(pairs.base))
    grown = Pairs(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n))
    grown.base[:used] = pairs.base[:used]
    grown.target[:used] = pairs.target[:used]
    grown.probability[:used] = pairs.probability[:used]
    return grown


@njit(cache=True)
def probe_uniform(first: int, last: int, target_first: int, target_last: int, lo: int, hi: int,
                  least: float, left: bool) -> float:
    """`probe` of two uniforms.

    Numbers only: a task holds arrays, and handing those over for every pair costs more than the
    probability itself.
    """
    if left:
        p = uniform_satisfaction(first, last, target_first, target_last, lo, hi)
    else:
        p = uniform_satisfaction(target_first, target_last, first, last, -hi, -lo)
    return p if p >= least else -1.0


@njit(cache=True)
def probe(first: int, last: int, target_first: int, target_last: int, task: Task) -> float:
    """The probability of a pair, or −1 if it does not reach the confidence asked for.

    Always reckoned as right − left, so that it does not depend on which of the two came last.
    """
    if not task.left:
        first, last, target_first, target_last = target_first, target_last, first, last
    lo, hi = (task.lo, task.hi) if task.left else (-task.hi, -task.lo)
    one, two = (task.base, task.target) if task.left else (task.target, task.base)
    p = satisfaction(first, last, target_first, target_last, lo, hi, one, two)
    return p if p >= task.confidence - TOLERANCE else -1.0


@njit(cache=True)
def probe_range(i: int, first: int, last: int, targets: Targets, begin: int, end: int, task: Task,
                pairs: Pairs, count: int) -> int:
    """Probe targets begin … end against one base and add those that satisfy the condition."""
    base, target, probability = pairs.base, pairs.target, pairs.probability
    target_first, target_last = targets.first, targets.last
    if task.base.kind == UNIFORM and task.target.kind == UNIFORM:
        lo, hi, left, least = task.lo, task.hi, task.left, task.confidence - TOLERANCE
        for t in range(begin, end):
            p = probe_uniform(first, last, target_first[t], target_last[t], lo, hi, least, left)
            if p >= 0.0:
                base[count], target[count], probability[count] = i, t, p
                count += 1
    else:
        for t in range(begin, end):
            p = probe(first, last, target_first[t], target_last[t], task)
            if p >= 0.0:
                base[count], target[count], probability[count] = i, t, p
                count += 1
    return count


@njit(cache=True)
def take_range(i: int, begin: int, end: int, pairs: Pairs, count: int) -> int:
    """Add targets begin … end unseen."""
    base, target, probability = pairs.base, pairs.target, pairs.probability
    for t in range(begin, end):
        base[count], target[count], probability[count] = i, t, np.nan
        count += 1
    return count
