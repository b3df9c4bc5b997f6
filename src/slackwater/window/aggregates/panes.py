"""Aggregates of sliding and tumbling windows from panes: one partial aggregate for each slide.

Windows start at multiples of the slide, so a row's pane is its time in whole slides: every window
is a run of panes, the newest perhaps still growing.  A group has its *open* pane apart, and two
stacks of closed ones: those in front know the aggregate from themselves to the end of the front,
the back has one running aggregate.  A window's result is front ⊕ back ⊕ open; the pane that no
later window has is then dropped, and when the front is empty the back becomes the front.  Nothing
is ever subtracted, so no error builds up.

Quantiles need the values: each pane has *cells*, a value and how often it came, and a group's
cells form one search tree (see `ranks`).

References
----------
Li, Maier, Tufte, Papadimos, Tucker: No Pane, No Gain. SIGMOD Record 34, 2005.  Tangwongsan,
Hirzel, Schneider: Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time. DEBS 2017
(section 3: two-stacks).  Chan, Golub, LeVeque: Algorithms for Computing the Sample Variance. The
American Statistician 37, 1983.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.window.aggregates import ranks
from slackwater.window.aggregates.arena import PAGE_BITS, claim, release
from slackwater.window.aggregates.pane_state import Records, State, Wanted
from slackwater.window.aggregates.values import Results, Values, add, join
from slackwater.window.compiled import uncounted
from slackwater.window.schedule import NEVER, Probes

__all__ = ["chain_up", "run"]

Float64 = NDArray[np.float64]


@uncounted
def _follow(to: Records, i: int, newer: Records, j: int, wanted: Wanted) -> None:
    """to[i] becomes the aggregate of itself and of newer[j], whose rows came after."""
    a, b = to[i], newer[j]
    if b.count == 0:
        return
    if a.count == 0:
        to[i] = newer[j]
        return
    if wanted.sum:
        a.hi, a.lo = add(a.hi, a.lo, b.hi, b.lo)
    if wanted.spread:
        a.mean, a.m2 = join(a.count, a.mean, a.m2, b.count, b.mean, b.m2)
    if b.least < a.least:
        a.least = b.least
    if b.most > a.most:
        a.most = b.most
    a.last = b.last
    a.count += b.count


@uncounted
def _turn(s: State, k: int, wanted: Wanted) -> None:
    """Make the back of group k its front."""
    at = s.groups[k].tail
    s.groups[k].front = at
    s.back[k].count = 0
    while True:
        s.free_panes.dirty[at >> PAGE_BITS] = True
        if at == s.groups[k].head:
            return
        later, at = at, s.panes[at].prev
        _follow(s.partials, at, s.partials, later, wanted)


@uncounted
def _drop_cells(s: State, k: int, cell: int, whole: bool) -> None:
    """Give back a pane's cells; they leave the tree, unless the whole tree goes."""
    while cell >= 0:
        if not whole:
            s.root[k] = ranks.remove(s.tree, s.cells.value, s.root[k], cell)
        after = s.cells.prev[cell]
        release(s.free_cells, cell)
        cell = after


@uncounted
def _drop(s: State, k: int, oldest: int, wanted: Wanted) -> None:
    """Drop the panes of group k that start before `oldest`."""
    g = s.groups[k]
    everything = g.start < oldest  # then all the closed ones do, too
    while g.head >= 0 and (everything or s.panes[g.head].start < oldest):
        here = g.head
        if g.front < 0 and not everything:
            _turn(s, k, wanted)
        _drop_cells(s, k, s.panes[here].cells, everything)
        if g.front == here:
            g.front = -1
        g.head = s.free_panes.next[here]
        release(s.free_panes, here)
    if g.head < 0:
        g.tail = -1
    if everything and g.start != NEVER:
        _drop_cells(s, k, g.cells, True)
        g.cells, g.start = -1, NEVER
        if len(s.root):
            s.root[k] = -1
        s.opened[0] -= 1
        s.open[k].count = 0
        if len(s.back):
            s.back[k].count = 0


@uncounted
def _close(s: State, k: int, slot: int, wanted: Wanted) -> None:
    """Close the open pane of group k: it becomes the back's newest."""
    g, pane = s.groups[k], s.panes[slot]
    pane.start, pane.prev, pane.cells = g.start, g.tail, g.cells
    s.partials[slot] = s.open[k]
    if g.tail >= 0:
        s.free_panes.next[g.tail] = slot
    else:
        g.head = slot
    g.tail, g.cells = slot, -1
    _follow(s.back, k, s.open, k, wanted)
    s.open[k].count = 0


