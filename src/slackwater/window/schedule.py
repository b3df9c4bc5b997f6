"""When a window is evaluated: the probes that a batch of ordered rows gives rise to.

A probe is one evaluation for one group: it comes before the row number `at` is taken in, and it
sees what the group has taken in so far with time ≥ `low`.  Aggregates know nothing of windows
beyond that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.events import FOREVER, NEVER
from slackwater.window.compiled import uncounted

__all__ = ["NEVER", "NOTHING", "Groups", "Probes", "Rows", "by_session",
           "by_session_until", "by_slide", "by_slide_until", "by_tuple", "by_tuple_of_one",
           "by_tuple_until", "closed_first"]

Int64 = NDArray[np.int64]
Flags = NDArray[np.bool_]

NOTHING = FOREVER
"""As the time when something happens: nothing will."""


class Probes(NamedTuple):
    """Evaluations in order: before which row, of which group, from what time on, window's end."""

    at: Int64
    group: Int64
    low: Int64
    end: Int64


class Groups(NamedTuple):
    """For each group: the time of its newest row, and what the schedule goes by.

    Rows before `last` or `floor` are late.  `edge` is the end of the next window of a slide, or
    where the open session begins, NEVER for none.  `due` is how far time must pass, without a row,
    for something to happen to the group.  `open`: rows wait for their result; `kept`: values may be
    kept.
    """

    last: Int64
    floor: Int64
    edge: Int64
    due: Int64
    open: Flags
    kept: Flags


class Rows(NamedTuple):
    """Rows in time order for each group; `late` is filled in."""

    group: Int64
    time: Int64
    late: Flags


@njit(cache=True, nogil=True)
def by_tuple(rows: Rows, span: int, groups: Groups, probe_of: Int64, newest: Int64,
             closes: Int64) -> tuple[Probes, Int64, Int64]:
    """One window (t − span, t] for each time t of a group, evaluated when a later row comes.

    Only then are all rows of time t known.  probe_of[r] becomes the probe that row r's result comes
    from, −1 if that is still open.  Also returns the groups that had rows open before, and the
    probes that close those.  `newest` and `closes` are room for a number per group, −1 before and
    after: so the cost does not follow the number of groups.
    """
    group, time, late = rows.group, rows.time, rows.late
    last, floor, due, is_open, kept = (groups.last, groups.floor, groups.due, groups.open,
                                       groups.kept)
    n, count, over = len(time), 0, 0
    at, whose = np.empty(n, np.int64), np.empty(n, np.int64)
    low, end = np.empty(n, np.int64), np.empty(n, np.int64)
    closed, closed_by = np.empty(n, np.int64), np.empty(n, np.int64)
    before = np.empty(n, np.int64)           # the previous row with the same group and time
    for r in range(n):
        g, t = group[r], time[r]
        probe_of[r] = -1
        if t < last[g] or t < floor[g]:
            late[r] = True
            continue
        if is_open[g] and t > last[g]:
            at[count], whose[count] = r, g
            low[count], end[count] = last[g] - span + 1, last[g]
            if closes[g] < 0:
                closes[g] = count
                closed[over], closed_by[over] = g, count
                over += 1
            row = newest[g]
            while row >= 0:
                probe_of[row] = count
                row = before[row]
            newest[g] = -1
            count += 1
        elif not is_open[g]:
            closes[g] = n  # none of its rows was open before
        before[r], newest[g] = newest[g], r
        last[g], is_open[g] = t, True
        due[g], kept[g] = t + 1, True
    for r in range(n):
        newest[group[r]] = closes[group[r]] = -1
    return (Probes(at[:count].copy(), whose[:count].copy(), low[:count].copy(), end[:count].copy()),
            closed[:over].copy(), closed_by[:over].copy())


@njit(cache=True, nogil=True)
def by_tuple_of_one(rows: Rows, span: int, groups: Groups, probe_of: Int64) -> tuple[Probes, bool]:
    """`by_tuple` where all rows are of one group: what is open is simply what came last.

    Also returns whether probe 0 closes rows that were open before.
    """
    time, late = rows.time, rows.late
    n, count = len(time), 0
    at, low, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    newest, lowest, is_open, was_open = (groups.last[0], groups.floor[0], groups.open[0],
                                         groups.open[0])
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
    if is_open:
        groups.last[0], groups.open[0], groups.due[0] = newest, True, newest + 1
        groups.kept[0] = True
    return (Probes(at[:count], np.zeros(count, np.int64), low[:count], end[:count]),
            was_open and count > 0)


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


def by_tuple_until(whose: Int64, theta: Int64, span: int, groups: Groups) -> Probes:
    """Close the rows that wait in these groups, if time has passed them; `theta` is by group."""
    last = groups.last
    whose = whose[groups.open[whose] & (last[whose] < theta[whose])]
    whose = whose[np.argsort(last[whose], kind="stable")]
    groups.open[whose] = False
    groups.floor[whose] = last[whose] + 1
    groups.due[whose] = last[whose] + span + 1
    return Probes(np.zeros_like(whose), whose, last[whose] - span + 1, last[whose])


