"""When a window is evaluated: the probes that a batch of ordered rows gives rise to.

A probe is one evaluation for one group: it comes before the row number `at` is taken in, and it
sees what the group has taken in so far with time ≥ `low`.  Aggregates (see `lane`) know nothing of
windows beyond that, so windows per tuple and sliding windows share them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slackwater.core.events import NEVER

__all__ = ["NEVER", "Probes", "by_slide", "by_slide_until", "by_tuple", "by_tuple_of_one",
           "by_tuple_until", "closed_first"]

Int64 = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Probes(NamedTuple):
    """Evaluations in order: before which row, of which group, from what time on, window's end."""

    at: Int64
    group: Int64
    low: Int64
    end: Int64


@njit(cache=True, nogil=True)
def by_tuple(group: Int64, time: Int64, span: int, last: Int64, floor: Int64, open_: Flags,
             late: Flags, probe_of: Int64, first_probe: Int64) -> Probes:
    """One window (t − span, t] for each time t of a group, evaluated when a later row comes.

    Only then are all rows of time t known.  probe_of[r] becomes the probe that row r's result comes
    from, −1 if that is still open; first_probe[g] the one that closes what was open before.
    """
    n, count = len(time), 0
    at, whose = np.empty(n, np.int64), np.empty(n, np.int64)
    low, end = np.empty(n, np.int64), np.empty(n, np.int64)
    before = np.full(n, -1, np.int64)        # the previous row with the same group and time
    newest = np.full(len(last), -1, np.int64)
    for r in range(n):
        g, t = group[r], time[r]
        probe_of[r] = -1
        if t < last[g] or t < floor[g]:
            late[r] = True
            continue
        if open_[g] and t > last[g]:
            at[count], whose[count] = r, g
            low[count], end[count] = last[g] - span + 1, last[g]
            if first_probe[g] < 0:
                first_probe[g] = count
            row = newest[g]
            while row >= 0:
                probe_of[row] = count
                row = before[row]
            newest[g] = -1
            count += 1
        before[r], newest[g] = newest[g], r
        last[g], open_[g] = t, True
    return Probes(at[:count].copy(), whose[:count].copy(), low[:count].copy(), end[:count].copy())


@njit(cache=True, nogil=True)
def by_tuple_of_one(time: Int64, span: int, last: Int64, floor: Int64, open_: Flags, late: Flags,
                    probe_of: Int64, first_probe: Int64) -> Probes:
    """`by_tuple` where all rows are of one group: what is open is simply what came last."""
    n, count = len(time), 0
    at, low, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    newest, lowest, is_open, was_open = last[0], floor[0], open_[0], open_[0]
    for r in range(n):
        t = time[r]
        probe_of[r] = count  # the next probe closes it
        if t < newest or t < lowest:
            late[r] = True
            probe_of[r] = -1
            continue
        if t > newest and is_open:
            at[count], low[count], end[count] = r, newest - span + 1, newest
            count += 1
            probe_of[r] = count
        newest, is_open = t, True
    for r in range(n - 1, -1, -1):
        if probe_of[r] == count:
            probe_of[r] = -1
        elif not late[r]:
            break
    if was_open and count:
        first_probe[0] = 0
    last[0], open_[0] = newest, is_open
    return Probes(at[:count], np.zeros(count, np.int64), low[:count], end[:count])


@njit(cache=True, nogil=True)
def closed_first(probe_of: Int64) -> int:
    """How many rows are closed, if they are the first ones and in the order of their probes.

    −1 if they are not, as with several groups or with late rows.
    """
    n = len(probe_of)
    closed = n
    while closed > 0 and probe_of[closed - 1] < 0:
        closed -= 1
    before = 0
    for r in range(closed):
        if probe_of[r] < before:
            return -1
        before = probe_of[r]
    return closed


def by_tuple_until(theta: Int64, span: int, last: Int64, floor: Int64, open_: Flags,
                   first_probe: Int64) -> Probes:
    """Close what time alone closes: for each group everything before its `theta`."""
    whose = np.flatnonzero(open_ & (last < theta))
    whose = whose[np.argsort(last[whose], kind="stable")]
    first_probe[whose] = np.arange(len(whose))
    open_[whose] = False
    floor[whose] = last[whose] + 1
    return Probes(np.zeros_like(whose), whose, last[whose] - span + 1, last[whose])


@njit(cache=True)
def _first_end(t: int, span: int, slide: int) -> int:
    return ((t - span) // slide + 1) * slide + span


@njit(cache=True)
def _more(array: Int64) -> Int64:
    grown = np.empty(max(64, 2 * len(array)), np.int64)
    grown[:len(array)] = array
    return grown


@njit(cache=True, nogil=True)
def by_slide(group: Int64, time: Int64, span: int, slide: int, last: Int64, floor: Int64,
             next_end: Int64, late: Flags) -> Probes:
    """Windows [start, start + span) with start a multiple of `slide` from the epoch.

    A group's window is evaluated when a row at or after its end comes; empty ones are left out.
    """
    count = 0
    at, whose = np.empty(64, np.int64), np.empty(64, np.int64)
    low, end = np.empty(64, np.int64), np.empty(64, np.int64)
    for r in range(len(time)):
        g, t = group[r], time[r]
        if t < last[g] or t < floor[g]:
            late[r] = True
            continue
        if next_end[g] == NEVER:
            next_end[g] = _first_end(t, span, slide)
        while next_end[g] <= t:
            if last[g] < next_end[g] - span:  # nothing left in it, nor in those up to t
                next_end[g] = _first_end(t, span, slide)
                break
            if count == len(at):
                at, whose, low, end = _more(at), _more(whose), _more(low), _more(end)
            at[count], whose[count] = r, g
            low[count], end[count] = next_end[g] - span, next_end[g]
            count += 1
            next_end[g] += slide
        last[g] = t
    return Probes(at[:count].copy(), whose[:count].copy(), low[:count].copy(), end[:count].copy())


@njit(cache=True, nogil=True)
def by_slide_until(theta: Int64, span: int, slide: int, last: Int64, floor: Int64,
                   next_end: Int64) -> Probes:
    """Close, for each group, the windows that end at or before its `theta`."""
    count = 0
    whose, low, end = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    for g in range(len(last)):
        while next_end[g] != NEVER and last[g] >= next_end[g] - span and next_end[g] <= theta[g]:
            if count == len(whose):
                whose, low, end = _more(whose), _more(low), _more(end)
            whose[count] = g
            low[count], end[count] = next_end[g] - span, next_end[g]
            count += 1
            floor[g] = next_end[g]
            next_end[g] += slide
    return Probes(np.zeros(count, np.int64), whose[:count].copy(), low[:count].copy(),
                  end[:count].copy())
