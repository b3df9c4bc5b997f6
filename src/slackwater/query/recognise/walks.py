"""Loops over rows: where partitions stand, which rows leave, what they look at and add up to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.query.recognise.machine import CURRENT, FIRST

__all__ = ["Matches", "Outputs", "aggregate", "behind", "by_slot", "closed_ends", "closing_rows",
           "navigate", "rows_out"]

Int64 = NDArray[np.int64]
_NOW = np.iinfo(np.int64).max


class Matches(NamedTuple):
    """Matches of rows first…end − 1 in partitions lo…hi − 1; their states are states[path]…"""

    first: Int64
    end: Int64
    path: Int64
    lo: Int64
    hi: Int64
    states: Int64


class Outputs(NamedTuple):
    """Rows that leave: of which match, seen from which row (−1: an empty one), as which row."""

    match: Int64
    at: Int64
    row: Int64


@njit(cache=True, nogil=True)
def rows_out(one: bool, omit: bool, is_match: NDArray[np.bool_], matches: Matches,
             excluded: NDArray[np.bool_]) -> Outputs:
    """What leaves: the last row of each match for all (`one`), or each row that is not left out."""
    room = len(matches.first)
    if not one:
        for m in range(len(matches.first)):
            room += matches.end[m] - matches.first[m]
    match, at, row = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    count = 0
    for m in range(len(matches.first)):
        first, end = matches.first[m], matches.end[m]
        if one or end == first:
            if not one and omit and is_match[m]:
                continue
            match[count], row[count] = m, first
            at[count] = end - 1 if end > first else -1
            count += 1
            continue
        for r in range(first, end):
            if not excluded[matches.states[matches.path[m] + r - first]]:
                match[count], at[count], row[count] = m, r, r
                count += 1
    return Outputs(match[:count], at[:count], row[:count])


@njit(cache=True, nogil=True)
def navigate(base: int, mask: int, offset: int, shift: int, final: bool, out: Outputs,
             matches: Matches, variable: Int64) -> Int64:
    """The row that each output looks at, −1 if there is none."""
    found = np.full(len(out.match), -1, np.int64)
    mine, count, m = np.empty(16, np.int64), 0, -1
    for i in range(len(out.match)):
        if out.at[i] < 0:
            continue
        row = out.at[i]
        if base != CURRENT:
            if out.match[i] != m:
                m, count = out.match[i], 0
                for r in range(matches.first[m], matches.end[m]):
                    state = matches.states[matches.path[m] + r - matches.first[m]]
                    if mask >> variable[state] & 1:
                        if count == len(mine):
                            mine = np.concatenate((mine, mine))
                        mine[count] = r
                        count += 1
            seen = count if final else np.searchsorted(mine[:count], row, "right")
            k = offset if base == FIRST else seen - 1 - offset
            if k < 0 or k >= seen:
                continue
            row = mine[k]
        row += shift
        if matches.lo[out.match[i]] <= row < matches.hi[out.match[i]]:
            found[i] = row
    return found


@njit(cache=True, nogil=True)
def aggregate(kind: int, mask: int, final: bool, counted: NDArray[np.bool_], ints: Int64,
              reals: NDArray[np.float64], is_real: bool, out: Outputs, matches: Matches,
              variable: Int64,
              ) -> tuple[Int64, Int64, NDArray[np.float64], NDArray[np.bool_], Int64]:
    """For each output: how many values, their sum (whole, real, whether it fits), which is extreme.

    `kind` is 2 for the least value, 3 for the greatest; `counted` says which rows have a value.
    """
    n = len(out.match)
    count, whole = np.zeros(n, np.int64), np.zeros(n, np.int64)
    real, ok, best = np.zeros(n), np.ones(n, np.bool_), np.full(n, -1, np.int64)
    m = -1
    c, w, x, fits, b, r = 0, 0, 0.0, True, -1, 0
    for i in range(n):
        if out.match[i] != m:
            m = out.match[i]
            c, w, x, fits, b, r = 0, 0, 0.0, True, -1, matches.first[m]
        upto = matches.end[m] if final or out.at[i] < 0 else out.at[i] + 1
        while r < upto:
            state = matches.states[matches.path[m] + r - matches.first[m]]
            if mask >> variable[state] & 1 and counted[r]:
                c += 1
                if is_real:
                    x += reals[r]
                    if b < 0 or (reals[r] < reals[b] if kind == 2 else reals[r] > reals[b]):
                        b = r
                else:
                    total = w + ints[r]
                    if ((w ^ total) & (ints[r] ^ total)) < 0:
                        fits = False
                    w = total
                    x += float(ints[r])
                    if b < 0 or (ints[r] < ints[b] if kind == 2 else ints[r] > ints[b]):
                        b = r
            r += 1
        count[i], whole[i], real[i], ok[i], best[i] = c, w, x, fits, b
    return count, whole, real, ok, best


@njit(cache=True, nogil=True)
def closed_ends(lo: Int64, hi: Int64, time: Int64, upto: Int64) -> Int64:
    """For each partition where the rows begin that are not before `upto`."""
    closed = hi.copy()
    for p in range(len(lo)):
        while closed[p] > lo[p] and time[closed[p] - 1] >= upto[p]:
            closed[p] -= 1
    return closed


@njit(cache=True, nogil=True)
def closing_rows(slot: Int64, time: Int64, n: Int64) -> Int64:
    """For each row the least number of the rows of the next later time of its partition."""
    known = np.empty(len(n), np.int64)
    after, here, i = _NOW, _NOW, len(n) - 1
    while i >= 0:
        same = i + 1 < len(n) and slot[i + 1] == slot[i]
        if not same:
            after, here = _NOW, n[i]
        elif time[i + 1] != time[i]:
            after, here = here, n[i]
        else:
            here = min(here, n[i])
        known[i] = after
        i -= 1
    return known


@njit(cache=True, nogil=True)
def behind(slot: Int64, time: Int64, last: Int64) -> Int64:
    """By how much each row comes behind the newest of its partition, which is kept up to date."""
    late = np.zeros(len(time), np.int64)
    for i in range(len(time)):
        newest = last[slot[i]]
        if time[i] < newest:
            late[i] = newest - time[i]
        else:
            last[slot[i]] = time[i]
    return late


@njit(cache=True, nogil=True)
def by_slot(slot: Int64, room: int) -> Int64:
    """Rows by slot, those of one slot as they stood: a sort in two passes, for slots are few."""
    place = np.zeros(room + 1, np.int64)
    for i in range(len(slot)):
        place[slot[i] + 1] += 1
    for k in range(room):
        place[k + 1] += place[k]
    order = np.empty(len(slot), np.int64)
    for i in range(len(slot)):
        order[place[slot[i]]] = i
        place[slot[i]] += 1
    return order