@uncounted
def _first_end(t: int, span: int, slide: int) -> int:
    return ((t - span) // slide + 1) * slide + span


def by_slide(rows: Rows, span: int, slide: int, groups: Groups) -> Probes:
    """Windows [start, start + span) with start a multiple of `slide` from the epoch.

    A group's window is evaluated when a row at or after its end comes; empty ones are left out.
    """
    probes, row, count = _room(max(64, len(rows.time))), 0, 0
    while True:
        row, count = _by_slide(row, count, rows, span, slide, groups, probes)
        if row == len(rows.time):
            return Probes(*(a[:count] for a in probes))
        probes = _room(2 * count, probes)


def by_slide_until(whose: Int64, theta: Int64, span: int, slide: int, groups: Groups) -> Probes:
    """Close, for these groups, the windows that end at or before their `theta` (by group)."""
    probes, at, count = _room(max(64, len(whose))), 0, 0
    while True:
        at, count = _by_slide_until(at, count, whose, theta, span, slide, groups, probes)
        if at == len(whose):
            return Probes(*(a[:count] for a in probes))
        probes = _room(2 * count, probes)


def _room(size: int, before: Probes | None = None) -> Probes:
    """Room for so many probes, of which the first are those from before."""
    room = Probes(*(np.zeros(size, np.int64) for _ in Probes._fields))
    for old, new in zip(before or (), room, strict=False):
        new[:len(old)] = old
    return room


@uncounted
def _by_slide(row: int, count: int, rows: Rows, span: int, slide: int, groups: Groups,
              probes: Probes) -> tuple[int, int]:
    """Go on from a row with so many probes; returns where it ends: at the end, or without room."""
    group, time, late = rows.group, rows.time, rows.late
    last, floor, edge = groups.last, groups.floor, groups.edge
    while row < len(time):
        g, t = group[row], time[row]
        if t < last[g] or t < floor[g]:
            late[row] = True
            row += 1
            continue
        if edge[g] == NEVER:
            edge[g] = _first_end(t, span, slide)
        while edge[g] <= t:
            if last[g] < edge[g] - span:  # nothing left in it, nor in those up to t
                edge[g] = _first_end(t, span, slide)
                break
            if count == len(probes.at):
                return row, count
            probes.at[count], probes.group[count] = row, g
            probes.low[count], probes.end[count] = edge[g] - span, edge[g]
            count += 1
            edge[g] += slide
        last[g], groups.due[g], groups.kept[g] = t, edge[g], True
        row += 1
    return row, count


@uncounted
def _by_slide_until(at: int, count: int, whose: Int64, theta: Int64, span: int, slide: int,
                    groups: Groups, probes: Probes) -> tuple[int, int]:
    last, edge = groups.last, groups.edge
    while at < len(whose):
        g = whose[at]
        while last[g] >= edge[g] - span and edge[g] <= theta[g]:
            if count == len(probes.at):
                return at, count
            probes.at[count], probes.group[count] = 0, g
            probes.low[count], probes.end[count] = edge[g] - span, edge[g]
            count += 1
            groups.floor[g] = edge[g]
            edge[g] += slide
        groups.due[g] = edge[g] if last[g] >= edge[g] - span else last[g] + span + 1
        at += 1
    return at, count


@njit(cache=True, nogil=True)
def by_session(rows: Rows, gap: int, groups: Groups, begin: Int64) -> Probes:
    """Sessions: rows that are at most `gap` apart, evaluated when a row after its end comes.

    A session ends `gap` after its last row.  begin[r] becomes the time that row r's session begins.
    """
    group, time, late = rows.group, rows.time, rows.late
    last, floor, edge = groups.last, groups.floor, groups.edge
    n, count = len(time), 0
    at, whose = np.empty(n, np.int64), np.empty(n, np.int64)
    low, end = np.empty(n, np.int64), np.empty(n, np.int64)
    for r in range(n):
        g, t = group[r], time[r]
        if t < last[g] or t < floor[g]:
            late[r] = True
            continue
        if edge[g] != NEVER and t - last[g] > gap:
            at[count], whose[count], low[count], end[count] = r, g, edge[g], last[g] + gap
            count += 1
            edge[g] = NEVER
        if edge[g] == NEVER:
            edge[g] = t
        begin[r] = edge[g]
        last[g], groups.due[g], groups.kept[g] = t, t + gap + 1, True
    return Probes(at[:count].copy(), whose[:count].copy(), low[:count].copy(), end[:count].copy())


def by_session_until(whose: Int64, theta: Int64, gap: int, groups: Groups) -> Probes:
    """Close the open sessions of these groups that end before their `theta` (by group)."""
    whose = whose[(groups.edge[whose] != NEVER) & (groups.last[whose] + gap < theta[whose])]
    whose = whose[np.argsort(groups.last[whose], kind="stable")]
    begin, end = groups.edge[whose], groups.last[whose] + gap
    groups.edge[whose], groups.floor[whose], groups.due[whose] = NEVER, end + 1, end + 1
    return Probes(np.zeros_like(whose), whose, begin, end)