@uncounted
def _answer(s: State, k: int, window: Records, wanted: Wanted, q: Float64, out: Results,
            p: int) -> None:
    """Front ⊕ back ⊕ open, into result p."""
    w = window[0]
    w.count = 0
    if len(s.back):
        if s.groups[k].front >= 0:
            window[0] = s.partials[s.groups[k].head]
        _follow(window, 0, s.back, k, wanted)
    _follow(window, 0, s.open, k, wanted)
    out.size[p] = w.count
    if w.count == 0:
        return
    if wanted.sum:
        out.hi[p], out.lo[p] = w.hi, w.lo
    if wanted.spread:
        out.m2[p] = w.m2
    if wanted.least:
        out.least[p] = w.least
    if wanted.most:
        out.most[p] = w.most
    if wanted.ends:
        out.first[p], out.last[p] = w.first, w.last
    for i in range(len(q)):
        out.quantiles[p, i] = ranks.quantile(s.tree, s.cells.value, s.root[k], q[i])


@uncounted
def _count_value(s: State, k: int, value: Any) -> bool:
    """Count a value among the open pane's cells; False if there is no room for a new one."""
    g = s.groups[k]
    cell = ranks.find(s.tree, s.cells.value, s.root[k], value, g.start)
    if cell >= 0:
        ranks.weigh(s.tree, s.cells.value, s.root[k], cell)
        s.free_cells.dirty[cell >> PAGE_BITS] = True
        return True
    cell = claim(s.free_cells)
    if cell < 0:
        return False
    s.cells.value[cell], s.cells.prev[cell] = value, g.cells
    s.tree.weight[cell], s.tree.order[cell] = 1, g.start
    g.cells = cell
    s.root[k] = ranks.insert(s.tree, s.cells.value, s.root[k], cell)
    return True


@uncounted
def run(row: int, probe: int, rows: Values, probes: Probes, slide: int, s: State, window: Records,
        wanted: Wanted, q: Float64, out: Results) -> tuple[int, int]:
    """Go through rows and probes from the given ones on; `window` is room for one partial.

    Returns the row and probe that come next: all have been dealt with, or an arena is full.
    """
    group, time, value, skip = rows.group, rows.time, rows.value, rows.skip
    hi, lo, groups, opened = rows.hi, rows.lo, s.groups, s.open
    summed, spread, ranked = wanted.sum, wanted.spread, wanted.ranks
    lowest, greatest, ends = wanted.least, wanted.most, wanted.ends
    at, whose, low = probes.at, probes.group, probes.low
    while True:
        while probe < len(at) and at[probe] <= row:
            _answer(s, whose[probe], window, wanted, q, out, probe)
            _drop(s, whose[probe], low[probe] + slide, wanted)  # what no later window has
            probe += 1
        if row == len(time):
            break
        if skip[row]:
            row += 1
            continue
        k, t, new = group[row], time[row], value[row]
        if groups[k].start == NEVER:
            groups[k].start = t // slide * slide
            s.opened[0] += 1
        elif t - groups[k].start >= slide:
            slot = claim(s.free_panes)
            if slot < 0:
                break
            _close(s, k, slot, wanted)
            groups[k].start = t // slide * slide
        if ranked and not _count_value(s, k, new):
            break
        o = opened[k]
        n = o.count
        o.count = n + 1
        if n == 0:
            o.hi = o.lo = o.mean = o.m2 = 0.0
            if summed:
                o.hi, o.lo = hi[row], lo[row]
            if spread:
                o.mean = float(new)
            o.least = o.most = o.first = o.last = new
        else:
            if summed:
                o.hi, o.lo = add(o.hi, o.lo, hi[row], lo[row])
            if spread:
                o.mean, o.m2 = join(n, o.mean, o.m2, 1, float(new), 0.0)
            if lowest and new < o.least:
                o.least = new
            if greatest and new > o.most:
                o.most = new
            if ends:
                o.last = new
        row += 1
    return row, probe


@uncounted
def chain_up(s: State) -> None:
    """After a restore: say which panes and cells are in use, and build what follows from them."""
    for k in range(len(s.groups)):
        g = s.groups[k]
        if g.start == NEVER:
            continue
        s.opened[0] += 1
        _chain_up_cells(s, k, g.cells, g.start)
        at, later = g.tail, -1
        while at >= 0:
            s.free_panes.used[at], s.free_panes.next[at] = True, later
            _chain_up_cells(s, k, s.panes[at].cells, s.panes[at].start)
            if at == g.head:
                break
            later, at = at, s.panes[at].prev


@uncounted
def _chain_up_cells(s: State, k: int, cell: int, start: int) -> None:
    while cell >= 0:
        s.free_cells.used[cell] = True
        s.tree.order[cell] = start
        s.root[k] = ranks.insert(s.tree, s.cells.value, s.root[k], cell)
        cell = s.cells.prev[cell]
