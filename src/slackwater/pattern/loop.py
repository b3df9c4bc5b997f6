"""The loops over a batch: insert each event into its stacks, find what it completes or undoes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.pattern.accept import Scratch, Walk, undone
from slackwater.pattern.construct import (
    ERROR,
    MATCHES,
    ROWS,
    STEPS,
    TOO_MANY_STEPS,
    Found,
    construct,
)
from slackwater.pattern.explore import explore
from slackwater.pattern.follow import follow
from slackwater.pattern.program import Programs
from slackwater.pattern.schedule import Plan
from slackwater.pattern.shape import Graph
from slackwater.pattern.stacks import (
    Events,
    Stacks,
    count_time,
    inner,
    insert,
    making,
    purge,
    put,
    take_out,
)
from slackwater.pattern.wander import wander

__all__ = ["build", "run_any", "run_starts", "run_stepwise", "still_holds"]

Int64 = NDArray[np.int64]


@njit(cache=True)
def build(order: Int64, part: Int64, mask: Int64, plan: Plan, ev: Events, st: Stacks,
          use_clock: bool) -> None:
    """Only insert: to make the stacks again out of held events."""
    positions = np.zeros(plan.stacks, np.int64)
    time, seq, tied = ev.time, ev.seq, ev.tied
    starts, sizes, bases, rows, rips = st.start, st.size, st.base, st.row, st.rip
    clocks, m, stacks = st.clock, plan.m, plan.stacks
    for row in order:
        put(time, seq, tied, starts, sizes, bases, rows, rips, clocks, row, part[row] * stacks,
            part[row], mask[row], m, use_clock, positions)


@njit(cache=True)
def run_any(order: Int64, part: Int64, mask: Int64, oldest: Int64, new: int, plan: Plan,
            prog: Programs, ev: Events, st: Stacks, s: Scratch, found: Found, use_clock: bool,
            retract: bool, refused: Int64) -> Found:
    """Under `skip_till_any`: insert each row and build the matches it completes.

    A row that completes (or undoes) more than the limit is taken out again, with all it found, and
    `refused` says why, from row `new` on.

    `oldest` a row, from row `new` on: what is older can be purged when the row is handled.  With
    `retract` (rows in arrival order) a negated event also undoes the matches that its arrival takes
    back.
    """
    m, stacks, gap = plan.m, plan.stacks, plan.gap
    positions = np.zeros(stacks, np.int64)
    time, seq, tied = ev.time, ev.seq, ev.tied
    starts, sizes, bases, rows, rips = st.start, st.size, st.base, st.row, st.rip
    clocks = st.clock
    last = np.int64(1) << (m - 1)
    for row in order:
        p, bits = part[row], mask[row]
        base = p * stacks
        matches, events, clock = found.fill[MATCHES], found.fill[ROWS], clocks[p]
        purge(time, starts, sizes, bases, rows, base, bits, oldest[row - new])
        if retract:
            for q in range(len(gap)):
                if bits >> (m + q) & 1:
                    found = construct(m + gap[q], row, np.int64(0), base, q, plan, prog, ev, st, s,
                                      found)
                    if found.fill[ERROR]:
                        break
                    insert(time, seq, tied, starts, sizes, bases, rows, rips, base + m + q, row,
                           np.bool_(False), np.bool_(False), np.bool_(False))
            bits &= (np.int64(1) << m) - 1
            if bits == 0 and not found.fill[ERROR]:
                continue
        if found.fill[ERROR]:
            _refuse(row, new, matches, events, found, refused)
            take_out(time, seq, starts, sizes, bases, rows, rips, base, row, mask[row], m)
            continue
        in_order = put(time, seq, tied, starts, sizes, bases, rows, rips, clocks, row, base, p,
                       bits, m, use_clock, positions)
        if in_order and not bits & last:
            continue
        for c in range(m):
            if bits >> c & 1 and (c == m - 1 or not in_order):
                found = construct(c, row, positions[c], base, np.int64(-1), plan, prog, ev, st, s,
                                  found)
                if found.fill[ERROR]:
                    _refuse(row, new, matches, events, found, refused)
                    take_out(time, seq, starts, sizes, bases, rows, rips, base, row, mask[row], m)
                    clocks[p] = clock
                    break
    return found


@inner
def _refuse(row: int, new: int, matches: int, events: int, found: Found, refused: Int64) -> None:
    """Forget what a row found, and write down why."""
    refused[row - new] = found.fill[ERROR]
    found.fill[ERROR] = 0
    found.fill[MATCHES], found.fill[ROWS] = matches, events


@inner
def _starts(row: int, mask: int, plan: Plan, graph: Graph, ev: Events) -> tuple[int, int]:
    """Times between which a first event can be whose matches a row's arrival can change."""
    m = plan.m
    latest = ev.time[row] + plan.window if graph.looks_back else ev.time[row]
    for q in range(len(plan.gap)):
        if mask >> (m + q) & 1 and plan.gap[q] < plan.heads:
            latest = ev.time[row] + plan.window
    return ev.time[row] - plan.window, latest


