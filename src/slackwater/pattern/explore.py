"""The matches that begin with one event, for patterns with quantifiers.

A walk from left to right over the stacks of a partition.  From the last event taken there are
several ways to go on: one more of the same component, if it may have more; the next component, if
this one has enough; the one after, if those in between are optional.  Under `skip_till_any` every
event that fits is tried in every way.  Under `skip_till_next` and `strict` the ways compete: the
earliest event that fits one of them is taken.  An event that fits several goes to the component
furthest ahead, or, behind a greedy quantifier, stays with its own; nothing is taken back.  What
could still grow at its end is a match only where it cannot (the longest run).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.pattern.accept import Scratch, accepts
from slackwater.pattern.construct import (
    ERROR,
    MINE,
    NEXT,
    RIGHT,
    RIGHT_SAME,
    SAME,
    SET_OUT,
    STEPS,
    TOO_MANY_STEPS,
    Found,
    passes,
    record,
)
from slackwater.pattern.program import Programs
from slackwater.pattern.schedule import ANY, STRICT, Plan
from slackwater.pattern.stacks import Events, Stacks, count_upto, inner, is_before, making

__all__ = ["explore"]

Int64 = NDArray[np.int64]


@inner
def _placed(target: int, comp: int, row: int, at: int, plan: Plan, prog: Programs, ev: Events,
            s: Scratch) -> bool:
    """Take an event for `target`, behind `comp`; whether the conditions known by then hold."""
    s.chain[at] = row
    s.now[target] = row
    s.last[target] = at
    if target == comp:
        return passes(target, plan.m, target, RIGHT_SAME, at, plan, prog, ev, s)
    for c in range(comp + 1, target):  # left out
        s.first[c], s.last[c] = at, at - 1
    s.first[target] = at
    for point in range(comp + 1, target + 1):
        if not passes(point, plan.m, target, RIGHT, at, plan, prog, ev, s):
            return False
    return True


@inner
def _open(target: int, comp: int, plan: Plan, s: Scratch) -> bool:
    """Whether an event of `target` may come behind what has been taken."""
    if comp < 0:
        return target < plan.heads
    count = s.last[comp] - s.first[comp] + 1
    if target == comp:
        return bool(plan.most[comp] == 0 or count < plan.most[comp])
    if count < plan.least[comp]:
        return False
    return not plan.least[comp + 1:target].any()


@inner
def _complete(comp: int, plan: Plan, s: Scratch) -> bool:
    return _open(plan.m, comp, plan, s)


@inner
def _way(target: int, comp: int, plan: Plan) -> int:
    return plan.inside[comp] if target == comp else plan.before[target]


@inner
def _head(target: int, latest: int, neighbour: int, base: int, way: int, ev: Events, st: Stacks,
          s: Scratch) -> int:
    """The next candidate of a way, or −1."""
    pos, sid = s.phase[target], base + target
    if pos >= st.size[sid]:
        return -1
    row = st.row[st.start[sid] + pos]
    if ev.time[row] > latest or (way == STRICT and (neighbour < 0
                                                    or is_before(ev, neighbour, row))):
        return -1
    return int(row)


@inner
def _group_end(pos: int, sid: int, ev: Events, st: Stacks) -> int:
    start, size = st.start[sid], st.size[sid]
    head = st.row[start + pos]
    while pos < size and not is_before(ev, head, st.row[start + pos]):
        pos += 1
    return pos


@inner
def _winner(comp: int, row: int, at: int, latest: int, base: int, plan: Plan, prog: Programs,
            ev: Events, st: Stacks, s: Scratch) -> tuple[int, int, int]:
    """Of the ways that compete: the component, and the positions of its next events; or −1."""
    m, neighbour, some = plan.m, -1, False
    for t in range(comp, m):
        if _way(t, comp, plan) != ANY and _open(t, comp, plan, s):
            s.phase[t] = count_upto(ev, st, base + t, row)
            some = True
    if not some:
        return -1, 0, 0
    if plan.everything:
        sid = base + plan.stacks - 1
        p = count_upto(ev, st, sid, row)
        if p < st.size[sid]:
            neighbour = st.row[st.start[sid] + p]
    while True:
        earliest = -1
        for t in range(comp, m):
            if _way(t, comp, plan) != ANY and _open(t, comp, plan, s):
                head = _head(t, latest, neighbour, base, _way(t, comp, plan), ev, st, s)
                if head >= 0 and (earliest < 0 or is_before(ev, head, earliest)):
                    earliest = head
        if earliest < 0:
            return -1, 0, 0
        for i in range(m - comp):
            # furthest ahead first; after a greedy one its own first
            t = comp + i if plan.greedy[comp] else m - 1 - i
            if _way(t, comp, plan) == ANY or not _open(t, comp, plan, s):
                continue
            head = _head(t, latest, neighbour, base, _way(t, comp, plan), ev, st, s)
            if head < 0 or is_before(ev, earliest, head):
                continue
            pos, end = s.phase[t], _group_end(s.phase[t], base + t, ev, st)
            for p in range(pos, end):
                fits = _placed(t, comp, st.row[st.start[base + t] + p], at + 1, plan, prog, ev, s)
                if t == comp:
                    s.last[comp], s.now[comp] = at, row
                if fits:
                    return t, pos, end
            s.phase[t] = end


@making
def explore(start: int, target: int, base: int, plan: Plan, prog: Programs, ev: Events, st: Stacks,
            s: Scratch, found: Found, trigger: int) -> Found:
    """Find the matches whose first event is `start`, taken for component `target`."""
    m = plan.m
    latest = ev.time[start] + plan.window
    found.fill[MINE] = found.fill[STEPS] = 0
    if not _placed(target, np.int64(-1), start, np.int64(0), plan, prog, ev, s):
        return found
    d = np.int64(0)
    s.comp[0], s.row[0], s.stage[0], s.side[0] = target, start, SET_OUT, RIGHT
    while d >= 0:
        comp, row = s.comp[d], s.row[d]
        if s.stage[d] == SET_OUT:
            s.rip[d], s.it[d], s.end[d] = _winner(comp, row, d, latest, base, plan, prog, ev, st, s)
            s.stage[d] = NEXT
            if s.rip[d] < 0 and _complete(comp, plan, s):
                for c in range(comp + 1, m):  # left out
                    s.first[c], s.last[c] = d + 1, d
                if accepts(np.int64(0), d, base, np.int64(-1), start, plan, prog, ev, st, s):
                    found = record(found, plan, s, s.chain, np.int64(0), d, trigger,
                                   np.int64(1))
                    if found.fill[ERROR]:
                        return found
        if s.it[d] >= s.end[d]:
            if s.stage[d] == NEXT:  # now the ways that do not compete
                s.stage[d] = SAME
                s.rip[d] = comp - 1
            t = s.rip[d] + 1
            while t < m and (_way(t, comp, plan) != ANY or not _open(t, comp, plan, s)):
                t += 1
            if t < m:
                s.rip[d], s.it[d] = t, count_upto(ev, st, base + t, row)
                s.end[d] = st.size[base + t]
                continue
            if s.side[d] == RIGHT_SAME:
                s.last[comp] -= 1
                s.now[comp] = s.chain[s.last[comp]]
            d -= 1
            continue
        t = s.rip[d]
        nxt = st.row[st.start[base + t] + s.it[d]]
        s.it[d] += 1
        if ev.time[nxt] > latest:
            s.it[d] = s.end[d]
            continue
        found.fill[STEPS] += 1
        if found.fill[STEPS] > 64 * plan.limit:
            found.fill[ERROR] = TOO_MANY_STEPS
            return found
        if _placed(t, comp, nxt, d + 1, plan, prog, ev, s):
            d += 1
            s.comp[d], s.row[d], s.stage[d] = t, nxt, SET_OUT
            s.side[d] = RIGHT_SAME if t == comp else RIGHT
        elif t == comp:
            s.last[comp], s.now[comp] = d, row
    return found
