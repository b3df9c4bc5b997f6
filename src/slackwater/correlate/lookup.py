"""Lazy with a look-up table: a probed base answers for the ones before it (Algorithms 6 and 7).

If a base with a later start and a later end still satisfies the condition from the left probe
region of a target, so does this one (Corollary 2: with both ends earlier the whole distribution is
earlier, whatever its shape).  Bases are taken by descending end for the left regions and by
ascending end for the right ones, so only the starts must be compared.  That needs hi − lo to be at
least the longest base plus the longest target (the paper's d ≥ π): otherwise the other end of the
predicate may fail, and `by_regions` must be used.  The same goes for an open end whose horizon
leaves nothing certain: what is probed is then both kinds of region in one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.correlate.bounds import TOLERANCE, Task
from slackwater.correlate.distribution import UNIFORM
from slackwater.correlate.pairs import (
    Pairs,
    more_room,
    probe,
    probe_range,
    probe_uniform,
    take_range,
)
from slackwater.correlate.regions import Regions, Targets

__all__ = ["by_lookup", "in_base_order"]

Int64 = NDArray[np.int64]


@njit(cache=True, nogil=True)
def by_lookup(first: Int64, last: Int64, order: Int64, targets: Targets, found: Regions, task: Task,
              all_p: bool, pairs: Pairs, count: int, counters: Int64) -> tuple[Pairs, int]:
    """As `by_regions`, with a table for each kind of probe region; `order` sorts bases by end."""
    probed = (found.d - found.a).sum()
    pairs = more_room(pairs, count, probed)
    unseen = (found.c - found.b).sum()
    counters[2] += unseen
    probed -= unseen
    for i in range(len(first)):
        if all_p:
            count = probe_range(i, first[i], last[i], targets, found.b[i], found.c[i], task, pairs,
                                count)
        else:
            count = take_range(i, found.b[i], found.c[i], pairs, count)
    # a target's entry is the start of the base that was last known to satisfy the condition
    # with it: bases that start no later (no earlier, on the right) satisfy it as well
    low, high = found.a.min(), found.d.max()
    table = np.empty(max(high - low, 0), np.int64)
    hits = 0
    for sign in (1, -1):
        table[:] = np.iinfo(np.int64).min
        begin, end = (found.a, found.b) if sign == 1 else (found.c, found.d)
        turn = order[::-1] if sign == 1 else order[::1]
        if task.base.kind == UNIFORM and task.target.kind == UNIFORM:
            count, more = _uniform_side(
                sign, turn, begin, end, first, last, targets.first, targets.last, task.lo, task.hi,
                task.confidence - TOLERANCE, task.left, all_p, table, low, pairs.base,
                pairs.target, pairs.probability, count)
        else:
            count, more = _side(sign, turn, begin, end, first, last, targets, task, all_p, table,
                                low, pairs, count)
        hits += more
    counters[0] += probed - hits
    counters[1] += hits
    return pairs, count


@njit(cache=True)
def _side(sign: int, order: Int64, begin: Int64, end: Int64, first: Int64, last: Int64,
          targets: Targets, task: Task, all_p: bool, table: Int64, low: int, pairs: Pairs,
          count: int) -> tuple[int, int]:
    """All probe regions of one kind; `sign` −1 mirrors time for the right ones."""
    hits = 0
    for i in order:
        start = sign * first[i]
        for t in range(begin[i], end[i]):
            known = start <= table[t - low]
            hits += known
            p = np.nan
            if all_p or not known:
                p = probe(first[i], last[i], targets.first[t], targets.last[t], task)
                if p < 0.0:
                    continue
                table[t - low] = max(start, table[t - low])
            pairs.base[count], pairs.target[count], pairs.probability[count] = i, t, p
            count += 1
    return count, hits


@njit(cache=True)
def _uniform_side(
    sign: int, order: Int64, begin: Int64, end: Int64, first: Int64, last: Int64,
    target_first: Int64, target_last: Int64, lo: int, hi: int, least: float, left: bool,
    all_p: bool, table: Int64, low: int, base: NDArray[np.int32], target: NDArray[np.int32],
    probability: NDArray[np.float64], count: int,
) -> tuple[int, int]:
    """`_side` of two uniforms: nothing but numbers and plain columns in the loop."""
    hits = 0
    for i in order:
        m, x, start = first[i], last[i], sign * first[i]
        for t in range(begin[i], end[i]):
            known = start <= table[t - low]
            hits += known
            p = np.nan
            if all_p or not known:
                p = probe_uniform(m, x, target_first[t], target_last[t], lo, hi, least, left)
                if p < 0.0:
                    continue
                table[t - low] = max(start, table[t - low])
            base[count], target[count], probability[count] = i, t, p
            count += 1
    return count, hits


@njit(cache=True, nogil=True)
def in_base_order(pairs: Pairs, count: int, bases: int) -> Pairs:
    """The pairs grouped by base: a stable counting sort."""
    at = np.zeros(bases + 1, np.int64)
    for j in range(count):
        at[pairs.base[j] + 1] += 1
    for i in range(bases):
        at[i + 1] += at[i]
    out = Pairs(np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count))
    for j in range(count):
        b = pairs.base[j]
        out.base[at[b]], out.target[at[b]] = b, pairs.target[j]
        out.probability[at[b]] = pairs.probability[j]
        at[b] += 1
    return out
