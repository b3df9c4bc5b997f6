"""The book of sources, compiled: who is waited for, how far each has come, whose failure it was.

All methods share it.  A *member* is a source within a key; arrays run over members or over keys.
The least frontier of a key's live members is kept in `frontiers`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.events import FOREVER, NEVER
from slackwater.core.release import inline
from slackwater.synchronise.frontiers import Seats, least_of, move, waits_behind

__all__ = ["DISABLED", "FOREVER", "GUEST", "KEY", "LIVE", "MEMBER", "NEVER", "NEW", "STATES",
           "Book", "arrive", "enlist_all", "fail", "health", "punctuate_all", "rebuild",
           "strike_all", "threshold"]

Int64 = NDArray[np.int64]

NEW, LIVE, DISABLED, GUEST = 0, 1, 2, 3
STATES = ("new", "live", "disabled", "guest")
"""New: has sent nothing but late rows. Guest: its rows are sorted in, but nobody waits for it."""


def _record(**fields: int) -> NDArray:
    """One record whose fields start with these values."""
    made = np.zeros((), [(name, np.int64) for name in fields])
    for name, value in fields.items():
        made[name] = value
    return made


MEMBER = _record(
    key=0,            # the slot of its key
    state=NEW,
    frontier=NEVER,   # greatest time it has shown
    failures=0,
    latest=NEVER,     # greatest time of any row, late ones too
    heard=NEVER,      # the arrival clock at its last row
    bit=-1,           # its place in readiness tables, by order of joining; −1: none
)
"""A member that has sent nothing."""

KEY = _record(
    mark=NEVER,       # greatest time that was allowed to leave: the watermark
    clock=NEVER,      # greatest arrival
    top=NEVER,        # greatest time taken in
    joined=0,         # members that ever joined
    waited=0,         # live ones
    gone=NEVER,       # greatest time that has left
    held=0,           # rows
    since=FOREVER,    # none of them arrived earlier
    born=FOREVER,     # number of its first row; nobody's is gone
)
"""A key without rows."""


def health(rows: NDArray, keys: list[str], names: list[str]) -> list[dict[str, Any]]:
    """Members, with the names of their keys and sources, for people to read."""
    return [{"key": key, "source": name, "state": STATES[state], "failures": failures,
             "last": None if last == NEVER else last}
            for key, name, state, failures, last in zip(
                keys, names, rows["state"].tolist(), rows["failures"].tolist(),
                rows["latest"].tolist(), strict=True)]


class Book(NamedTuple):
    """One table over members, one over keys, and the frontiers of those that are waited for."""

    member: NDArray
    key: NDArray
    seats: Seats


@inline
def threshold(book: Book, k: int) -> int:
    """The least frontier of the key's live members; with none, the greatest time taken in."""
    key = book.key[k]
    return least_of(book.seats, k) if key.waited > 0 else key.top


@inline
def _wait_for(book: Book, k: int, p: int) -> None:
    who = book.member[p]
    who.state, who.failures = LIVE, 0
    book.key[k].waited += 1
    move(book.seats, k, p, who.frontier)


@inline
def _wait_no_more(book: Book, k: int, p: int, state: int) -> None:
    book.member[p].state = state
    book.key[k].waited -= 1
    move(book.seats, k, p, FOREVER)


@njit(cache=True)
def _enlist(book: Book, k: int, p: int) -> None:
    """From now on wait for p: not with what is already there, only with what comes."""
    key, who = book.key[k], book.member[p]
    if who.state == LIVE:
        return
    who.bit = key.joined
    key.joined += 1
    who.frontier = max(who.frontier, key.top)
    _wait_for(book, k, p)


@njit(cache=True)
def _strike(book: Book, k: int, p: int) -> None:
    """No longer wait for p: it is a guest."""
    if book.member[p].state == LIVE:
        _wait_no_more(book, k, p, GUEST)
    book.member[p].state = GUEST


@inline
def arrive(book: Book, k: int, p: int, time: int, arrival: int, forget_after: int) -> int:
    """Enter an arrival; the result is how far behind the watermark it came, 0 if it is not late.

    A disabled source that has been silent for longer than `forget_after` is new again.
    """
    key, who, behind = book.key[k], book.member[p], 0
    key.clock = max(key.clock, arrival)
    if who.state == DISABLED and key.clock - who.heard > forget_after:
        who.state = NEW
    who.heard = key.clock
    who.latest = max(who.latest, time)
    if time < key.mark:
        behind = key.mark - time
    else:
        if time > key.mark:
            if who.state == NEW:
                _enlist(book, k, p)
            elif who.state == DISABLED:
                _wait_for(book, k, p)
        if who.state == LIVE and time > who.frontier:
            who.frontier = time
            move(book.seats, k, p, time)
        key.top = max(key.top, time)
    return behind


@njit(cache=True)
def _punctuate(book: Book, k: int, p: int, time: int) -> None:
    """Source p (−1: whoever there is) shows nothing before `time` any more.

    A disabled one that says so of a time after the watermark is waited for again.
    """
    if p < 0:
        book.key[k].mark = max(book.key[k].mark, time)
        return
    who = book.member[p]
    if who.state == DISABLED and time > book.key[k].mark:
        _wait_for(book, k, p)
    if who.state == LIVE:
        who.frontier = max(who.frontier, time)
        move(book.seats, k, p, who.frontier)
        book.key[k].mark = max(book.key[k].mark, threshold(book, k))


@njit(cache=True)
def _blame(book: Book, k: int, p: int, count: int, most: int) -> bool:
    who = book.member[p]
    who.failures = min(who.failures + count, most)
    if who.failures < most:
        return False
    _wait_no_more(book, k, p, DISABLED)
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
            if book.member[p].state == LIVE and _blame(book, k, p, 1, most):
                gone.append(p)
    else:
        for p in waits_behind(book.seats, k, times.max()):
            who = book.member[p]
            count = 0
            for t in times:
                if t > who.frontier:
                    count += 1
                    if who.failures + count >= most:
                        break
            if _blame(book, k, p, count, most):
                gone.append(p)
    return np.array(gone, np.int64)


@njit(cache=True)
def rebuild(book: Book, members: Int64) -> None:
    """Have the frontiers of those that are waited for, after a restore."""
    for p in members:
        who = book.member[p]
        if who.state == LIVE:
            move(book.seats, who.key, p, who.frontier)


@njit(cache=True)
def enlist_all(book: Book, key: Int64, member: Int64) -> None:
    """Each member joins its key."""
    for i in range(len(member)):
        _enlist(book, key[i], member[i])


@njit(cache=True)
def strike_all(book: Book, key: Int64, member: Int64) -> None:
    """Each member leaves its key."""
    for i in range(len(member)):
        _strike(book, key[i], member[i])


@njit(cache=True)
def punctuate_all(book: Book, key: Int64, member: Int64, time: Int64) -> None:
    """Each member of its key has promised a time."""
    for i in range(len(member)):
        _punctuate(book, key[i], member[i], time[i])
