"""The compiled pass of `FrontierSync` over arrivals.

A key's watermark after each arrival follows from the book of sources alone; held events are needed
only where one may have timed out.  So this comes first, and rows then leave as the watermark
reaches them (`core.release.release_behind`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.release import inline
from slackwater.synchronise.book import NEVER, Book, arrive, fail, threshold

__all__ = ["Queue", "admit", "expire_all", "queue_of"]

Int64 = NDArray[np.int64]
Queue = tuple[Int64, Int64]
"""Rows that may time out, first in first out: (head, tail) of each key; and of each row
(next of its key, time, clock, member)."""
_NEXT, _TIME, _CLOCK, _MEMBER = range(4)


@njit(cache=True)
def queue_of(keys: int, key: Int64, time: Int64, clock: Int64, member: Int64, more: int) -> Queue:
    """Held rows, in arrival order, as a queue with room for `more`."""
    ends, rows = np.full((keys, 2), -1), np.empty((len(time) + more, 4), np.int64)
    for i in range(len(time)):
        _append(ends, rows, key[i], i, time[i], clock[i], member[i])
    return ends, rows


@inline
def _append(ends: Int64, rows: Int64, k: int, i: int, time: int, clock: int, member: int) -> None:
    rows[i, _NEXT], rows[i, _TIME], rows[i, _CLOCK], rows[i, _MEMBER] = -1, time, clock, member
    if ends[k, 1] < 0:
        ends[k, 0] = i
    else:
        rows[ends[k, 1], _NEXT] = i
    ends[k, 1] = i


@njit(cache=True, _nrt=True)  # it makes arrays, unlike its caller
def _expire(book: Book, k: int, q: int, now: int, queue: Queue, max_delay: int, most: int,
            producer: bool) -> int:
    """Let go what has waited too long; the greatest time that did, or NEVER."""
    ends, rows = queue
    late = [np.int64(0) for _ in range(0)]
    by = [np.int64(0) for _ in range(0)]
    mark = book.key[k].mark
    while ends[q, 0] >= 0:
        i = ends[q, 0]
        if rows[i, _TIME] > mark:  # still held
            if now - rows[i, _CLOCK] <= max_delay:
                break
            late.append(rows[i, _TIME])
            by.append(rows[i, _MEMBER])
        ends[q, 0] = rows[i, _NEXT]
        if ends[q, 0] < 0:
            ends[q, 1] = -1
    if len(late) == 0:
        return int(NEVER)
    out = np.array(late, np.int64)
    fail(book, k, out, np.array(by, np.int64), most, producer)
    forced = out.max()
    book.key[k].mark = forced
    return int(forced)


@inline
def _due(mark: int, ends: Int64, rows: Int64, q: int, now: int, max_delay: int) -> bool:
    """Whether the oldest of the queue is worth a look; what has left is taken off on the way."""
    i = ends[q, 0]
    while i >= 0 and rows[i, _TIME] <= mark:
        i = rows[i, _NEXT]
    ends[q, 0] = i
    if i < 0:
        ends[q, 1] = -1
    return i >= 0 and now - rows[i, _CLOCK] > max_delay


@njit(cache=True, _nrt=False)  # a book has many arrays: their references are not worth counting
def admit(book: Book, slots: Int64, key: Int64, member: Int64, time: Int64, arrival: Int64,
          queue: Queue, max_delay: int, most: int, producer: bool, forget_after: int,
          late_by: Int64, clock: Int64, mark: Int64, forced: Int64) -> None:
    """Enter arrivals one by one; their keys are numbered as in `slots`, and so is the queue.

    For arrival j: first time passes, and events up to `forced` time out (`max_delay` < 0: none
    does); then `late_by`, the `clock`, and the `mark` (its key's watermark) after it.
    """
    ends, rows = queue
    held = len(rows) - len(time)
    for j in range(len(time)):
        q, t = key[j], time[j]
        k = slots[q]
        now = max(book.key[k].clock, arrival[j])
        if max_delay >= 0 and _due(book.key[k].mark, ends, rows, q, now, max_delay):
            forced[j] = _expire(book, k, q, now, queue, max_delay, most, producer)
            book.key[k].mark = max(book.key[k].mark, threshold(book, k))
        late_by[j] = arrive(book, k, member[j], t, arrival[j], forget_after)
        clock[j] = now
        mark[j] = book.key[k].mark = max(book.key[k].mark, threshold(book, k))
        if max_delay >= 0 and t > mark[j]:
            _append(ends, rows, q, held + j, t, now, member[j])


@njit(cache=True)
def expire_all(book: Book, now: Int64, queue: Queue, max_delay: int, most: int, producer: bool,
               forced: Int64) -> None:
    """For every key it is its `now` (NEVER: not this one): thresholds, then time-outs."""
    ends, rows = queue
    for k in range(len(book.key)):
        if now[k] == NEVER:
            continue
        book.key[k].mark = max(book.key[k].mark, threshold(book, k))
        if max_delay >= 0 and _due(book.key[k].mark, ends, rows, k, now[k], max_delay):
            forced[k] = _expire(book, k, k, now[k], queue, max_delay, most, producer)
            book.key[k].mark = max(book.key[k].mark, threshold(book, k))
