"""Sliding aggregates in constant time a row: two stacks per group, laid out in one arena.

A group's values form a chain, oldest first.  The front part of the chain is a stack whose every
entry knows the aggregate from itself to the front's end; the back part has one running aggregate.
Taking in joins a value to the back; letting go drops the front's first; when the front is empty the
back is turned into the front, once for each value.  Nothing is ever subtracted, so there is no
error that builds up, and minimum and maximum need no structure of their own.

Sums are kept as unevaluated pairs of doubles (hi + lo), deviations as count, mean and M2.

References
----------
Tangwongsan, Hirzel, Schneider: Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time.
DEBS 2017 (section 3: two-stacks).  Chan, Golub, LeVeque: Algorithms for Computing the Sample
Variance. The American Statistician 37, 1983.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slackwater.window import ranks

__all__ = ["PAGE_BITS", "Asked", "Entries", "Groups", "Results", "chain_up", "run", "tidy"]

PAGE_BITS = 10  # pages of a state.Table


class Entries(NamedTuple):
    """The arena: one entry a value.

    `next` also chains the free entries.  It is not part of a snapshot: it follows from `prev`, and
    joining a value to a chain then changes no page but the value's own.
    """

    time: NDArray[np.int64]
    value: NDArray[Any]
    next: NDArray[np.int64]
    prev: NDArray[np.int64]
    hi: NDArray[np.float64]
    lo: NDArray[np.float64]
    n: NDArray[np.int64]
    mean: NDArray[np.float64]
    m2: NDArray[np.float64]
    least: NDArray[Any]
    most: NDArray[Any]


class Groups(NamedTuple):
    """Per group: the chain's ends, the front's last entry (−1: none), the back's aggregate."""

    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    front: NDArray[np.int64]
    size: NDArray[np.int64]
    hi: NDArray[np.float64]
    lo: NDArray[np.float64]
    n: NDArray[np.int64]
    mean: NDArray[np.float64]
    m2: NDArray[np.float64]
    least: NDArray[Any]
    most: NDArray[Any]
    root: NDArray[np.int64]


class Results(NamedTuple):
    """One value a probe, for what was asked; the others are empty."""

    size: NDArray[np.int64]
    hi: NDArray[np.float64]
    lo: NDArray[np.float64]
    m2: NDArray[np.float64]
    least: NDArray[Any]
    most: NDArray[Any]
    first: NDArray[Any]
    last: NDArray[Any]
    quantiles: NDArray[np.float64]


class Asked(NamedTuple):
    """What is to be kept."""

    sum: bool
    deviation: bool
    least: bool
    most: bool
    ends: bool
    q: NDArray[np.float64]


@njit(cache=True)
def _add(hi: float, lo: float, other_hi: float, other_lo: float) -> tuple[float, float]:
    """(hi + lo) + (other_hi + other_lo), to about 106 bits."""
    s = hi + other_hi
    if not np.isfinite(s):
        return s, 0.0
    b = s - hi
    e = (hi - (s - b)) + (other_hi - b) + lo + other_lo
    h = s + e
    return h, e - (h - s)


@njit(cache=True)
def _join(n: int, mean: float, m2: float, k: int, mean_k: float,
          m2_k: float) -> tuple[int, float, float]:
    if n == 0:
        return k, mean_k, m2_k
    if k == 0:
        return n, mean, m2
    total = n + k
    d = mean_k - mean
    return total, mean + d * k / total, m2 + m2_k + d * d * n * k / total


