"""Sequence construction under `skip_till_any`: every match that one event completes.

A depth-first walk over the stacks, without recursion: rightwards from the event to the last
component, then leftwards along the RIP pointers to the first.  At each step an element of the next
component is taken or, in a Kleene component, one more of the same.  Branches are cut by the window
(what the paper's divider does: instances below it are never visited), by reachability (an instance
whose chain of RIPs does not get to the first component inside the window), by unconditional
negations already known, and by conditions as soon as all that they name is bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.pattern.program import Programs, holds
from slackwater.pattern.schedule import Plan
from slackwater.pattern.stacks import (
    Events,
    Stacks,
    count_before,
    count_time,
    count_upto,
    inner,
)

__all__ = ["Found", "Scratch", "construct", "fresh_found", "new_scratch"]

Int64 = NDArray[np.int64]
ROWS, MATCHES, ERROR, BUILT, MINE, STEPS = 0, 1, 2, 3, 4, 5


class Found(NamedTuple):
    """Matches in flat arrays, and counters."""

    rows: Int64  # the component rows of all matches, one match after the other
    counts: Int64  # m a match: how many rows each component has
    trigger: Int64  # the row whose arrival made (or undid) the match
    op: NDArray[np.int8]  # +1 or −1
    fill: Int64  # rows and matches so far, error, sequences built, this event's matches and steps


class Scratch(NamedTuple):
    """Working memory of the walk."""

    chain: Int64
    first: Int64
    last: Int64
    now: Int64
    prev: Int64
    phase: Int64
    comp: Int64
    row: Int64
    rip: Int64
    stage: Int64
    it: Int64
    end: Int64
    side: Int64  # what the node placed: 0 nothing, 1 right, 2 right in the same component, −1, −2


def new_scratch(m: int, negations: int, longest: int) -> Scratch:
    """Room for matches of at most `longest` events."""
    def some(n: int) -> Int64:
        return np.zeros(n, np.int64)

    nodes = longest + 4
    return Scratch(some(2 * longest + 4), some(m), some(m), some(m + negations),
                   some(m + negations), *(some(nodes) for _ in range(8)))


def fresh_found(m: int, room: int = 64) -> Found:
    """Nothing found yet; `room` for so many matches of single events, before it has to grow."""
    return Found(np.empty(room * m, np.int64), np.empty(room * m, np.int64),
                 np.empty(room, np.int64), np.empty(room, np.int8), np.zeros(6, np.int64))


@inner
def _grown(old: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    new = np.empty(size, np.int64)
    new[: len(old)] = old
    return new


@inner
def record(found: Found, plan: Plan, s: Scratch, lo: int, hi: int, trigger: int, op: int) -> Found:
    """Write down chain[lo … hi] as a match."""
    rows, match, length = found.fill[ROWS], found.fill[MATCHES], hi - lo + 1
    if rows + length > len(found.rows):
        found = Found(_grown(found.rows, 2 * len(found.rows) + length), found.counts,
                      found.trigger, found.op, found.fill)
    if match + 1 > len(found.trigger):
        size = 2 * len(found.trigger)
        ops = np.empty(size, np.int8)
        ops[: len(found.op)] = found.op
        found = Found(found.rows, _grown(found.counts, size * plan.m),
                      _grown(found.trigger, size), ops, found.fill)
    found.rows[rows:rows + length] = s.chain[lo:hi + 1]
    for c in range(plan.m):
        found.counts[match * plan.m + c] = s.last[c] - s.first[c] + 1
    found.trigger[match], found.op[match] = trigger, op
    found.fill[ROWS] += length
    found.fill[MATCHES] += 1
    found.fill[MINE] += 1
    if found.fill[MINE] > plan.limit:
        found.fill[ERROR] = 1
    return found


@inner
def for_elements(g: int, k: int, prog: Programs, ev: Events, s: Scratch) -> bool:
    """Whether condition g holds for every element of Kleene component k chosen so far."""
    for i in range(s.first[k], s.last[k] + 1):
        if prog.pairs[g]:
            if i == s.first[k]:
                continue
            s.prev[k] = s.chain[i - 1]
        s.now[k] = s.chain[i]
        if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
            return False
    return True


@inner
def passes(point: int, slot: int, comp: int, side: int, at: int, plan: Plan, prog: Programs,
           ev: Events, s: Scratch) -> bool:
    """Check the conditions of a point; chain[at] was placed for `comp` (−1: the match is whole)."""
    where = slot * (plan.m + 2) + point
    for i in range(plan.at_start[where], plan.at_start[where + 1]):
        g = plan.at_condition[i]
        k = prog.element[g]
        if k < 0:
            if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
                return False
        elif k == comp:
            s.now[k] = s.chain[at]
            if prog.pairs[g]:
                if abs(side) != 2:
                    continue
                if side == 2:
                    s.prev[k] = s.chain[at - 1]
                else:
                    s.now[k], s.prev[k] = s.chain[at + 1], s.chain[at]
            if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
                return False
        elif not for_elements(g, k, prog, ev, s):
            return False
    return True


@inner
def undone_by(q: int, row: int, plan: Plan, prog: Programs, ev: Events, s: Scratch) -> bool:
    """Whether an event in a negation's interval satisfies every condition that names it."""
    s.now[plan.m + q] = row
    for i in range(plan.negation_start[q], plan.negation_start[q + 1]):
        g = plan.negation_condition[i]
        k = prog.element[g]
        if k < 0:
            if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
                return False
        elif not for_elements(g, k, prog, ev, s):
            return False
    return True


