"""Sequence construction under `skip_till_any`: every match that one event completes.

A depth-first walk over the stacks, without recursion: rightwards from the event to the last
component, then leftwards along the RIP pointers to the first.  At each step an element of the next
component is taken or, in a Kleene component, one more of the same.  Branches are cut by the window
(what the paper's divider does: instances below it are never visited), by reachability (an instance
whose chain of RIPs does not get to the first component inside the window), by unconditional
negations already known, and by conditions as soon as all that they name is bound.  None of that
decides: what is left is judged by `accept.accepts`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.pattern.accept import Scratch, accepts, for_elements, is_absent
from slackwater.pattern.program import Programs, holds
from slackwater.pattern.schedule import Plan
from slackwater.pattern.stacks import (
    Events,
    Stacks,
    count_before,
    count_time,
    count_upto,
    inner,
    making,
)

__all__ = ["Found", "construct", "fresh_found", "passes", "record"]

Int64 = NDArray[np.int64]
ROWS, MATCHES, ERROR, BUILT, MINE, STEPS = 0, 1, 2, 3, 4, 5
TOO_MANY_MATCHES, TOO_MANY_STEPS = 1, 2  # what ERROR says
RIGHTWARDS, LEFTWARDS = 1, -1  # a node's phase
SET_OUT, NEXT, TURN, SAME = 0, 1, 2, 3
"""A node's stage: it sets out, takes events of the next component, turns to its own (Kleene),
takes more of these."""
NOTHING, RIGHT, RIGHT_SAME, LEFT, LEFT_SAME = 0, 1, 2, -1, -2
"""What a node placed: an event of the next component, or one more of the same, on either side."""


class Found(NamedTuple):
    """Matches in flat arrays, and counters."""

    rows: Int64  # the component rows of all matches, one match after the other
    counts: Int64  # m a match: how many rows each component has
    trigger: Int64  # the row whose arrival made (or undid) the match
    op: NDArray[np.int8]  # +1 or −1
    fill: Int64  # rows and matches so far, error, sequences built, this event's matches and steps


def fresh_found(m: int, room: int = 64) -> Found:
    """Nothing found yet; `room` for so many matches of single events, before it has to grow."""
    return Found(np.empty(room * m, np.int64), np.empty(room * m, np.int64),
                 np.empty(room, np.int64), np.empty(room, np.int8), np.zeros(6, np.int64))


@making
def _grown(old: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    new = np.empty(size, np.int64)
    new[: len(old)] = old
    return new


@making
def record(found: Found, plan: Plan, s: Scratch, chain: Int64, lo: int, hi: int, trigger: int,
           op: int) -> Found:
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
    found.rows[rows:rows + length] = chain[lo:hi + 1]
    for c in range(plan.m):
        found.counts[match * plan.m + c] = s.last[c] - s.first[c] + 1
    found.trigger[match], found.op[match] = trigger, op
    found.fill[ROWS] += length
    found.fill[MATCHES] += 1
    found.fill[MINE] += 1
    if found.fill[MINE] > plan.limit:
        found.fill[ERROR] = TOO_MANY_MATCHES
    return found


@inner
def passes(point: int, slot: int, comp: int, side: int, at: int, plan: Plan, prog: Programs,
           ev: Events, s: Scratch) -> bool:
    """Check the conditions of a point; chain[at] was placed for `comp`."""
    where = slot * (plan.m + 2) + point
    for i in range(plan.at_start[where], plan.at_start[where + 1]):
        g = plan.at_condition[i]
        if plan.general and is_absent(g, plan, s):
            continue
        k = prog.element[g]
        if k < 0:
            if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
                return False
        elif k == comp:
            s.now[k] = s.chain[at]
            if prog.running[g]:  # only walks from left to right come here
                if at - s.first[k] < prog.back[g]:
                    continue
                s.prev[k] = at
            elif prog.back[g]:
                if side != RIGHT_SAME and side != LEFT_SAME:
                    continue
                if side == RIGHT_SAME:
                    s.prev[k] = s.chain[at - 1]
                else:
                    s.now[k], s.prev[k] = s.chain[at + 1], s.chain[at]
            if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
                return False
        elif not for_elements(g, k, prog, ev, s):
            return False
    return True


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


@making
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
        if not passes(slot, slot, slot, np.int64(NOTHING), middle, plan, prog, ev, s):
            return found
    else:
        left = middle + 1
        s.comp[0] = slot - m - 1
    s.phase[0], s.row[0], s.stage[0], s.side[0] = RIGHTWARDS, row, SET_OUT, NOTHING
    latest = ev.time[row] + window
    d = np.int64(0)
    while d >= 0:
        stage, comp, at = s.stage[d], s.comp[d], s.row[d]
        if stage == SET_OUT:
            s.stage[d] = NEXT
            if s.phase[d] == RIGHTWARDS:
                if comp == m - 1:  # the right end is reached: go on to the left of the event
                    s.stage[d] = TURN
                    d += 1
                    s.phase[d], s.row[d], s.stage[d], s.side[d] = LEFTWARDS, row, SET_OUT, NOTHING
                    s.comp[d] = slot if real else slot - m
                    if real:
                        s.rip[d] = st.rip[st.start[base + slot] + pos]
                    elif s.comp[d] > 0:
                        s.rip[d] = count_before(ev, st, base + s.comp[d] - 1, row) - 1
                    continue
                s.it[d], s.end[d] = _rightwards(comp + 1, at, base, plan, ev, st)
            else:
                if comp == 0:
                    s.stage[d] = TURN
                    found.fill[BUILT] += 1
                    if accepts(left, right, base, negation, row, plan, prog, ev, st, s):
                        found = record(found, plan, s, s.chain, left, right, row,
                                       -1 if negation >= 0 else 1)
                        if found.fill[ERROR]:
                            return found
                    continue
                tail = s.chain[right] if right > middle or real else -1
                s.it[d], s.end[d] = _leftwards(comp - 1, at, s.rip[d], base, tail, plan, ev, st)
            continue
        if stage == TURN:
            s.stage[d] = SAME
            if comp < 0 or comp >= m or not plan.kleene[comp] or (not real and (
                    s.side[d] == NOTHING)):
                d = _back(d, s)
                right, left = _ends(d, s, right, left)
                continue
            if s.phase[d] == RIGHTWARDS:
                s.it[d], s.end[d] = count_upto(ev, st, base + comp, at), st.size[base + comp]
            else:
                s.it[d] = count_before(ev, st, base + comp, at) - 1
                s.end[d] = st.base[base + comp] - 1
            continue
        same = stage == SAME
        rightward = s.phase[d] == RIGHTWARDS
        it = s.it[d]
        if it == s.end[d] or (rightward and it > s.end[d]) or (not rightward and it < s.end[d]):
            if same:
                d = _back(d, s)
                right, left = _ends(d, s, right, left)
            else:
                s.stage[d] = TURN
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
            side, where = (RIGHT_SAME if same else RIGHT), right
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
            side, where = (LEFT_SAME if same else LEFT), left
        s.now[target] = cand
        found.fill[STEPS] += 1
        if found.fill[STEPS] > 64 * plan.limit:
            found.fill[ERROR] = TOO_MANY_STEPS
            return found
        point = m + 1 if side == LEFT_SAME and real and target == slot else target
        ok = passes(point, slot, target, side, where, plan, prog, ev, s)
        d += 1
        s.phase[d], s.comp[d], s.row[d], s.side[d] = s.phase[d - 1], target, cand, side
        s.stage[d] = SET_OUT
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
    if side == RIGHT_SAME:
        s.last[comp] -= 1
    elif side == LEFT_SAME:
        s.first[comp] += 1
    return d - 1


@inner
def _ends(d: int, s: Scratch, right: int, left: int) -> tuple[int, int]:
    """The ends of the chain after node d + 1 was left."""
    side = s.side[d + 1]
    if side > NOTHING:
        return right - 1, left
    if side < NOTHING:
        return right, left + 1
    return right, left