@making
def _same(found: Found, a: int, a_row: int, b: int, b_row: int, m: int) -> bool:
    length = 0
    for c in range(m):
        if found.counts[a * m + c] != found.counts[b * m + c]:
            return False
        length += found.counts[a * m + c]
    return bool((found.rows[a_row:a_row + length] == found.rows[b_row:b_row + length]).all())


@making
def _lengths(found: Found, first: int, last: int, at: int, m: int) -> Int64:
    """Where the rows of matches first … last − 1 begin, the first of them at `at`."""
    begin = np.empty(last - first + 1, np.int64)
    for i in range(first, last):
        begin[i - first] = at
        for c in range(m):
            at += found.counts[i * m + c]
    begin[last - first] = at
    return begin


@making
def _from_start(first: int, comp: int, base: int, strict: bool, plan: Plan, graph: Graph, w: Walk,
                prog: Programs,
                ev: Events, st: Stacks, s: Scratch, found: Found, trigger: int) -> Found:
    if plan.shaped:
        return wander(first, comp, base, plan, graph, w, prog, ev, st, s, found, trigger)
    if plan.general:
        return explore(first, comp, base, plan, prog, ev, st, s, found, trigger)
    return follow(first, base, strict, plan, prog, ev, st, s, found, trigger)


@making
def _all_starts(low: int, high: int, base: int, strict: bool, plan: Plan, graph: Graph, w: Walk,
                prog: Programs,
                ev: Events, st: Stacks, s: Scratch, found: Found, trigger: int) -> Found:
    """The matches of all first events between two times; together they have one budget of steps."""
    spent = np.int64(0)
    for comp in range(plan.heads):
        sid = base + comp
        for i in range(count_time(ev, st, sid, low), count_time(ev, st, sid, high + 1)):
            found = _from_start(st.row[st.start[sid] + i], comp, base, strict, plan, graph, w,
                                prog, ev, st,
                                s, found, trigger)
            spent += found.fill[STEPS]
            if spent > 64 * plan.limit:
                found.fill[ERROR] = TOO_MANY_STEPS
            if found.fill[ERROR]:
                return found
    return found


