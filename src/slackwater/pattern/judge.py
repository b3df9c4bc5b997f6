"""Which walks along a graph are matches: `accept` for patterns with a shape.

Every condition, the window, the order, and that nothing unwanted lies where it may not.  Unwanted
is a row of events (`!(B b, C c)`): every way to choose it is looked at.
"""

from __future__ import annotations

import numpy as np

from slackwater.pattern.accept import Scratch, Walk, is_absent, is_true
from slackwater.pattern.construct import ERROR, STEPS, TOO_MANY_STEPS, Found
from slackwater.pattern.program import Programs
from slackwater.pattern.rounds import in_rounds
from slackwater.pattern.schedule import Plan
from slackwater.pattern.shape import Graph
from slackwater.pattern.stacks import (
    Events,
    Stacks,
    count_before,
    count_time,
    count_upto,
    inner,
    is_before,
)

__all__ = ["comes_after", "conditions_hold", "is_free", "stopped"]

_BETWEEN, _LEADING, _TRAILING = np.int64(0), np.int64(1), np.int64(2)


@inner
def conditions_hold(d: int, plan: Plan, graph: Graph, w: Walk, prog: Programs, ev: Events,
                    s: Scratch) -> bool:
    """Whether the walk of events 0 … d satisfies order, window, limits and every condition."""
    if ev.time[w.row[d]] - ev.time[w.row[0]] > plan.window:
        return False
    for p in range(1, d + 1):
        limit = graph.within[w.node[p]]
        if not is_before(ev, w.row[p - 1], w.row[p]) or (
                0 <= limit < ev.time[w.row[p]] - ev.time[w.row[p - 1]]):
            return False
    for i in range(len(plan.match_condition)):
        g = plan.match_condition[i]
        if graph.scope[g] < 0:
            if not is_true(g, plan, prog, ev, s):
                return False
        elif not is_absent(g, plan, s) and not in_rounds(g, d, np.bool_(True), plan, graph, w,
                                                         prog, ev, s):
            return False
    return True


@inner
def _interval(kind: int, a: int, b: int, time: int, sid: int, ev: Events,
              st: Stacks) -> tuple[int, int]:
    """Positions of a stack: between rows a and b; from a time to b; from a to a time."""
    if kind == _LEADING:
        return count_time(ev, st, sid, time), count_before(ev, st, sid, b)
    if kind == _TRAILING:
        return count_upto(ev, st, sid, a), count_time(ev, st, sid, time + 1)
    return count_upto(ev, st, sid, a), count_before(ev, st, sid, b)


@inner
def _satisfied(u: int, plan: Plan, graph: Graph, w: Walk, prog: Programs, ev: Events,
               s: Scratch) -> bool:
    for i in range(graph.own_start[u], graph.own_start[u + 1]):
        g = graph.own[i]
        if (plan.named[g] | graph.whole[g]) & w.unknown[0]:
            return False  # it speaks of what may still come
        if not is_true(g, plan, prog, ev, s):
            return False
    return True


@inner
def _optional(first: int, end: int, graph: Graph) -> bool:
    """Whether an unwanted row can do without these parts."""
    return not graph.row_least[first:end].any()


@inner
def _exists(u: int, kind: int, a: int, b: int, time: int, base: int, plan: Plan, graph: Graph,
            w: Walk, prog: Programs,
            ev: Events, st: Stacks, s: Scratch, found: Found) -> bool:
    """Whether an unwanted row lies in an interval: every choice of its events, in order."""
    m = plan.m
    first, end = graph.row_start[u], graph.row_start[u + 1]
    for part in range(first, end):
        c = m + graph.row_part[part]
        s.last[c] = s.first[c] - 1
    d = np.int64(0)
    w.part[0], w.taken[0], w.next[0], w.pos[0] = first - 1, 0, first, -1
    while d >= 0:
        # node d has `taken` events of `part`; `next` is the part that it tries to go on with
        part, taken, nxt = w.part[d], w.taken[d], w.next[d]
        possible = nxt < end
        if possible and nxt == part:
            possible = graph.row_most[part] == 0 or taken < graph.row_most[part]
        elif possible and part >= first:
            possible = taken >= graph.row_least[part] and _optional(part + 1, nxt, graph)
        elif possible:
            possible = _optional(first, nxt, graph)
        if nxt >= end:
            if part >= first:
                s.last[m + graph.row_part[part]] -= 1
            d -= 1
            continue
        sid = base + m + graph.row_part[nxt]
        lo, hi = _interval(kind, a, b, time, sid, ev, st)
        if d > 0:
            lo = max(lo, count_upto(ev, st, sid, w.chosen[d]))
        at = lo if w.pos[d] < 0 else w.pos[d]
        if not possible or at >= hi:
            w.next[d], w.pos[d] = nxt + 1, -1
            continue
        w.pos[d] = at + 1
        row = st.row[st.start[sid] + at]
        c = m + graph.row_part[nxt]
        s.last[c] += 1
        s.chain[s.last[c]] = s.now[c] = row
        count = taken + 1 if nxt == part else 1
        found.fill[STEPS] += 1
        if found.fill[STEPS] > 64 * plan.limit:
            found.fill[ERROR] = TOO_MANY_STEPS
            return False
        if count >= graph.row_least[nxt] and _optional(nxt + 1, end, graph) and _satisfied(
                u, plan, graph, w, prog, ev, s):
            return True
        d += 1
        w.part[d], w.taken[d], w.next[d], w.pos[d], w.chosen[d] = nxt, count, nxt, -1, row
    return False


