"""Sliding aggregates in constant time for each row: two stacks per group, laid out in one arena.

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
from numpy.typing import NDArray

from slackwater.window.aggregates import ranks
from slackwater.window.aggregates.arena import PAGE_BITS, Free, claim, release
from slackwater.window.aggregates.values import Results, Values, add, join
from slackwater.window.compiled import uncounted
from slackwater.window.schedule import Probes

__all__ = ["Entries", "Groups", "Partials", "State", "chain_up", "run"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class Partials(NamedTuple):
    """Partial aggregates, in columns; those that nobody asked for are empty."""

    hi: Float64
    lo: Float64
    n: Int64
    mean: Float64
    m2: Float64
    least: NDArray[Any]
    most: NDArray[Any]


class Entries(NamedTuple):
    """One entry for each value.

    `next` (in `Free`) is not part of a snapshot: it follows from `prev`, and joining a value to a
    chain then changes no page but the value's own.
    """

    time: Int64
    value: NDArray[Any]
    prev: Int64


class Groups(NamedTuple):
    """For each group the chain's ends and the front's last entry (−1: none), how many there are,
    and the root of the tree of ranks.
    """

    head: Int64
    tail: Int64
    front: Int64
    size: Int64
    root: Int64


class State(NamedTuple):
    """Everything that is kept for one column: `part` belongs to entries, `back` to groups."""

    groups: Groups
    back: Partials
    entries: Entries
    part: Partials
    free: Free
    tree: ranks.Tree


@uncounted
def _turn(s: State, k: int) -> None:
    """Make the back of group k its front."""
    part, value = s.part, s.entries.value
    at, later, head = s.groups.tail[k], -1, s.groups.head[k]
    while True:
        if len(part.hi) and later >= 0:
            part.hi[at], part.lo[at] = add(part.hi[at], part.lo[at], part.hi[later], part.lo[later])
        if len(part.mean):
            part.n[at], part.mean[at], part.m2[at] = 1, float(value[at]), 0.0
            if later >= 0:
                part.n[at] = 1 + part.n[later]
                part.mean[at], part.m2[at] = join(1, part.mean[at], 0.0, part.n[later],
                                                  part.mean[later], part.m2[later])
        if len(part.least):
            part.least[at] = value[at]
            if later >= 0 and part.least[later] < value[at]:
                part.least[at] = part.least[later]
        if len(part.most):
            part.most[at] = value[at]
            if later >= 0 and part.most[later] > value[at]:
                part.most[at] = part.most[later]
        s.free.dirty[at >> PAGE_BITS] = True
        if at == head:
            break
        later, at = at, s.entries.prev[at]
    s.groups.front[k] = s.groups.tail[k]


@uncounted
def _answer(s: State, k: int, q: Float64, out: Results, p: int) -> None:
    """The aggregates of group k, front and back together, into result p."""
    g, part, back, here = s.groups, s.part, s.back, s.groups.head[k]
    out.size[p] = g.size[k]
    if here < 0:
        return
    has_front, has_back = g.front[k] >= 0, g.front[k] != g.tail[k]
    if len(out.most):
        most = part.most[here] if has_front else back.most[k]
        out.most[p] = back.most[k] if has_back and back.most[k] > most else most
    if len(out.least):
        least = part.least[here] if has_front else back.least[k]
        out.least[p] = back.least[k] if has_back and back.least[k] < least else least
    if len(out.hi):
        if has_front and has_back:
            out.hi[p], out.lo[p] = add(part.hi[here], part.lo[here], back.hi[k], back.lo[k])
        elif has_front:
            out.hi[p], out.lo[p] = part.hi[here], part.lo[here]
        else:
            out.hi[p], out.lo[p] = back.hi[k], back.lo[k]
    if len(out.m2):
        if has_front and has_back:
            out.m2[p] = join(part.n[here], part.mean[here], part.m2[here], back.n[k],
                             back.mean[k], back.m2[k])[1]
        else:
            out.m2[p] = part.m2[here] if has_front else back.m2[k]
    if len(out.first):
        out.first[p], out.last[p] = s.entries.value[here], s.entries.value[g.tail[k]]
    for i in range(len(q)):
        out.quantiles[p, i] = ranks.quantile(s.tree, s.entries.value, g.root[k], q[i])


@uncounted
def run(row: int, probe: int, rows: Values, probes: Probes, s: State, q: Float64,
        out: Results) -> tuple[int, int]:
    """Go through rows and probes from the given ones on.

    Returns the row and probe that come next: all have been dealt with, or the arena is full.
    """
    group, time, value, skip = rows.group, rows.time, rows.value, rows.skip
    pair_hi, pair_lo = rows.hi, rows.lo
    e_time, e_value, e_prev, e_next = s.entries.time, s.entries.value, s.entries.prev, s.free.next
    head, tail, front, size, root = (s.groups.head, s.groups.tail, s.groups.front, s.groups.size,
                                     s.groups.root)
    e_hi, e_lo, hi, lo = s.part.hi, s.part.lo, s.back.hi, s.back.lo
    n, mean, m2, least, most = s.back.n, s.back.mean, s.back.m2, s.back.least, s.back.most
    summed, spread, ranked = len(hi) > 0, len(mean) > 0, len(q) > 0
    lowest, greatest = len(least) > 0, len(most) > 0
    turning = summed or spread or lowest or greatest
    at, whose, low = probes.at, probes.group, probes.low
    while True:
        while probe < len(at) and at[probe] <= row:
            k, oldest = whose[probe], low[probe]
            here = head[k]
            # nothing is asked of values that all go
            all_go = here >= 0 and e_time[tail[k]] < oldest
            while here >= 0 and e_time[here] < oldest:
                if turning and front[k] < 0 and not all_go:
                    _turn(s, k)
                if ranked:
                    root[k] = ranks.remove(s.tree, e_value, root[k], here)
                after = e_next[here]
                size[k] -= 1
                if front[k] == here:
                    front[k] = -1
                release(s.free, here)
                head[k] = here = after
            if here < 0:
                tail[k] = -1
            _answer(s, k, q, out, probe)
            probe += 1
        if row == len(time):
            break
        if skip[row]:
            row += 1
            continue
        slot = claim(s.free)
        if slot < 0:
            break
        k, old, new = group[row], tail[group[row]], value[row]
        e_time[slot], e_value[slot], e_prev[slot] = time[row], new, old
        fresh = old < 0 or front[k] == old  # the back is empty
        if old >= 0:
            e_next[old] = slot
        else:
            head[k], front[k] = slot, -1
        tail[k] = slot
        size[k] += 1
        if greatest and (fresh or new > most[k]):
            most[k] = new
        if lowest and (fresh or new < least[k]):
            least[k] = new
        if summed:
            e_hi[slot], e_lo[slot] = pair_hi[row], pair_lo[row]
            if fresh:
                hi[k], lo[k] = pair_hi[row], pair_lo[row]
            else:
                hi[k], lo[k] = add(hi[k], lo[k], pair_hi[row], pair_lo[row])
        if spread:
            if fresh:
                n[k], mean[k], m2[k] = 1, float(new), 0.0
            else:
                mean[k], m2[k] = join(n[k], mean[k], m2[k], 1, float(new), 0.0)
                n[k] += 1
        if ranked:
            root[k] = ranks.insert(s.tree, e_value, root[k], slot)
        row += 1
    return row, probe


@uncounted
def chain_up(s: State, ranked: bool) -> None:
    """After a restore: say which entries are in use, chain them, and build the tree of ranks."""
    g = s.groups
    for k in range(len(g.head)):
        at, later = g.tail[k], -1
        while at >= 0:
            s.free.used[at], s.free.next[at] = True, later
            if ranked:
                g.root[k] = ranks.insert(s.tree, s.entries.value, g.root[k], at)
            if at == g.head[k]:
                break
            later, at = at, s.entries.prev[at]
