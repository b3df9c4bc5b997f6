"""The book of sources, compiled: who is waited for, how far each has come, whose failure it was.

All methods share it.  A *member* is a source within a key; arrays run over members or over keys.
The least frontier of a key's live members is kept by a skew heap whose entries may lag behind: a
frontier only grows, so an entry is put right when it comes to the top, and an arrival that is not
at the top costs nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.events import FOREVER, NEVER
from slackwater.core.release import inline

__all__ = ["DISABLED", "FOREVER", "GUEST", "KEY", "LIVE", "MEMBER", "NEVER", "NEW", "STATES",
           "Book", "arrive", "enlist_all", "fail", "health", "links", "punctuate_all", "rebuild",
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

_LINK = _record(
    stale=NEVER,      # its frontier as the heap knows it, never greater than it is
    left=-1, right=-1, queued=0)
"""A member's place in the heap."""

KEY = _record(
    mark=NEVER,       # greatest time that was allowed to leave: the watermark
    clock=NEVER,      # greatest arrival
    top=NEVER,        # greatest time taken in
    joined=0,         # members that ever joined
    waited=0,         # live ones
    root=-1,          # of the heap; −1: it is empty
    gone=NEVER,       # greatest time that has left
    held=0,           # rows
    since=FOREVER,    # none of them arrived earlier
    born=0,           # number of its first row
)
"""A key without rows."""


def links(members: int) -> NDArray:
    """Places for so many members, none of them in a heap."""
    return np.full(members, _LINK)


def health(rows: NDArray, keys: list[str], names: list[str]) -> list[dict[str, Any]]:
    """Members, with the names of their keys and sources, for people to read."""
    return [{"key": key, "source": name, "state": STATES[state], "failures": failures,
             "last": None if last == NEVER else last}
            for key, name, state, failures, last in zip(
                keys, names, rows["state"].tolist(), rows["failures"].tolist(),
                rows["latest"].tolist(), strict=True)]


class Book(NamedTuple):
    """One table over members, one over their places in the heap, one over keys."""

    member: NDArray
    link: NDArray
    key: NDArray


@njit(cache=True)
def _meld(link: NDArray, a: int, b: int) -> int:
    if a < 0:
        return b
    if b < 0:
        return a
    if link[b].stale < link[a].stale:
        a, b = b, a
    root = a
    while True:
        r = link[a].right
        link[a].right = link[a].left
        if r < 0:
            link[a].left = b
            return root
        if link[b].stale < link[r].stale:
            r, b = b, r
        link[a].left = r
        a = r


@njit(cache=True)
def _queue(book: Book, k: int, p: int) -> None:
    book.link[p].stale, book.link[p].queued = book.member[p].frontier, 1
    book.link[p].left = book.link[p].right = -1
    book.key[k].root = _meld(book.link, book.key[k].root, p)


@njit(cache=True)
def _put_right(book: Book, k: int) -> None:
    """Have at the top of the key's heap a live member with the frontier that it has by now."""
    key, member, link = book.key[k], book.member, book.link
    while key.root >= 0:
        p = key.root
        live = member[p].state == LIVE
        if live and link[p].stale == member[p].frontier:
            return
        key.root = _meld(link, link[p].left, link[p].right)
        link[p].queued = 0
        if live:
            _queue(book, k, p)


@inline
def threshold(book: Book, k: int) -> int:
    """The least frontier of the key's live members; with none, the greatest time taken in."""
    p = book.key[k].root
    if p >= 0 and (book.member[p].state != LIVE or book.link[p].stale != book.member[p].frontier):
        _put_right(book, k)
        p = book.key[k].root
    return book.link[p].stale if p >= 0 else book.key[k].top


@njit(cache=True)
def _enlist(book: Book, k: int, p: int) -> None:
    """From now on wait for p: not with what is already there, only with what comes."""
    if book.member[p].state == LIVE:
        return
    book.member[p].state = LIVE
    book.member[p].failures = 0
    book.key[k].waited += 1
    book.member[p].bit = book.key[k].joined
    book.key[k].joined += 1
    book.member[p].frontier = max(book.member[p].frontier, book.key[k].top)
    if not book.link[p].queued:
        _queue(book, k, p)


@njit(cache=True)
def _strike(book: Book, k: int, p: int) -> None:
    """No longer wait for p: it is a guest."""
    if book.member[p].state == LIVE:
        book.key[k].waited -= 1
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
                _wait_again(book, k, p)
        if who.state == LIVE:
            who.frontier = max(who.frontier, time)
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
    if book.member[p].state == DISABLED and time > book.key[k].mark:
        _wait_again(book, k, p)
    if book.member[p].state == LIVE:
        book.member[p].frontier = max(book.member[p].frontier, time)
        book.key[k].mark = max(book.key[k].mark, threshold(book, k))


@njit(cache=True)
def _wait_again(book: Book, k: int, p: int) -> None:
    book.member[p].state = LIVE
    book.member[p].failures = 0
    book.key[k].waited += 1
    if not book.link[p].queued:
        _queue(book, k, p)


@njit(cache=True)
def _blame(book: Book, k: int, p: int, count: int, most: int) -> bool:
    book.member[p].failures = min(book.member[p].failures + count, most)
    if book.member[p].failures < most:
        return False
    book.member[p].state = DISABLED
    book.key[k].waited -= 1
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
        last = times.max()
        stack = [book.key[k].root]
        while len(stack) > 0:
            p = stack.pop()
            if p < 0 or book.link[p].stale >= last:
                continue
            stack.append(book.link[p].left)
            stack.append(book.link[p].right)
            if book.member[p].state == LIVE and book.member[p].frontier < last:
                count = 0
                for t in times:
                    if t > book.member[p].frontier:
                        count += 1
                        if book.member[p].failures + count >= most:
                            break
                if _blame(book, k, p, count, most):
                    gone.append(p)
    return np.array(gone, np.int64)


@njit(cache=True)
def rebuild(book: Book, members: Int64) -> None:
    """Make the heaps again after a restore."""
    for k in range(len(book.key)):
        book.key[k].root = -1
    for p in members:
        if book.member[p].state == LIVE:
            _queue(book, book.member[p].key, p)


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
