"""Selection under `skip_till_next` and `strict`: the matches that begin with one event.

From its first event a match takes, component by component, the *next* event in order that satisfies
the component's type and the conditions whose variables are bound by then.  Events that are equal in
order are all next: the match branches.  In a Kleene component the run goes on with every event that
qualifies, until one qualifies for the component after it; an event that could do both ends the run.
A run at the end of the pattern takes everything it can inside the window (the longest run).  Only
then negations and the conditions on the whole match are checked: an undone match is not replaced by
another with the same first event.

`strict` differs in one point: only events directly after the last one taken (no event of the
partition, of any type, lies strictly between) can be next.
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
    SET_OUT,
    STEPS,
    TOO_MANY_STEPS,
    Found,
    passes,
    record,
)
from slackwater.pattern.program import Programs
from slackwater.pattern.schedule import Plan
from slackwater.pattern.stacks import Events, Stacks, count_upto, inner, is_before, making

__all__ = ["follow"]

Int64 = NDArray[np.int64]


@inner
def _place(comp: int, row: int, at: int, same: bool, slot: int, plan: Plan, prog: Programs,
           ev: Events, s: Scratch) -> bool:
    s.chain[at] = row
    s.last[comp] = at
    if not same:
        s.first[comp] = at
    s.now[comp] = row
    return passes(comp, slot, comp, RIGHT_SAME if same else RIGHT, at, plan, prog, ev, s)


@inner
def _group_end(pos: int, sid: int, ev: Events, st: Stacks) -> int:
    """Position behind the instances that are equal in order to the one at `pos`."""
    start, size = st.start[sid], st.size[sid]
    head = st.row[start + pos]
    while pos < size and not is_before(ev, head, st.row[start + pos]):
        pos += 1
    return pos


@inner
def _any_fits(comp: int, pos: int, end: int, at: int, same: bool, base: int, slot: int, plan: Plan,
              prog: Programs, ev: Events, st: Stacks, s: Scratch) -> bool:
    first, last, now = s.first[comp], s.last[comp], s.now[comp]
    fits = False
    for p in range(pos, end):
        if _place(comp, st.row[st.start[base + comp] + p], at, same, slot, plan, prog, ev, s):
            fits = True
            break
    s.first[comp], s.last[comp], s.now[comp] = first, last, now
    return fits


@inner
def _next(comp: int, row: int, at: int, latest: int, strict: bool, base: int, slot: int,
          plan: Plan, prog: Programs, ev: Events, st: Stacks,
          s: Scratch) -> tuple[int, int, int]:
    """What comes next after `row`, the last event taken, of component `comp`.

    The component, and the positions of the candidates in its stack; component −1 if nothing does.
    """
    m = plan.m
    ahead = comp + 1 < m
    again = comp >= 0 and plan.kleene[comp]
    a = count_upto(ev, st, base + comp + 1, row) if ahead else 0
    b = count_upto(ev, st, base + comp, row) if again else 0
    neighbour = -1
    if strict:
        everything = base + plan.stacks - 1
        p = count_upto(ev, st, everything, row)
        if p >= st.size[everything]:
            return -1, 0, 0
        neighbour = st.row[st.start[everything] + p]
    while True:
        ra = st.row[st.start[base + comp + 1] + a] if ahead and a < st.size[base + comp + 1] else -1
        rb = st.row[st.start[base + comp] + b] if again and b < st.size[base + comp] else -1
        if ra >= 0 and (ev.time[ra] > latest or (strict and is_before(ev, neighbour, ra))):
            ra = -1
        if rb >= 0 and (ev.time[rb] > latest or (strict and is_before(ev, neighbour, rb))):
            rb = -1
        if ra < 0 and rb < 0:
            return -1, 0, 0
        if ra >= 0 and (rb < 0 or not is_before(ev, rb, ra)):
            end = _group_end(a, base + comp + 1, ev, st)
            if _any_fits(comp + 1, a, end, at + 1, np.bool_(False), base, slot, plan, prog, ev, st,
                         s):
                return comp + 1, a, end
            a = end
        else:
            end = _group_end(b, base + comp, ev, st)
            if _any_fits(comp, b, end, at + 1, np.bool_(True), base, slot, plan, prog, ev, st, s):
                return comp, b, end
            b = end


@making
def follow(start: int, base: int, strict: bool, plan: Plan, prog: Programs, ev: Events, st: Stacks,
           s: Scratch, found: Found, trigger: int) -> Found:
    """Find the matches whose first event is `start`."""
    m, slot = plan.m, plan.m  # bound from left to right
    latest = ev.time[start] + plan.window
    found.fill[MINE] = found.fill[STEPS] = 0
    if not _place(np.int64(0), start, np.int64(0), np.bool_(False), slot, plan, prog, ev, s):
        return found
    d = np.int64(0)
    s.comp[0], s.row[0], s.stage[0], s.side[0] = 0, start, SET_OUT, RIGHT
    while d >= 0:
        comp = s.comp[d]
        if s.stage[d] == SET_OUT:
            target, s.it[d], s.end[d] = _next(comp, s.row[d], d, latest, strict, base, slot, plan,
                                              prog, ev, st, s)
            s.rip[d] = target
            s.stage[d] = NEXT
            if target < 0:
                if comp == m - 1 and accepts(np.int64(0), d, base, np.int64(-1), start, plan, prog,
                                             ev, st, s):
                    found = record(found, plan, s, s.chain, np.int64(0), d, trigger,
                                   np.int64(1))
                    if found.fill[ERROR]:
                        return found
                s.it[d] = s.end[d] = 0
        target = s.rip[d]
        if s.it[d] >= s.end[d]:
            if s.side[d] == RIGHT_SAME:
                s.last[comp] -= 1
            d -= 1
            continue
        row = st.row[st.start[base + target] + s.it[d]]
        s.it[d] += 1
        same = target == comp
        found.fill[STEPS] += 1
        if found.fill[STEPS] > 64 * plan.limit:
            found.fill[ERROR] = TOO_MANY_STEPS
            return found
        if _place(target, row, d + 1, same, slot, plan, prog, ev, s):
            d += 1
            s.comp[d], s.row[d], s.stage[d] = target, row, SET_OUT
            s.side[d] = RIGHT_SAME if same else RIGHT
        elif same:
            s.last[comp] -= 1
    return found
