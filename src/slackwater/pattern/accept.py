"""Which candidates are matches: every rule, in one place.

`construct` and `follow` walk over candidates, and leave out early what cannot become a match; that
saves work and may decide nothing.  What they hand over is judged here by all rules at once: strict
order, the window, every condition, the negations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.pattern.program import Programs, holds
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

__all__ = ["Scratch", "Walk", "accepts", "for_elements", "is_absent", "is_true", "new_scratch",
           "new_walk", "undone"]

Int64 = NDArray[np.int64]


class Walk(NamedTuple):
    """Working memory of a walk along a graph (`wander`), and of a search for unwanted rows."""

    node: Int64  # an event of the walk
    row: Int64
    via: Int64  # the edge that led to it
    held: Int64  # how many events its node has
    rounds: NDArray[np.int64]  # (event, loop): in which round of the loop
    stage: Int64
    pick: Int64
    it: Int64
    end: Int64
    complete: Int64  # how many walks could be a match when it had been taken
    went: Int64  # whether one of the edges that compete has led on from it
    children: Int64  # how many events have been tried behind it
    matched: Int64  # whether it is the end of a match
    unknown: Int64  # [0]: components that a walk which is not complete may still get, as bits
    head: Int64  # an edge: where its next candidate is
    out: Int64
    part: Int64  # an event of an unwanted row
    taken: Int64
    next: Int64
    pos: Int64
    chosen: Int64


class Scratch(NamedTuple):
    """Working memory of a walk: the candidate, and where the walk stands."""

    chain: Int64  # the events of the candidate, in order
    first: Int64  # a component: its first place in the chain
    last: Int64
    now: Int64  # a component or negation: the event that conditions look at
    prev: Int64  # and the element before it
    phase: Int64
    comp: Int64
    row: Int64
    rip: Int64
    stage: Int64
    it: Int64
    end: Int64
    side: Int64


def new_scratch(plan: Plan, longest: int) -> Scratch:
    """Room for matches of at most `longest` events."""
    def some(n: int) -> Int64:
        return np.zeros(n, np.int64)

    nodes, every = longest + 4, plan.m + len(plan.gap)
    # along a graph each component, and each negation, has its own stretch of the chain
    chain = some(every * nodes if plan.shaped else 2 * longest + 4)
    return Scratch._make([chain, *(some(every) for _ in range(4)),
                          *(some(nodes) for _ in range(8))])


def new_walk(graph: Graph, longest: int) -> Walk:
    """Room for walks of at most `longest` events."""
    room = longest + 4 if len(graph.to) else 0
    own = {"rounds": np.zeros((room, graph.loops), np.int64),
           "head": np.zeros(len(graph.to), np.int64)}
    return Walk._make({**{name: np.zeros(room, np.int64) for name in Walk._fields},
                       **own}.values())


@inner
def for_elements(g: int, k: int, prog: Programs, ev: Events, s: Scratch) -> bool:
    """Whether condition g holds for every element of Kleene component k chosen so far."""
    for i in range(s.first[k], s.last[k] + 1):
        if prog.back[g] or prog.running[g]:
            if i - s.first[k] < prog.back[g]:
                continue
            s.prev[k] = i if prog.running[g] else s.chain[i - 1]
        s.now[k] = s.chain[i]
        if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
            return False
    return True


@inner
def is_absent(g: int, plan: Plan, s: Scratch) -> bool:
    """Whether condition g looks at an event of a component that is left out: then it is met."""
    bits, c = plan.named[g], 0
    while bits:
        if bits & 1 and s.last[c] < s.first[c]:
            return True
        bits >>= 1
        c += 1
    return False


@inner
def is_true(g: int, plan: Plan, prog: Programs, ev: Events, s: Scratch) -> bool:
    """Whether condition g holds for a whole match; one that looks at nothing is met."""
    if plan.general and is_absent(g, plan, s):
        return True
    k = prog.element[g]
    if k < 0:
        return holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last)
    return for_elements(g, k, prog, ev, s)


@inner
def _undone_by(q: int, row: int, plan: Plan, prog: Programs, ev: Events, s: Scratch) -> bool:
    """Whether an event in a negation's interval satisfies every condition that names it."""
    s.now[plan.m + q] = row
    for i in range(plan.negation_start[q], plan.negation_start[q + 1]):
        if not is_true(plan.negation_condition[i], plan, prog, ev, s):
            return False
    return True


@inner
def _before(q: int, plan: Plan, s: Scratch) -> tuple[int, int, int]:
    """The place in the chain before the gap of negation q; the chain's first and last place.

    What is left out beside the gap does not bound it: the events that are there do.
    """
    lo, hi, gap = s.first[0], s.last[plan.m - 1], plan.gap[q]
    return (hi if gap == plan.m else s.first[gap] - 1), lo, hi


@inner
def _inside(q: int, row: int, plan: Plan, ev: Events, s: Scratch) -> bool:
    """Whether an event lies in the interval of negation q: the rule that `undone` counts by."""
    before, lo, hi = _before(q, plan, s)
    head, tail = s.chain[lo], s.chain[hi]
    if before < lo:
        return bool(ev.time[row] >= ev.time[tail] - plan.window and is_before(ev, row, head))
    if before == hi:
        return bool(is_before(ev, tail, row) and ev.time[row] <= ev.time[head] + plan.window)
    return is_before(ev, s.chain[before], row) and is_before(ev, row, s.chain[before + 1])


@inner
def undone(base: int, plan: Plan, prog: Programs, ev: Events, st: Stacks, s: Scratch) -> bool:
    """Whether a known negated event stands against the match in the scratch memory."""
    for q in range(len(plan.gap)):
        before, start, end = _before(q, plan, s)
        head, tail, sid = s.chain[start], s.chain[end], base + plan.m + q
        if before < start:
            lo = count_time(ev, st, sid, ev.time[tail] - plan.window)
            hi = count_before(ev, st, sid, head)
        elif before == end:
            lo = count_upto(ev, st, sid, tail)
            hi = count_time(ev, st, sid, ev.time[head] + plan.window + 1)
        else:
            lo = count_upto(ev, st, sid, s.chain[before])
            hi = count_before(ev, st, sid, s.chain[before + 1])
        if lo >= hi:
            continue
        if plan.free[q]:
            return True
        for i in range(lo, hi):
            if _undone_by(q, st.row[st.start[sid] + i], plan, prog, ev, s):
                return True
    return False


@inner
def accepts(lo: int, hi: int, base: int, negation: int, row: int, plan: Plan, prog: Programs,
            ev: Events, st: Stacks, s: Scratch) -> bool:
    """Whether chain[lo … hi] is a match that no known negated event undoes.

    With a `negation` (−1: none) `row` is an event of it that is not yet in its stack, and the
    question is whether it undoes this match.
    """
    chain = s.chain
    if ev.time[chain[hi]] - ev.time[chain[lo]] > plan.window:
        return False
    for i in range(lo, hi):
        if not is_before(ev, chain[i], chain[i + 1]):
            return False
    for i in range(len(plan.match_condition)):
        if not is_true(plan.match_condition[i], plan, prog, ev, s):
            return False
    if undone(base, plan, prog, ev, st, s):
        return False
    return negation < 0 or (_inside(negation, row, plan, ev, s)
                            and _undone_by(negation, row, plan, prog, ev, s))
