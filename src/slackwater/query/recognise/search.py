"""The search for matches, partition by partition, over rows that stand in order.

From each row on the automaton's transitions are tried in order of preference; where a row does not
fit the search goes back.  It stops, and waits for more rows, as soon as it would have to look at a
row that has not come yet: only then could more input change what it finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.query.recognise.machine import (
    ACCEPT,
    AT_END,
    AT_START,
    Aggs,
    Code,
    Lanes,
    Refs,
    Stack,
    Track,
    inlined,
    track,
    true_of,
)

__all__ = ["FOUND", "GAVE_UP", "NOT_FOUND", "WAITS", "Found", "Graph", "Parts", "Rules", "Scratch",
           "search"]

Int64 = NDArray[np.int64]
FOUND, NOT_FOUND, GAVE_UP, WAITS = 0, 1, 2, 3
PAST, NEXT, TO_FIRST, TO_LAST = 0, 1, 2, 3
_NOW = np.iinfo(np.int64).max  # the trigger of what is certain because nothing more comes


class Graph(NamedTuple):
    """The automaton (see `automaton.Automaton`)."""

    variable: Int64
    first: Int64
    target: Int64
    flags: Int64


class Rules(NamedTuple):
    """What else decides: WITHIN (−1: none), the rows that NEXT needs, where to go on, limits."""

    within: int
    ahead: int
    skip: int
    skip_mask: int
    unmatched: bool
    dynamic: bool
    most_steps: int


class Parts(NamedTuple):
    """Partitions: rows lo…hi − 1; from `start` on is searched.

    `base` is the number of row lo in its whole partition, `number` how many matches there were,
    `matched` the number in its partition of the last row that was part of one, `theta` the time
    before which no row will come any more, `ended` whether none will come at all, `trigger` the
    greatest number of a row that was needed so far, `skips` how often SKIP TO could not be done.
    """

    lo: Int64
    hi: Int64
    start: Int64
    base: Int64
    number: Int64
    matched: Int64
    theta: Int64
    ended: NDArray[np.bool_]
    trigger: Int64
    skips: Int64


class Found(NamedTuple):
    """Results: matches, rows without one, and rows where the search gave up.

    The states of a match's rows are states[path]…
    """

    what: Int64
    part: Int64
    first: Int64
    end: Int64
    number: Int64
    trigger: Int64
    path: Int64
    states: Int64


class Scratch(NamedTuple):
    """Room for a search: for each row the state, the next transition to try, what has failed."""

    state: Int64
    pick: Int64
    failed: NDArray[np.uint64]
    stamp: Int64
    far: Int64


@njit(cache=True, nogil=True, _nrt=False)
def search(p: int, time: Int64, known_by: Int64, bits: Int64, parts: Parts, graph: Graph,
           rules: Rules, code: Code, refs: Refs, lanes: Lanes, tracked: Track, aggs: Aggs,
           stack: Stack, scratch: Scratch, found: Found) -> tuple[int, int, int]:
    """Search the partitions from p on, until all wait or there is no room for what is found.

    Returns the partition to go on with (its `start` says where), how many results there are, and
    how many states.
    """
    count = used = 0
    while p < len(parts.lo):
        lo, hi = parts.lo[p], parts.hi[p]
        limit = hi if parts.ended[p] else max(lo, hi - rules.ahead)
        while parts.start[p] < limit:
            s = parts.start[p]
            if count == len(found.what):
                return p, count, used
            what, end = _find(s, p, limit, time, bits, parts, graph, rules, code, refs, lanes,
                              tracked, aggs, stack, scratch)
            if what == WAITS:
                break
            if what == FOUND and used + end - s > len(found.states):
                if count:
                    return p, count, used
                return p, -1, end - s  # more room is needed for this match alone
            far = scratch.far[0] + rules.ahead
            parts.trigger[p] = max(parts.trigger[p], known_by[far] if (
                scratch.far[0] >= 0 and far < hi) else _NOW)
            if what == FOUND:
                parts.number[p] += 1
            told = what != NOT_FOUND or (rules.unmatched and parts.base[p] + s - lo
                                         > parts.matched[p])
            if told:
                found.what[count], found.part[count], found.first[count] = what, p, s
                found.end[count] = end if what == FOUND else s
                found.number[count], found.trigger[count] = parts.number[p], parts.trigger[p]
                found.path[count] = used
                count += 1
            if what == FOUND:
                for r in range(s, end):
                    found.states[used] = scratch.state[r]
                    used += 1
                parts.matched[p] = max(parts.matched[p], parts.base[p] + end - 1 - lo)
                parts.start[p] = _go_on(s, end, p, rules, graph, scratch, parts)
            else:
                parts.start[p] = s + 1
        p += 1
    return p, count, used


@inlined
def _go_on(s: int, end: int, p: int, rules: Rules, graph: Graph, scratch: Scratch,
           parts: Parts) -> int:
    """Where the search goes on after a match of rows s…end − 1."""
    if end == s or rules.skip == NEXT:
        return s + 1
    if rules.skip == PAST:
        return end
    to = -1
    for r in range(s, end):
        if rules.skip_mask >> graph.variable[scratch.state[r]] & 1:
            to = r
            if rules.skip == TO_FIRST:
                break
    if to <= s:  # there is no such row, or the match would be found again for ever
        parts.skips[p] += 1
        return s + 1
    return to


@inlined
def _find(s: int, p: int, limit: int, time: Int64, bits: Int64, parts: Parts, graph: Graph,
          rules: Rules, code: Code, refs: Refs, lanes: Lanes, tracked: Track, aggs: Aggs,
          stack: Stack, scratch: Scratch) -> tuple[int, int]:
    """The preferred match that begins at row s, and the row behind it.

    ``scratch.far`` becomes the last row that the outcome depends on (−1: it depends on that no row
    will come).
    """
    lo, hi, ended, theta = parts.lo[p], parts.hi[p], parts.ended[p], parts.theta[p]
    number = parts.number[p] + 1
    state, pick, words = scratch.state, scratch.pick, scratch.failed.shape[1]
    deadline = _NOW if rules.within < 0 else time[s] + rules.within
    far, steps, alone = s, 0, False
    r = s
    pick[r] = graph.first[0]
    while True:
        q = -1 if r == s else state[r - 1]
        went = False
        while pick[r] < graph.first[q + 2]:
            i = pick[r]
            pick[r] += 1
            if graph.flags[i]:
                if graph.flags[i] & AT_START and parts.base[p] + r - lo != 0:
                    continue
                if graph.flags[i] & AT_END:
                    if r < hi:
                        far = max(far, r - rules.ahead)
                        continue
                    if not ended:
                        return WAITS, s
                    alone = True
            t = graph.target[i]
            if t == ACCEPT:
                scratch.far[0] = -1 if alone else far
                return FOUND, r
            if r >= limit:
                if r >= hi and (ended or theta > deadline):
                    alone = True  # there is no such row, or it comes too late for this match
                    continue
                if r < hi and time[r] > deadline:
                    far = max(far, r - rules.ahead)
                    continue
                return WAITS, s
            far = max(far, r)
            if time[r] > deadline:
                continue
            v = graph.variable[t]
            if not bits[r] >> v & 1:
                continue
            if rules.dynamic:
                steps += 1
                if steps > rules.most_steps:
                    scratch.far[0] = -1 if alone else far
                    return GAVE_UP, s
                track(r, s, np.int64(1) << v, lanes, tracked, aggs)
                if code.first[v] < code.first[v + 1] and not true_of(
                        v, code, refs, lanes, tracked, aggs, stack, graph.variable, state, r, s,
                        lo, hi, number):
                    continue
            elif rules.within >= 0 and scratch.stamp[r] != s + 1:
                # what failed for an earlier start may have failed for WITHIN alone
                scratch.stamp[r] = s + 1
                for w in range(words):
                    scratch.failed[r, w] = np.uint64(0)
            elif scratch.failed[r, t // 64] >> np.uint64(t % 64) & np.uint64(1):
                continue
            state[r] = t
            r += 1
            pick[r] = graph.first[t + 1]
            went = True
            break
        if went:
            continue
        if r == s:
            scratch.far[0] = -1 if alone else far
            return NOT_FOUND, s
        r -= 1
        if not rules.dynamic and words:
            scratch.failed[r, state[r] // 64] |= np.uint64(1) << np.uint64(state[r] % 64)