@inner
def _nearest(u: int, kind: int, a: int, b: int, time: int, base: int, plan: Plan, graph: Graph,
             w: Walk, prog: Programs, ev: Events, st: Stacks, s: Scratch) -> bool:
    """Whether the event next to `a` (in front of `b`, if nothing is before it) is unwanted.

    Between two events of the match the second may be the next one itself.
    """
    every, c = base + plan.stacks - 1, plan.m + graph.row_part[graph.row_start[u]]
    sid = base + c
    lo, hi = _interval(kind, a, b, time, every, ev, st)
    if kind == _BETWEEN:
        hi = count_upto(ev, st, every, b)
    if lo >= hi:
        return False
    near = st.row[st.start[every] + (hi - 1 if kind == _LEADING else lo)]
    for i in range(count_before(ev, st, sid, near), count_upto(ev, st, sid, near)):
        s.last[c] = s.first[c]
        s.chain[s.first[c]] = s.now[c] = st.row[st.start[sid] + i]
        good = _satisfied(u, plan, graph, w, prog, ev, s)
        s.last[c] = s.first[c] - 1
        if good:
            return True
    return False


@inner
def _any(mask: int, kind: int, a: int, b: int, time: int, base: int, plan: Plan, graph: Graph,
         w: Walk, prog: Programs,
         ev: Events, st: Stacks, s: Scratch, found: Found) -> bool:
    u = np.int64(0)
    while mask:
        if mask & 1:
            if graph.nearest[u]:
                if _nearest(u, kind, a, b, time, base, plan, graph, w, prog, ev, st, s):
                    return True
            elif _exists(u, kind, a, b, time, base, plan, graph, w, prog, ev, st, s, found):
                return True
        mask >>= 1
        u += 1
    return False


@inner
def is_free(d: int, trailing: int, base: int, plan: Plan, graph: Graph, w: Walk, prog: Programs,
            ev: Events, st: Stacks,
            s: Scratch, found: Found) -> bool:
    """Whether nothing unwanted lies on the walk of events 0 … d, before it and behind it."""
    head, tail = w.row[0], w.row[d]
    if _any(graph.passes[w.via[0]], _LEADING, head, head, ev.time[tail] - plan.window, base, plan,
            graph, w,
            prog, ev, st, s, found):
        return False
    for p in range(1, d + 1):
        if _any(graph.passes[w.via[p]], _BETWEEN, w.row[p - 1], w.row[p], np.int64(0), base, plan,
                graph, w,
                prog, ev, st, s, found):
            return False
    return not _any(trailing, _TRAILING, tail, tail, ev.time[head] + plan.window, base, plan,
                    graph, w, prog,
                    ev, st, s, found)


@inner
def comes_after(mask: int, row: int, time: int, base: int, plan: Plan, graph: Graph, w: Walk,
                prog: Programs, ev: Events, st: Stacks, s: Scratch, found: Found) -> bool:
    """Whether something unwanted lies behind a row, up to a time."""
    return _any(mask, _TRAILING, row, row, time, base, plan, graph, w, prog, ev, st, s, found)


@inner
def stopped(between: int, at: int, before: int, row: int, base: int, plan: Plan, graph: Graph,
            w: Walk, prog: Programs,
            ev: Events, st: Stacks, s: Scratch, found: Found) -> bool:
    """Whether a loop ends before `row`: something of `between` lies in front of it, or it is `at`.

    Judged by the events taken so far, without `row`.
    """
    if between and _any(between, _BETWEEN, before, row, np.int64(0), base, plan, graph, w, prog,
                        ev, st, s,
                        found):
        return True
    u, mask = np.int64(0), at
    while mask:
        if mask & 1:
            c = plan.m + graph.row_part[graph.row_start[u]]
            sid = base + c
            for i in range(count_before(ev, st, sid, row), count_upto(ev, st, sid, row)):
                if st.row[st.start[sid] + i] == row:
                    s.last[c] = s.first[c]
                    s.chain[s.first[c]] = s.now[c] = row
                    if _satisfied(u, plan, graph, w, prog, ev, s):
                        return True
        mask >>= 1
        u += 1
    return False