@inner
def undone(base: int, plan: Plan, prog: Programs, ev: Events, st: Stacks, s: Scratch) -> bool:
    """Whether a known negated event stands against the match in the scratch memory."""
    m = plan.m
    head, tail = s.chain[s.first[0]], s.chain[s.last[m - 1]]
    for q in range(len(plan.gap)):
        sid, gap = base + m + q, plan.gap[q]
        if gap == 0:
            lo = count_time(ev, st, sid, ev.time[tail] - plan.window)
            hi = count_before(ev, st, sid, head)
        elif gap == m:
            lo = count_upto(ev, st, sid, tail)
            hi = count_time(ev, st, sid, ev.time[head] + plan.window + 1)
        else:
            lo = count_upto(ev, st, sid, s.chain[s.last[gap - 1]])
            hi = count_before(ev, st, sid, s.chain[s.first[gap]])
        if lo >= hi:
            continue
        if plan.free[q]:
            return True
        for i in range(lo, hi):
            if undone_by(q, st.row[st.start[sid] + i], plan, prog, ev, s):
                return True
    return False


@inner
def _start_of(comp: int, pos: int, base: int, ev: Events, st: Stacks) -> int:
    """Row of the latest first component that the RIPs of an instance lead to, or −1."""
    while comp > 0:
        pos = st.rip[st.start[base + comp] + pos]
        comp -= 1
        if pos < st.base[base + comp]:
            return -1
    return int(st.row[st.start[base + comp] + pos])


@inner
def _end_of(comp: int, row: int, base: int, m: int, ev: Events, st: Stacks) -> int:
    """Row of the earliest last component that can follow a row of `comp`, or −1."""
    for c in range(comp + 1, m):
        pos = count_upto(ev, st, base + c, row)
        if pos >= st.size[base + c]:
            return -1
        row = st.row[st.start[base + c] + pos]
    return row


@inner
def _rightwards(comp: int, row: int, base: int, plan: Plan, ev: Events,
                st: Stacks) -> tuple[int, int]:
    """Positions in the stack of `comp` that may follow `row`, minding unconditional negations."""
    sid = base + comp
    lo, hi = count_upto(ev, st, sid, row), st.size[sid]
    for q in range(len(plan.gap)):
        if plan.free[q] and plan.gap[q] == comp:
            nid = base + plan.m + q
            pos = count_upto(ev, st, nid, row)
            if pos < st.size[nid]:
                hi = min(hi, count_upto(ev, st, sid, st.row[st.start[nid] + pos]))
    return lo, int(hi)


@inner
def _leftwards(comp: int, row: int, rip: int, base: int, tail: int, plan: Plan, ev: Events,
               st: Stacks) -> tuple[int, int]:
    """Positions, from the later to the earlier, in the stack of `comp` that may precede `row`."""
    sid = base + comp
    it, end = rip, st.base[sid] - 1
    for q in range(len(plan.gap)):
        if not plan.free[q]:
            continue
        nid = base + plan.m + q
        if plan.gap[q] == comp + 1:
            pos = count_before(ev, st, nid, row) - 1
            if pos >= st.base[nid]:
                end = max(end, count_before(ev, st, sid, st.row[st.start[nid] + pos]) - 1)
        elif plan.gap[q] == 0 and comp == 0 and tail >= 0 and not plan.kleene[0]:
            pos = count_time(ev, st, nid, ev.time[tail] - plan.window)
            if pos < st.size[nid]:
                it = min(it, count_upto(ev, st, sid, st.row[st.start[nid] + pos]) - 1)
    return it, int(end)


