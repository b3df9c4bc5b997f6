"""The matches that begin with one event, for patterns with a shape (see `shape`).

A walk along the graph's edges, from left to right, as `explore` does it for rows of components:
edges under `skip_till_any` are tried with every event, the others compete for the earliest event
that fits one of them, in the order in which the graph has them; or, where they do not compete
(`branching`), each takes its own.  A walk that could go on is no match, unless nothing complete
comes of it (half a round of a group).  The events of a component need not be neighbours in the
match, so each component has its own stretch of `chain`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.pattern.accept import Scratch, Walk, for_elements, is_absent
from slackwater.pattern.construct import (
    ERROR,
    MATCHES,
    MINE,
    NEXT,
    ROWS,
    SAME,
    SET_OUT,
    STEPS,
    TOO_MANY_STEPS,
    Found,
    record,
)
from slackwater.pattern.distinct import keep_distinct
from slackwater.pattern.judge import comes_after, conditions_hold, is_free, stopped
from slackwater.pattern.program import Programs, holds
from slackwater.pattern.rounds import in_rounds
from slackwater.pattern.schedule import ANY, FOLLOWING, OWN, OWN_STRICT, STRICT, Plan
from slackwater.pattern.shape import Graph
from slackwater.pattern.stacks import (
    Events,
    Stacks,
    count_before,
    count_upto,
    inner,
    is_before,
    making,
)

__all__ = ["wander"]

Int64 = NDArray[np.int64]


@inner
def _fits(d: int, plan: Plan, graph: Graph, w: Walk, prog: Programs, ev: Events,
          s: Scratch) -> bool:
    """Whether the conditions hold that can be asked now and speak of event d."""
    node = w.node[d]
    c = graph.component[node]
    for i in range(len(plan.match_condition)):
        g = plan.match_condition[i]
        mine = plan.named[g] >> c & 1
        if (not mine and graph.whole[g] == 0) or graph.whole[g] & graph.reach[node]:
            continue
        if is_absent(g, plan, s):  # not there yet
            continue
        k = prog.element[g]
        if graph.scope[g] >= 0:
            if not in_rounds(g, d, not mine, plan, graph, w, prog, ev, s):
                return False
        elif k < 0:
            if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
                return False
        elif k == c and graph.whole[g] == 0:
            at = s.last[k]
            if at - s.first[k] < prog.back[g]:
                continue
            s.now[k] = s.chain[at]
            if prog.running[g]:
                s.prev[k] = at
            elif prog.back[g]:
                s.prev[k] = s.chain[at - 1]
            if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
                return False
        elif not for_elements(g, k, prog, ev, s):
            return False
    return True


@inner
def _drop(d: int, plan: Plan, graph: Graph, w: Walk, s: Scratch) -> None:
    """Give event d back."""
    c = graph.component[w.node[d]]
    s.last[c] -= 1
    if s.last[c] >= s.first[c]:
        s.now[c] = s.chain[s.last[c]]


@inner
def _placed(d: int, edge: int, row: int, base: int, plan: Plan, graph: Graph, w: Walk,
            prog: Programs, ev: Events,
            st: Stacks, s: Scratch, found: Found) -> bool:
    """Take an event along an edge, as event d; if it does not fit, all is as before."""
    node = graph.to[edge]
    before = w.row[d - 1] if d > 0 else row
    if d > 0 and graph.within[node] >= 0 and ev.time[row] - ev.time[before] > graph.within[node]:
        return False
    if (graph.until[edge] or graph.at[edge]) and stopped(
            graph.until[edge] if d > 0 else np.int64(0), graph.until[edge] | graph.at[edge],
            before, row, base, plan, graph, w, prog, ev, st, s, found):
        return False
    w.node[d], w.row[d], w.via[d] = node, row, edge
    w.held[d] = w.held[d - 1] + 1 if graph.again[edge] else 1
    for loop in range(graph.loops):
        before_it = w.rounds[d - 1, loop] if d > 0 else 0
        w.rounds[d, loop] = before_it + (graph.rounds[edge] >> loop & 1)
    c = graph.component[node]
    s.last[c] += 1
    s.chain[s.last[c]] = s.now[c] = row
    if _fits(d, plan, graph, w, prog, ev, s):
        return True
    _drop(d, plan, graph, w, s)
    return False


@inner
def _open(edge: int, d: int, plan: Plan, graph: Graph, w: Walk, s: Scratch) -> bool:
    """Whether event d may be followed along an edge."""
    node, count = w.node[d], w.held[d]
    if graph.again[edge]:
        return bool(graph.most[node] == 0 or count < graph.most[node])
    return bool(count >= graph.least[node])


@inner
def _neighbour(row: int, base: int, plan: Plan, ev: Events, st: Stacks) -> int:
    """The first event of the partition behind a row, or −1."""
    if not plan.everything:
        return -1
    sid = base + plan.stacks - 1
    p = count_upto(ev, st, sid, row)
    return int(st.row[st.start[sid] + p]) if p < st.size[sid] else -1


@inner
def _head(edge: int, latest: int, neighbour: int, base: int, plan: Plan, graph: Graph, w: Walk,
          ev: Events, st: Stacks,
          s: Scratch) -> int:
    """The next candidate of an edge, or −1."""
    sid, pos = base + graph.component[graph.to[edge]], w.head[edge]
    if pos >= st.size[sid]:
        return -1
    row = st.row[st.start[sid] + pos]
    if ev.time[row] > latest or (graph.way[edge] == STRICT and (
            neighbour < 0 or is_before(ev, neighbour, row))):
        return -1
    return int(row)


@inner
def _winner(d: int, latest: int, base: int, plan: Plan, graph: Graph, w: Walk, prog: Programs,
            ev: Events, st: Stacks,
            s: Scratch, found: Found) -> tuple[int, int, int]:
    """Of the edges that compete: one, and the positions of its next events; or −1."""
    node, row = w.node[d], w.row[d]
    lo, hi = graph.start[node], graph.start[node + 1]
    some = False
    for e in range(lo, hi):
        if _competes(e, graph) and _open(e, d, plan, graph, w, s):
            w.head[e] = count_upto(ev, st, base + graph.component[graph.to[e]], row)
            some = True
    if not some:
        return -1, 0, 0
    neighbour = _neighbour(row, base, plan, ev, st)
    while True:
        earliest = -1
        for e in range(lo, hi):
            if _competes(e, graph) and _open(e, d, plan, graph, w, s):
                head = _head(e, latest, neighbour, base, plan, graph, w, ev, st, s)
                if head >= 0 and (earliest < 0 or is_before(ev, head, earliest)):
                    earliest = head
        if earliest < 0:
            return -1, 0, 0
        for e in range(lo, hi):
            if not _competes(e, graph) or not _open(e, d, plan, graph, w, s):
                continue
            head = _head(e, latest, neighbour, base, plan, graph, w, ev, st, s)
            if head < 0 or is_before(ev, earliest, head):
                continue
            sid, pos = base + graph.component[graph.to[e]], w.head[e]
            end = pos
            while end < st.size[sid] and not is_before(ev, head, st.row[st.start[sid] + end]):
                end += 1
            for p in range(pos, end):
                if _placed(d + 1, e, st.row[st.start[sid] + p], base, plan, graph, w, prog, ev, st,
                           s,
                           found):
                    _drop(d + 1, plan, graph, w, s)
                    return e, pos, end
            w.head[e] = end


@inner
def _competes(edge: int, graph: Graph) -> bool:
    return bool(graph.way[edge] == FOLLOWING or graph.way[edge] == STRICT)


@inner
def _first(edge: int, d: int, latest: int, near: bool, base: int, plan: Plan, graph: Graph, w: Walk,
           prog: Programs, ev: Events, st: Stacks, s: Scratch,
           found: Found) -> tuple[int, int]:
    """The positions of the first event that fits along an edge, with those equal to it in order.

    With `near` it must be the event right behind.
    """
    row, sid = w.row[d], base + graph.component[graph.to[edge]]
    pos, size = count_upto(ev, st, sid, row), st.size[sid]
    neighbour = _neighbour(row, base, plan, ev, st) if near else -1
    while pos < size and found.fill[ERROR] == 0:
        nxt = st.row[st.start[sid] + pos]
        if ev.time[nxt] > latest or (near and (neighbour < 0 or is_before(ev, neighbour, nxt))):
            break
        found.fill[STEPS] += 1
        if found.fill[STEPS] > 64 * plan.limit:
            found.fill[ERROR] = TOO_MANY_STEPS
        if _placed(d + 1, edge, nxt, base, plan, graph, w, prog, ev, st, s, found):
            _drop(d + 1, plan, graph, w, s)
            end = pos + 1
            while end < size and not is_before(ev, nxt, st.row[st.start[sid] + end]):
                end += 1
            return int(pos), int(end)
        pos += 1
    return 0, 0


@inner
def _own(edge: int, d: int, latest: int, base: int, plan: Plan, graph: Graph, w: Walk,
         prog: Programs, ev: Events, st: Stacks, s: Scratch, found: Found) -> tuple[int, int]:
    """`_first`, if it lies in front of the event that a greedy edge claims."""
    near = graph.way[edge] == OWN_STRICT
    pos, end = _first(edge, d, latest, near, base, plan, graph, w, prog, ev, st, s, found)
    if pos == end:
        return 0, 0
    row = st.row[st.start[base + graph.component[graph.to[edge]]] + pos]
    claimed = _claimed(edge, d, latest, base, plan, graph, w, prog, ev, st, s, found)
    if claimed >= 0 and not is_before(ev, row, claimed):
        return 0, 0
    return pos, end


@inner
def _claimed(edge: int, d: int, latest: int, base: int, plan: Plan, graph: Graph, w: Walk,
             prog: Programs, ev: Events, st: Stacks, s: Scratch, found: Found) -> int:
    """The first event that fits a greedy edge which goes before this one, or −1.

    It need not be right behind, even where the greedy edge asks for that: what a greedy run could
    take, were it there, belongs to no one else (FlinkCEP's rule).
    """
    first = np.int64(-1)
    for i in range(graph.yield_start[edge], graph.yield_start[edge + 1]):
        greedy = graph.yields[i]
        if _open(greedy, d, plan, graph, w, s):
            at, to = _first(greedy, d, latest, np.bool_(False), base, plan, graph, w, prog, ev, st,
                            s, found)
            if at < to:
                row = st.row[st.start[base + graph.component[graph.to[greedy]]] + at]
                if first < 0 or is_before(ev, row, first):
                    first = row
    return int(first)


@inner
def _is_claimed(edge: int, start: int, base: int, plan: Plan, graph: Graph, w: Walk,
                prog: Programs, ev: Events, st: Stacks, s: Scratch, found: Found) -> bool:
    """Whether a greedy edge that goes before this one takes the first event of a match."""
    for i in range(graph.yield_start[edge], graph.yield_start[edge + 1]):
        greedy = graph.yields[i]
        sid = base + graph.component[graph.to[greedy]]
        for p in range(count_before(ev, st, sid, start), count_upto(ev, st, sid, start)):
            if st.row[st.start[sid] + p] == start and _placed(
                    np.int64(0), greedy, start, base, plan, graph, w, prog, ev, st, s, found):
                _drop(np.int64(0), plan, graph, w, s)
                return True
    return False


@making
def _walk(start: int, edge: int, base: int, plan: Plan, graph: Graph, w: Walk, prog: Programs,
          ev: Events, st: Stacks,
          s: Scratch, found: Found, trigger: int) -> Found:
    latest = ev.time[start] + plan.window
    stretch = len(s.chain) // len(s.first)
    for c in range(len(s.first)):
        s.first[c], s.last[c] = c * stretch, c * stretch - 1
    d = np.int64(0)
    if _is_claimed(edge, start, base, plan, graph, w, prog, ev, st, s, found) or not _placed(
            d, edge, start, base, plan, graph, w, prog, ev, st, s, found):
        return found
    w.stage[0] = SET_OUT
    complete = np.int64(0)  # walks so far that could be a match
    while d >= 0:
        node = w.node[d]
        may_end = graph.last[node] and w.held[d] >= graph.least[node]
        if w.stage[d] == SET_OUT:
            w.pick[d], w.it[d], w.end[d] = _winner(d, latest, base, plan, graph, w, prog, ev, st,
                                                   s, found)
            w.stage[d] = NEXT
            w.went[d], w.children[d], w.matched[d] = w.pick[d] >= 0, 0, 0
            if may_end:
                complete += 1
            w.complete[d] = complete
        if w.it[d] >= w.end[d]:
            if w.stage[d] == NEXT:  # now the edges that do not compete
                if may_end and complete == w.complete[d]:
                    before = found.fill[MATCHES]
                    found = _judged(d, base, plan, graph, w, prog, ev, st, s, found, trigger)
                    w.matched[d] = found.fill[MATCHES] > before
                w.stage[d] = SAME
                w.pick[d] = graph.start[node] - 1
            if found.fill[ERROR]:
                return found
            e, row = w.pick[d] + 1, w.row[d]
            while e < graph.start[node + 1] and (_competes(e, graph) or not _open(e, d, plan, graph,
                                                                                  w, s)):
                e += 1
            if e < graph.start[node + 1]:
                sid = base + graph.component[graph.to[e]]
                w.pick[d] = e
                if graph.way[e] == ANY:
                    w.it[d], w.end[d] = count_upto(ev, st, sid, row), st.size[sid]
                    claimed = _claimed(e, d, latest, base, plan, graph, w, prog, ev, st, s, found)
                    if claimed >= 0:
                        w.end[d] = count_before(ev, st, sid, claimed)
                else:
                    w.it[d], w.end[d] = _own(e, d, latest, base, plan, graph, w, prog, ev, st, s,
                                             found)
                continue
            if graph.partial and _times_out(d, latest, base, plan, graph, w, prog, ev, st, s,
                                            found):
                found = _record(found, plan, graph, w, s, trigger, np.int64(1))
            _drop(d, plan, graph, w, s)
            d -= 1
            continue
        sid = base + graph.component[graph.to[w.pick[d]]]
        nxt = st.row[st.start[sid] + w.it[d]]
        w.it[d] += 1
        if ev.time[nxt] > latest:
            w.it[d] = w.end[d]
            continue
        found.fill[STEPS] += 1
        if found.fill[STEPS] > 64 * plan.limit:
            found.fill[ERROR] = TOO_MANY_STEPS
            return found
        if _placed(d + 1, w.pick[d], nxt, base, plan, graph, w, prog, ev, st, s, found):
            w.children[d] += 1
            d += 1
            w.stage[d] = SET_OUT
    return found


@making
def _judged(d: int, base: int, plan: Plan, graph: Graph, w: Walk, prog: Programs, ev: Events,
            st: Stacks, s: Scratch, found: Found, trigger: int) -> Found:
    """Write the walk of events 0 … d down if it is a match."""
    if conditions_hold(d, plan, graph, w, prog, ev, s) and is_free(
            d, graph.trailing[w.node[d]], base, plan, graph, w, prog, ev, st, s, found):
        return _record(found, plan, graph, w, s, trigger, np.int64(0 if graph.partial else 1))
    return found


@inner
def _times_out(d: int, latest: int, base: int, plan: Plan, graph: Graph, w: Walk, prog: Programs,
               ev: Events, st: Stacks, s: Scratch, found: Found) -> bool:
    """Whether the walk of events 0 … d is no match, but could have gone on until the window closed.

    With `partial` 1 only where nothing came of it, with 2 along any edge that has not led on.
    """
    if w.matched[d] or (graph.partial == 1 and w.children[d] > 0):
        return False
    node, row = w.node[d], w.row[d]
    going = False
    for e in range(graph.start[node], graph.start[node + 1]):
        way = graph.way[e]
        if not _open(e, d, plan, graph, w, s) or (w.went[d] and _competes(e, graph)) or _claimed(
                e, d, latest, base, plan, graph, w, prog, ev, st, s, found) >= 0:
            continue
        if way in (OWN, OWN_STRICT):
            pos, end = _own(e, d, latest, base, plan, graph, w, prog, ev, st, s, found)
            if pos < end:
                continue
        if way in (STRICT, OWN_STRICT):
            neighbour = _neighbour(row, base, plan, ev, st)
            if neighbour >= 0 and ev.time[neighbour] <= latest:
                continue
        if comes_after(graph.until[e], row, latest, base, plan, graph, w, prog, ev, st, s, found):
            continue
        w.unknown[0] = graph.reach[node]
        going = not comes_after(graph.passes[e], row, latest, base, plan, graph, w, prog, ev, st,
                                s, found) and is_free(d, np.int64(0), base, plan, graph, w, prog,
                                                      ev, st, s, found)
        w.unknown[0] = 0
        if going:
            break
    return going


@making
def _record(found: Found, plan: Plan, graph: Graph, w: Walk, s: Scratch, trigger: int,
            op: int) -> Found:
    """Write the match down, component by component."""
    rows = w.out
    length = np.int64(0)
    for c in range(plan.m):
        for i in range(s.first[c], s.last[c] + 1):
            rows[length] = s.chain[i]
            length += 1
    return record(found, plan, s, rows, np.int64(0), length - 1, trigger, op)


@making
def wander(start: int, comp: int, base: int, plan: Plan, graph: Graph, w: Walk, prog: Programs,
           ev: Events, st: Stacks,
           s: Scratch, found: Found, trigger: int) -> Found:
    """Find the matches whose first event is `start`, taken for component `comp`."""
    found.fill[MINE] = found.fill[STEPS] = 0
    matches, rows = found.fill[MATCHES], found.fill[ROWS]
    nodes = len(graph.component)
    for e in range(graph.start[nodes], graph.start[nodes + 1]):
        if graph.component[graph.to[e]] == comp:
            found = _walk(start, e, base, plan, graph, w, prog, ev, st, s, found, trigger)
            if found.fill[ERROR]:
                return found
    if graph.ambiguous:
        keep_distinct(found, matches, rows, plan.m)
    return found