@njit(cache=True)
def run_stepwise(order: Int64, part: Int64, mask: Int64, oldest: Int64, new: int, plan: Plan,
                 graph: Graph, w: Walk, prog: Programs, ev: Events, st: Stacks, s: Scratch,
                 found: Found,
                 strict: bool, refused: Int64) -> Found:
    """Under `skip_till_next` and `strict`, eager: what each arrival changes.

    `refused` as in `run_any`.

    The matches of every first event in reach are made without the new event and with it, and the
    difference is told: what is gone as −1, what is new as +1; op 0 marks what stays.
    """
    m, stacks = plan.m, plan.stacks
    positions = np.zeros(stacks, np.int64)
    time, seq, tied = ev.time, ev.seq, ev.tied
    starts, sizes, bases, rows, rips = st.start, st.size, st.base, st.row, st.rip
    clocks = st.clock
    for row in order:
        p = part[row]
        base = p * stacks
        purge(time, starts, sizes, bases, rows, base, mask[row] | ((1 << plan.heads) - 1),
              oldest[row - new])
        low, high = _starts(row, mask[row], plan, graph, ev)
        kept, kept_rows, clock = found.fill[MATCHES], found.fill[ROWS], clocks[p]
        found = _all_starts(low, high, base, strict, plan, graph, w, prog, ev, st, s, found, row)
        if found.fill[ERROR]:
            _refuse(row, new, kept, kept_rows, found, refused)
            continue
        before = found.fill[MATCHES]
        put(time, seq, tied, starts, sizes, bases, rows, rips, clocks, row, base, p, mask[row], m,
            True, positions)
        found = _all_starts(low, high, base, strict, plan, graph, w, prog, ev, st, s, found, row)
        if found.fill[ERROR]:
            _refuse(row, new, kept, kept_rows, found, refused)
            take_out(time, seq, starts, sizes, bases, rows, rips, base, row, mask[row], m)
            clocks[p] = clock
            continue
        after = found.fill[MATCHES]
        begin = _lengths(found, kept, after, kept_rows, m)
        # both lists are in the order of their first events, so equal ones are near each other
        b = before
        for a in range(kept, before):
            found.op[a] = -1
            for j in range(b, after):
                if found.op[j] == 1 and _same(found, a, begin[a - kept], j, begin[j - kept], m):
                    found.op[a] = found.op[j] = 0
                    if j == b:
                        b += 1
                    break
        _keep_changes(found, kept, after, begin, m)
    return found


@inner
def _keep_changes(found: Found, first: int, last: int, begin: Int64, m: int) -> None:
    """Drop the matches with op 0 from the end of the list."""
    to, to_row = first, begin[0]
    for i in range(first, last):
        if found.op[i] == 0:
            continue
        length = begin[i - first + 1] - begin[i - first]
        for j in range(length):
            found.rows[to_row + j] = found.rows[begin[i - first] + j]
        for c in range(m):
            found.counts[to * m + c] = found.counts[i * m + c]
        found.op[to], found.trigger[to] = found.op[i], found.trigger[i]
        to += 1
        to_row += length
    found.fill[MATCHES], found.fill[ROWS] = to, to_row


@njit(cache=True)
def run_starts(starts: Int64, part: Int64, mask: Int64, plan: Plan, graph: Graph, w: Walk,
               prog: Programs, ev: Events, st: Stacks, s: Scratch, found: Found, strict: bool,
               refused: Int64) -> Found:
    """The matches of the given first events; the trigger of each is its first event.

    `refused` says, for each of them, why it has none if it has too many.
    """
    for i in range(len(starts)):
        row = starts[i]
        matches, events = found.fill[MATCHES], found.fill[ROWS]
        for comp in range(plan.heads):
            if mask[row] >> comp & 1 and not found.fill[ERROR]:
                found = _from_start(row, comp, part[row] * plan.stacks, strict, plan, graph, w,
                                    prog, ev, st,
                                    s, found, row)
        if found.fill[ERROR]:
            _refuse(i, np.int64(0), matches, events, found, refused)
    return found


@njit(cache=True)
def still_holds(rows: Int64, counts: Int64, part: Int64, plan: Plan, prog: Programs, ev: Events,
                st: Stacks, s: Scratch) -> NDArray[np.bool_]:
    """For complete matches: whether no negated event known by now undoes them."""
    m = plan.m
    total = len(counts) // m
    good = np.empty(total, np.bool_)
    at = 0
    for i in range(total):
        here = 0
        for c in range(m):
            s.first[c] = here
            for _ in range(counts[i * m + c]):
                s.chain[here] = rows[at]
                here += 1
                at += 1
            s.last[c] = here - 1
            s.now[c] = s.chain[here - 1]
        good[i] = not undone(part[s.chain[0]] * plan.stacks, plan, prog, ev, st, s)
    return good
