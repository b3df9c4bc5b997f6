"""The book of sources, compiled: who is waited for, how far each has come, whose failure it was.

All methods share it.  A *member* is a source within a key; arrays run over members or over keys.
The least frontier of a key's live members is kept by a skew heap whose entries may lag behind: a
frontier only grows, so an entry is put right when it comes to the top, and an arrival that is not
at the top costs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slackwater.core.events import NEVER

__all__ = ["BIT", "CLOCK", "DISABLED", "FAILURES", "FRONTIER", "GONE", "GUEST", "HELD", "JOINED",
           "KEY", "LATEST", "LIVE", "MARK", "NEVER", "NEW", "ROOT", "SEEN", "SINCE", "SOURCE",
           "STATE", "STATES", "TOP", "Book", "arrive", "enlist", "fail", "rebuild", "strike",
           "threshold"]

Int64 = NDArray[np.int64]

NEW, LIVE, DISABLED, GUEST = 0, 1, 2, 3
STATES = ("new", "live", "disabled", "guest")
"""New: has sent nothing but late rows. Guest: its rows are sorted in, but nobody waits for it."""


KEY, SOURCE, STATE, FRONTIER, FAILURES, LATEST, BIT = range(7)
"""Columns over members.  Frontier: greatest time it has shown; latest: of any row, late ones too;
bit: its place in readiness tables, by order of joining, −1: none."""

STALE, LEFT, RIGHT, QUEUED = range(4)
"""A member in the heap.  Stale: its frontier as the heap knows it, never greater than it is."""

MARK, CLOCK, TOP, JOINED, WAITED, ROOT, GONE, HELD, SINCE, SEEN = range(10)
"""Columns over keys.  Mark: greatest time that was allowed to leave; clock: greatest arrival; top:
greatest time taken in; joined: members that ever joined; waited: live ones; root of the heap, −1:
empty; gone: greatest time that has left; held: rows; since: none of them arrived earlier; seen:
the real time that had elapsed at the last arrival."""


class Book(NamedTuple):
    """One table over members, one over their places in the heap, one over keys."""

    member: Int64
    link: Int64
    key: Int64


@njit(cache=True)
def _meld(book: Book, a: int, b: int) -> int:
    if a < 0:
        return b
    if b < 0:
        return a
    link = book.link
    if link[b, STALE] < link[a, STALE]:
        a, b = b, a
    root = a
    while True:
        r = link[a, RIGHT]
        link[a, RIGHT] = link[a, LEFT]
        if r < 0:
            link[a, LEFT] = b
            return root
        if link[b, STALE] < link[r, STALE]:
            r, b = b, r
        link[a, LEFT] = r
        a = r


@njit(cache=True)
def _queue(book: Book, k: int, p: int) -> None:
    book.link[p, STALE], book.link[p, QUEUED] = book.member[p, FRONTIER], 1
    book.link[p, LEFT] = book.link[p, RIGHT] = -1
    book.key[k, ROOT] = _meld(book, book.key[k, ROOT], p)


@njit(cache=True)
def threshold(book: Book, k: int) -> int:
    """The least frontier of the key's live members; with none, the greatest time taken in."""
    while book.key[k, ROOT] >= 0:
        p = book.key[k, ROOT]
        live = book.member[p, STATE] == LIVE
        if live and book.link[p, STALE] == book.member[p, FRONTIER]:
            return int(book.link[p, STALE])
        book.key[k, ROOT] = _meld(book, book.link[p, LEFT], book.link[p, RIGHT])
        book.link[p, QUEUED] = 0
        if live:
            _queue(book, k, p)
    return int(book.key[k, TOP])


@njit(cache=True)
def enlist(book: Book, k: int, p: int) -> None:
    """From now on wait for p: not with what is already there, only with what comes."""
    if book.member[p, STATE] == LIVE:
        return
    book.member[p, STATE] = LIVE
    book.member[p, FAILURES] = 0
    book.key[k, WAITED] += 1
    book.member[p, BIT] = book.key[k, JOINED]
    book.key[k, JOINED] += 1
    book.member[p, FRONTIER] = max(book.member[p, FRONTIER], book.key[k, TOP])
    if not book.link[p, QUEUED]:
        _queue(book, k, p)


@njit(cache=True)
def strike(book: Book, k: int, p: int) -> None:
    """No longer wait for p: it is a guest."""
    if book.member[p, STATE] == LIVE:
        book.key[k, WAITED] -= 1
    book.member[p, STATE] = GUEST


@njit(cache=True)
def arrive(book: Book, k: int, p: int, time: int, arrival: int) -> int:
    """Enter an arrival; the result is how far behind the watermark it came, 0 if it is not late."""
    book.key[k, CLOCK] = max(book.key[k, CLOCK], arrival)
    book.member[p, LATEST] = max(book.member[p, LATEST], time)
    if time < book.key[k, MARK]:
        return int(book.key[k, MARK] - time)
    if time > book.key[k, MARK]:
        if book.member[p, STATE] == NEW:
            enlist(book, k, p)
        elif book.member[p, STATE] == DISABLED:
            book.member[p, STATE] = LIVE
            book.member[p, FAILURES] = 0
            book.key[k, WAITED] += 1
            if not book.link[p, QUEUED]:
                _queue(book, k, p)
    if book.member[p, STATE] == LIVE:
        book.member[p, FRONTIER] = max(book.member[p, FRONTIER], time)
    book.key[k, TOP] = max(book.key[k, TOP], time)
    return 0


@njit(cache=True)
def _blame(book: Book, k: int, p: int, count: int, most: int) -> bool:
    book.member[p, FAILURES] = min(book.member[p, FAILURES] + count, most)
    if book.member[p, FAILURES] < most:
        return False
    book.member[p, STATE] = DISABLED
    book.key[k, WAITED] -= 1
    return True


@njit(cache=True)
def fail(book: Book, k: int, times: Int64, members: Int64, most: int,
         producer: bool) -> Int64:
    """Count the failures behind events that timed out in one step; returns who was disabled.

    `times` and `members` (producers) of those events may stand in any order: all are judged by who
    was live before the step.
    """
    gone = [np.int64(0) for _ in range(0)]
    if producer:
        for p in members:
            if book.member[p, STATE] == LIVE and _blame(book, k, p, 1, most):
                gone.append(p)
    else:
        last = times.max()
        stack = [book.key[k, ROOT]]
        while len(stack) > 0:
            p = stack.pop()
            if p < 0 or book.link[p, STALE] >= last:
                continue
            stack.append(book.link[p, LEFT])
            stack.append(book.link[p, RIGHT])
            if book.member[p, STATE] == LIVE and book.member[p, FRONTIER] < last:
                count = 0
                for t in times:
                    if t > book.member[p, FRONTIER]:
                        count += 1
                        if book.member[p, FAILURES] + count >= most:
                            break
                if _blame(book, k, p, count, most):
                    gone.append(p)
    return np.array(gone, np.int64)


@njit(cache=True)
def rebuild(book: Book) -> None:
    """Make the heaps again after a restore."""
    book.key[:, ROOT] = -1
    for p in range(len(book.member)):
        if book.member[p, STATE] == LIVE:
            _queue(book, book.member[p, KEY], p)