@njit(cache=True)
def _turn(e: Entries, g: Groups, k: int, asked: Asked, dirty: NDArray[np.bool_]) -> None:
    """Make the back of group k its front."""
    at, later, head = g.tail[k], -1, g.head[k]
    while True:
        if asked.sum and later >= 0:
            e.hi[at], e.lo[at] = _add(e.hi[at], e.lo[at], e.hi[later], e.lo[later])
        if asked.deviation:
            e.n[at], e.mean[at], e.m2[at] = 1, float(e.value[at]), 0.0
            if later >= 0:
                e.n[at], e.mean[at], e.m2[at] = _join(1, e.mean[at], 0.0, e.n[later],
                                                      e.mean[later], e.m2[later])
        if asked.least:
            e.least[at] = e.value[at]
            if later >= 0 and e.least[later] < e.value[at]:
                e.least[at] = e.least[later]
        if asked.most:
            e.most[at] = e.value[at]
            if later >= 0 and e.most[later] > e.value[at]:
                e.most[at] = e.most[later]
        dirty[at >> PAGE_BITS] = True
        if at == head:
            break
        later, at = at, e.prev[at]
    g.front[k] = g.tail[k]
    if asked.sum:
        g.hi[k], g.lo[k] = 0.0, 0.0
    if asked.deviation:
        g.n[k], g.mean[k], g.m2[k] = 0, 0.0, 0.0


@njit(cache=True)
def chain_up(e: Entries, g: Groups, tree: ranks.Tree, ranked: bool) -> NDArray[np.bool_]:
    """Fill `next` from `prev`, and the tree of ranks; which entries are in use."""
    used = np.zeros(len(e.time), np.bool_)
    for k in range(len(g.head)):
        at, later = g.tail[k], -1
        while at >= 0:
            used[at] = True
            e.next[at] = later
            if ranked:
                g.root[k] = ranks.insert(tree, e.value, g.root[k], at)
            if at == g.head[k]:
                break
            later, at = at, e.prev[at]
    return used


@njit(cache=True)
def tidy(following: NDArray[np.int64], free: NDArray[np.int64]) -> None:
    """Chain the free entries by pages, those with the most room first.

    So what comes next fills few pages, and few are written.
    """
    pages = (len(following) + (1 << PAGE_BITS) - 1) >> PAGE_BITS
    is_free = np.zeros(len(following), np.bool_)
    room = np.zeros(pages, np.int64)
    at = free[0]
    while at >= 0:
        is_free[at] = True
        room[at >> PAGE_BITS] += 1
        at = following[at]
    free[0], free[1] = -1, -1
    for page in np.argsort(-room):
        if room[page] == 0:
            break
        for slot in range(page << PAGE_BITS, min((page + 1) << PAGE_BITS, len(following))):
            if is_free[slot]:
                if free[1] >= 0:
                    following[free[1]] = slot
                else:
                    free[0] = slot
                free[1] = slot
                following[slot] = -1


