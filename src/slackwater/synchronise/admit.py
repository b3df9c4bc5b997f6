"""The compiled passes of `FrontierSync`: thresholds first, then rows.

A key's watermark after each arrival follows from the book of sources alone; held events are needed
only where one may have timed out.  So the first pass runs over the arrivals, and the second finds
for each row the first step at which the watermark had reached it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slackwater.synchronise.book import CLOCK, MARK, NEVER, Book, arrive, fail, threshold

__all__ = ["Queue", "admit", "expire_all", "place", "queue_of"]

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


@njit(cache=True)
def _append(ends: Int64, rows: Int64, k: int, i: int, time: int, clock: int, member: int) -> None:
    rows[i, _NEXT], rows[i, _TIME], rows[i, _CLOCK], rows[i, _MEMBER] = -1, time, clock, member
    if ends[k, 1] < 0:
        ends[k, 0] = i
    else:
        rows[ends[k, 1], _NEXT] = i
    ends[k, 1] = i


@njit(cache=True)
def _expire(book: Book, k: int, now: int, queue: Queue, max_delay: int, most: int,
            producer: bool) -> int:
    """Let go what has waited too long; the greatest time that did, or NEVER."""
    ends, rows = queue
    late = [np.int64(0) for _ in range(0)]
    by = [np.int64(0) for _ in range(0)]
    mark = book.key[k, MARK]
    while ends[k, 0] >= 0:
        i = ends[k, 0]
        if rows[i, _TIME] > mark:  # still held
            if now - rows[i, _CLOCK] <= max_delay:
                break
            late.append(rows[i, _TIME])
            by.append(rows[i, _MEMBER])
        ends[k, 0] = rows[i, _NEXT]
        if ends[k, 0] < 0:
            ends[k, 1] = -1
    if len(late) == 0:
        return int(NEVER)
    out = np.array(late, np.int64)
    fail(book, k, out, np.array(by, np.int64), most, producer)
    forced = out.max()
    book.key[k, MARK] = forced
    return int(forced)


@njit(cache=True)
def _due(book: Book, k: int, now: int, queue: Queue, max_delay: int) -> bool:
    """Whether the oldest of the queue is worth a look; what has left is taken off on the way."""
    ends, rows = queue
    mark = book.key[k, MARK]
    while ends[k, 0] >= 0 and rows[ends[k, 0], _TIME] <= mark:
        ends[k, 0] = rows[ends[k, 0], _NEXT]
    if ends[k, 0] < 0:
        ends[k, 1] = -1
        return False
    return bool(now - rows[ends[k, 0], _CLOCK] > max_delay)


@njit(cache=True)
def admit(book: Book, key: Int64, member: Int64, time: Int64, arrival: Int64, queue: Queue,
          max_delay: int, most: int, producer: bool, late_by: Int64, clock: Int64, mark: Int64,
          ready: Int64, forced: Int64) -> None:
    """Enter arrivals one by one.

    For arrival j: `late_by`, the `clock`, the `mark` (its key's watermark) after it, and how much
    of that was `ready` before events up to `forced` timed out.  `max_delay` < 0: nothing does.
    """
    ends, rows = queue
    held = len(rows) - len(time)
    for j in range(len(time)):
        k, t = key[j], time[j]
        late_by[j] = arrive(book, k, member[j], t, arrival[j])
        clock[j] = book.key[k, CLOCK]
        book.key[k, MARK] = max(book.key[k, MARK], threshold(book, k))
        ready[j] = book.key[k, MARK]
        if max_delay >= 0:
            if t > ready[j]:
                _append(ends, rows, k, held + j, t, clock[j], member[j])
            if _due(book, k, clock[j], queue, max_delay):
                forced[j] = _expire(book, k, clock[j], queue, max_delay, most, producer)
                book.key[k, MARK] = max(book.key[k, MARK], threshold(book, k))
        mark[j] = book.key[k, MARK]


@njit(cache=True)
def expire_all(book: Book, now: Int64, queue: Queue, max_delay: int, most: int, producer: bool,
               forced: Int64) -> None:
    """For every key it is `now`: thresholds, then time-outs."""
    for k in range(len(book.key)):
        book.key[k, MARK] = max(book.key[k, MARK], threshold(book, k))
        if max_delay >= 0 and _due(book, k, now[k], queue, max_delay):
            forced[k] = _expire(book, k, now[k], queue, max_delay, most, producer)
            book.key[k, MARK] = max(book.key[k, MARK], threshold(book, k))


@njit(cache=True)
def place(time: Int64, held: int, late_by: Int64, mark: Int64, final: Int64, by_time: Int64,
          time_starts: Int64, by_arrival: Int64, arrival_starts: Int64) -> tuple[Int64, Int64]:
    """The rows that leave, in order per key, and the arrival that let each go.

    Row held + j arrived at step j, whose watermark is mark[j]; after all arrivals it is final[key],
    and what leaves by that alone has step len(mark).
    """
    steps = len(mark)
    out, step = np.empty(len(time), np.int64), np.empty(len(time), np.int64)
    count = 0
    for k in range(len(final)):
        q, stop = arrival_starts[k], arrival_starts[k + 1]
        for p in range(time_starts[k], time_starts[k + 1]):
            i = by_time[p]
            if time[i] > final[k]:
                break
            if i >= held and late_by[i - held] > 0:
                continue
            while q < stop and mark[by_arrival[q]] < time[i]:
                q += 1
            out[count] = i
            step[count] = max(by_arrival[q], i - held) if q < stop else steps
            count += 1
    return out[:count], step[:count]