@inner
def construct(slot: int, row: int, pos: int, base: int, negation: int, plan: Plan, prog: Programs,
              ev: Events, st: Stacks, s: Scratch, found: Found) -> Found:
    """Find every match around a row.

    With slot < m the row is an instance of component `slot`, at `pos` of its stack.  With slot
    m + g it is an event of `negation`, not yet in its stack, in the gap before component g: then
    the matches found are those it undoes.  What known negated events undo already is left out.
    """
    m, window = plan.m, plan.window
    real = slot < m
    middle = len(s.chain) // 2
    right = left = middle
    found.fill[MINE] = found.fill[STEPS] = 0
    if real:
        s.chain[middle] = row
        s.first[slot] = s.last[slot] = middle
        s.now[slot] = row
        s.comp[0] = slot
        if not passes(slot, slot, slot, np.int64(0), middle, plan, prog, ev, s):
            return found
    else:
        left = middle + 1
        s.comp[0] = slot - m - 1
    s.phase[0], s.row[0], s.stage[0], s.side[0] = 1, row, 0, 0
    latest = ev.time[row] + window
    d = np.int64(0)
    while d >= 0:
        stage, comp, at = s.stage[d], s.comp[d], s.row[d]
        if stage == 0:  # set out for the next component
            s.stage[d] = 1
            if s.phase[d] == 1:
                if comp == m - 1:  # the right end is reached: go on to the left of the event
                    s.stage[d] = 2
                    d += 1
                    s.phase[d], s.row[d], s.stage[d], s.side[d] = -1, row, 0, 0
                    s.comp[d] = slot if real else slot - m
                    if real:
                        s.rip[d] = st.rip[st.start[base + slot] + pos]
                    elif s.comp[d] > 0:
                        s.rip[d] = count_before(ev, st, base + s.comp[d] - 1, row) - 1
                    continue
                s.it[d], s.end[d] = _rightwards(comp + 1, at, base, plan, ev, st)
            else:
                if comp == 0:
                    s.stage[d] = 2
                    found.fill[BUILT] += 1
                    inside = ev.time[s.chain[right]] - ev.time[s.chain[left]] <= window
                    if (inside and passes(m, slot, np.int64(-1), np.int64(0), middle, plan, prog,
                                         ev, s)
                            and not undone(base, plan, prog, ev, st, s)
                            and (negation < 0 or undone_by(negation, row, plan, prog, ev, s))):
                        found = record(found, plan, s, left, right, row,
                                       -1 if negation >= 0 else 1)
                        if found.fill[ERROR]:
                            return found
                    continue
                tail = s.chain[right] if right > middle or real else -1
                s.it[d], s.end[d] = _leftwards(comp - 1, at, s.rip[d], base, tail, plan, ev, st)
            continue
        if stage == 2:  # or for one more of the same
            s.stage[d] = 3
            if comp < 0 or comp >= m or not plan.kleene[comp] or (not real and (
                    s.side[d] == 0)):
                d = _back(d, s)
                right, left = _ends(d, s, right, left)
                continue
            if s.phase[d] == 1:
                s.it[d], s.end[d] = count_upto(ev, st, base + comp, at), st.size[base + comp]
            else:
                s.it[d] = count_before(ev, st, base + comp, at) - 1
                s.end[d] = st.base[base + comp] - 1
            continue
        same = stage == 3
        rightward = s.phase[d] == 1
        it = s.it[d]
        if it == s.end[d] or (rightward and it > s.end[d]) or (not rightward and it < s.end[d]):
            if same:
                d = _back(d, s)
                right, left = _ends(d, s, right, left)
            else:
                s.stage[d] = 2
            continue
        target = comp if same else (comp + 1 if rightward else comp - 1)
        sid = base + target
        cand = st.row[st.start[sid] + it]
        s.it[d] = it + 1 if rightward else it - 1
        if rightward:
            reach = _end_of(target, cand, base, m, ev, st)
            if reach < 0 or (plan.prune and ev.time[reach] > latest):
                s.it[d] = s.end[d]
                continue
            right += 1
            s.chain[right] = cand
            s.last[target] = right
            if not same:
                s.first[target] = right
            side, where = (2 if same else 1), right
        else:
            tail = s.chain[right] if right > middle or real else row
            reach = _start_of(target, it, base, ev, st)
            if reach < 0 or (plan.prune and ev.time[reach] < ev.time[tail] - window):
                s.it[d] = s.end[d]
                continue
            left -= 1
            s.chain[left] = cand
            s.first[target] = left
            if not same:
                s.last[target] = left
            side, where = (-2 if same else -1), left
        s.now[target] = cand
        found.fill[STEPS] += 1
        if found.fill[STEPS] > 64 * plan.limit:
            found.fill[ERROR] = 2
            return found
        point = m + 1 if side == -2 and real and target == slot else target
        ok = passes(point, slot, target, side, where, plan, prog, ev, s)
        d += 1
        s.phase[d], s.comp[d], s.row[d], s.side[d] = s.phase[d - 1], target, cand, side
        s.stage[d] = 0
        if not rightward:
            s.rip[d] = st.rip[st.start[sid] + it]
        if not ok:
            d = _back(d, s)
            right, left = _ends(d, s, right, left)
    return found


@inner
def _back(d: int, s: Scratch) -> int:
    """Leave a node: take away what it placed (`_ends` moves the ends)."""
    side, comp = s.side[d], s.comp[d]
    if side == 2:
        s.last[comp] -= 1
    elif side == -2:
        s.first[comp] += 1
    return d - 1


@inner
def _ends(d: int, s: Scratch, right: int, left: int) -> tuple[int, int]:
    """The ends of the chain after node d + 1 was left."""
    side = s.side[d + 1]
    if side > 0:
        return right - 1, left
    if side < 0:
        return right, left + 1
    return right, left