@njit(cache=True, nogil=True)
def run(row: int, probe: int, group: NDArray[np.int64], time: NDArray[np.int64],
        value: NDArray[Any], hi: NDArray[np.float64], lo: NDArray[np.float64],
        skip: NDArray[np.bool_], at: NDArray[np.int64], whose: NDArray[np.int64],
        low: NDArray[np.int64], slide: int, e: Entries, g: Groups, tree: ranks.Tree,
        free: NDArray[np.int64], dirty: NDArray[np.bool_], asked: Asked,
        out: Results) -> tuple[int, int]:
    """Go through rows and probes from the given ones on.

    A group's next probe sees nothing older than `slide` after what this one sees.

    Returns the row and probe that come next: all have been dealt with, or the arena is full.

    One long function with the columns as locals: handing them on to helpers would count their
    references up and down for every row, which costs more than the work.
    """
    rows, probes = len(time), len(at)
    e_time, e_value, e_next, e_prev, e_hi, e_lo = e.time, e.value, e.next, e.prev, e.hi, e.lo
    e_least, e_most = e.least, e.most
    head, tail, front, size = g.head, g.tail, g.front, g.size
    g_hi, g_lo, g_n, g_mean, g_m2 = g.hi, g.lo, g.n, g.mean, g.m2
    g_least, g_most, root = g.least, g.most, g.root
    out_size, out_hi, out_lo, out_least, out_most = out.size, out.hi, out.lo, out.least, out.most
    out_first, out_last = out.first, out.last
    want_sum, want_deviation, want_ends = asked.sum, asked.deviation, asked.ends
    want_least, want_most, quantiles = asked.least, asked.most, len(asked.q)
    turning = want_sum or want_deviation or want_least or want_most
    first_free, last_free = free[0], free[1]
    full = False
    while True:
        while probe < probes and at[probe] <= row:
            k = whose[probe]
            # twice: what the probe does not see, and, once answered, what the next will not
            for again in range(2 if slide > 0 else 1):
                oldest = low[probe] + again * slide
                # let go of what is older
                here = head[k]
                # nothing is asked of values that all go
                all_go = here >= 0 and e_time[tail[k]] < oldest
                while here >= 0 and e_time[here] < oldest:
                    if turning and front[k] < 0 and not all_go:
                        _turn(e, g, k, asked, dirty)
                    if quantiles:
                        root[k] = ranks.remove(tree, e_value, root[k], here)
                    after = e_next[here]
                    size[k] -= 1
                    if front[k] == here:
                        front[k] = -1
                    e_next[here] = -1
                    if last_free >= 0:
                        e_next[last_free] = here
                    else:
                        first_free = here
                    last_free = here
                    head[k] = here = after
                if here < 0:
                    tail[k] = -1
                if again:
                    break
                # answer
                p = probe
                out_size[p] = size[k]
                if here >= 0:
                    has_front, has_back = front[k] >= 0, front[k] != tail[k]
                    if want_most:
                        most = e_most[here] if has_front else g_most[k]
                        out_most[p] = g_most[k] if has_back and g_most[k] > most else most
                    if want_least:
                        least = e_least[here] if has_front else g_least[k]
                        out_least[p] = g_least[k] if has_back and g_least[k] < least else least
                    if want_sum:
                        if has_front and has_back:
                            out_hi[p], out_lo[p] = _add(e_hi[here], e_lo[here], g_hi[k], g_lo[k])
                        elif has_front:
                            out_hi[p], out_lo[p] = e_hi[here], e_lo[here]
                        else:
                            out_hi[p], out_lo[p] = g_hi[k], g_lo[k]
                    if want_deviation:
                        if has_front and has_back:
                            out.m2[p] = _join(e.n[here], e.mean[here], e.m2[here], g_n[k],
                                              g_mean[k], g_m2[k])[2]
                        else:
                            out.m2[p] = e.m2[here] if has_front else g_m2[k]
                    if want_ends:
                        out_first[p], out_last[p] = e_value[here], e_value[tail[k]]
                    for i in range(quantiles):
                        out.quantiles[p, i] = ranks.quantile(tree, e_value, root[k], asked.q[i])
            probe += 1
        if row == rows:
            break
        if not skip[row]:
            slot = first_free
            if slot < 0:
                full = True
                break
            first_free = e_next[slot]
            if first_free < 0:
                last_free = -1
            # take in
            k, old = group[row], tail[group[row]]
            new = value[row]
            e_time[slot], e_value[slot], e_next[slot], e_prev[slot] = time[row], new, -1, old
            fresh = old < 0 or front[k] == old  # the back is empty
            if old >= 0:
                e_next[old] = slot
            else:
                head[k], front[k] = slot, -1
            tail[k] = slot
            size[k] += 1
            if want_most and (fresh or new > g_most[k]):
                g_most[k] = new
            if want_least and (fresh or new < g_least[k]):
                g_least[k] = new
            if want_sum:
                e_hi[slot], e_lo[slot] = hi[row], lo[row]
                if fresh:
                    g_hi[k], g_lo[k] = hi[row], lo[row]
                else:
                    g_hi[k], g_lo[k] = _add(g_hi[k], g_lo[k], hi[row], lo[row])
            if want_deviation:
                if fresh:
                    g_n[k], g_mean[k], g_m2[k] = 1, float(new), 0.0
                else:
                    g_n[k], g_mean[k], g_m2[k] = _join(g_n[k], g_mean[k], g_m2[k], 1, float(new),
                                                       0.0)
            if quantiles:
                root[k] = ranks.insert(tree, e_value, root[k], slot)
            dirty[slot >> PAGE_BITS] = True
        row += 1
    free[0], free[1] = first_free, last_free
    assert full or (row == rows and probe == probes)
    return row, probe
