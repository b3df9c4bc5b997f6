"""The release rule that all stages share (SPEC section 1), compiled.

This is the one place that knows what has been released, and so what is late.  At an arrival a
threshold θ lets go, in time order, every held event of its key with time ≤ θ; then the new event is
late if its time is less than the greatest time released so far, else it is held.

Where the thresholds do not depend on what becomes of the rows, `release_by` runs a whole batch, key
by key.  A policy that learns from late rows calls `advance_to` and `take` for each arrival instead,
and is told by them what became of it; it keeps no model of lateness of its own.

Keys may share an estimate.  Rows of others can then make a key wait longer again between two of its
own rows; but time had let its events go before, whether a tick said so or not.  So what a group of
keys has reached never goes back.

Instead of a heap over all held events, the batch is sorted once by time and a pointer per key walks
up with its threshold.  Only events that arrive *below* the pointer but not below the watermark (the
threshold went on where no event was) need a heap, and it is nearly always empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.events import NEVER
from slackwater.core.state.order import order_of
from slackwater.core.steps import NONE

__all__ = ["Released", "Walk", "advance_to", "inline", "is_late", "mark_of", "never_back",
           "order_by_key", "promise_walk", "release_behind", "release_by", "released", "take",
           "walk_over"]

Int64 = NDArray[np.int64]

KEY = np.dtype([(name, np.int64) for name in (
    "place",   # of the next row in time order
    "end",     # one after its last row
    "passed",  # the greatest threshold of this walk
    "mark",    # the greatest time released: the watermark
    "mark_n",  # the arrival number of the last row released
    "root",    # the heap of rows that came in below the pointer
)])
"""How far a key has come in a walk."""


class Walk(NamedTuple):
    """The rows of one step, and how far each key has come through them.

    Rows 0…held−1 were held before; row held + j is arrival j.  Keys are numbered 0, 1… within the
    step.  With `promise`, no row is held here: the watermark is the threshold itself.
    """

    held: int
    promise: bool
    time: Int64
    n: Int64          # arrival numbers: they settle ties
    of: Int64         # the key of each arrival
    by_time: Int64    # rows by (key, time, n)
    keys: NDArray     # records of `KEY`
    heap: Int64       # left and right below each row
    late_by: Int64    # per arrival: how far it came behind the watermark, 0 if it is not late
    out: Int64        # two lines: the released rows, in order, and the arrival that released each
    total: Int64      # how many of them
    group: Int64      # of each arrival, where keys share an estimate; else empty
    reach: Int64      # by group: the greatest threshold so far


class Released(NamedTuple):
    """Rows of a walk in the order in which they left, and the arrival that released each."""

    rows: Int64
    step: Int64


@njit(cache=True, nogil=True)
def _group(order: Int64, key: Int64, starts: Int64, out: Int64) -> None:
    """Stable counting sort of `order` by key; starts[k] is where key k begins."""
    at = starts[:-1].copy()
    for i in order:
        out[at[key[i]]] = i
        at[key[i]] += 1


def order_by_key(key: Int64, time: Int64, n: Int64, keys: int) -> tuple[Int64, Int64]:
    """Indices sorted by (key, time, arrival number), and where each key starts."""
    by_time = order_of(time, n)
    if keys == 1:
        return by_time, np.array([0, len(time)])
    starts = np.zeros(keys + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=keys), out=starts[1:])
    out = np.empty_like(by_time)
    _group(by_time, key, starts, out)
    return out, starts


def walk_over(key: Int64, time: Int64, n: Int64, held: int, mark: Int64, mark_n: Int64,
              group: Int64 = NONE, reach: Int64 = NONE) -> Walk:
    """A walk over rows of keys 0…len(mark)−1 whose watermarks are (mark, mark_n).

    Where keys share an estimate, `group` says which one each arrival has, and `reach` how far each
    of these has come.
    """
    rows = len(time)
    by_time, starts = order_by_key(key, time, n, len(mark))
    keys = np.empty(len(mark), KEY)
    keys["place"], keys["end"] = starts[:-1], starts[1:]
    keys["passed"], keys["mark"], keys["mark_n"], keys["root"] = NEVER, mark, mark_n, -1
    return Walk(held, False, time, n, key[held:], by_time, keys,
                np.empty((rows, 2), np.int64), np.zeros(rows - held, np.int64),
                np.empty((2, rows), np.int64), np.zeros(1, np.int64), group, reach.copy())


def promise_walk(key: Int64, time: Int64, mark: Int64) -> Walk:
    """A walk for a stage that holds rows in a way of its own: a threshold is its watermark.

    `out[0, j]` becomes the watermark of arrival j's key after it.
    """
    keys = np.zeros(len(mark), KEY)
    keys["mark"] = mark
    return Walk(0, True, time, NONE, key, NONE, keys, np.zeros((0, 2), np.int64),
                np.zeros(len(time), np.int64), np.empty((2, len(time)), np.int64),
                np.zeros(1, np.int64), NONE, NONE)


inline = njit(cache=True, inline="always")  # a call would count references to every array of a walk


@inline
def _less(time: Int64, n: Int64, a: int, b: int) -> bool:
    return time[a] < time[b] or (time[a] == time[b] and n[a] < n[b])


@njit(cache=True)
def _melded(time: Int64, n: Int64, heap: Int64, a: int, b: int) -> int:
    """Two heaps as one (a skew heap: no balance to keep, amortised O(log n))."""
    if a < 0:
        return b
    if b < 0:
        return a
    if _less(time, n, b, a):
        a, b = b, a
    root = a
    while True:
        # b joins the right side of a, which then becomes its left
        right = heap[a, 1]
        heap[a, 1] = heap[a, 0]
        if right < 0:
            heap[a, 0] = b
            return root
        if _less(time, n, b, right):
            right, b = b, right
        heap[a, 0] = right
        a = right


@inline
def advance_to(w: Walk, k: int, theta: int, j: int, taken: int) -> None:
    """Release what key k holds with time ≤ theta, at step j; the first `taken` arrivals are in."""
    held, promise, time, n, _, by_time, keys, heap, late_by, out, total, group, reach = w
    key = keys[k]
    if j < len(group):
        reach[group[j]] = theta = max(theta, reach[group[j]])
    if promise:
        key.mark = max(key.mark, theta)
        out[0, j] = key.mark
    else:
        c = total[0]
        while key.root >= 0 and time[key.root] <= theta:
            i = key.root
            key.root = _melded(time, n, heap, heap[i, 0], heap[i, 1])
            out[0, c], out[1, c] = i, j
            c += 1
            key.mark, key.mark_n = time[i], n[i]
        if theta > key.passed:
            key.passed = theta
            p = key.place
            while p < key.end:
                i = by_time[p]
                if time[i] > theta:
                    break
                p += 1
                if i < held or (i < held + taken and late_by[i - held] == 0):
                    out[0, c], out[1, c] = i, j
                    c += 1
                    key.mark, key.mark_n = time[i], n[i]
            key.place = p
        total[0] = c


@inline
def is_late(w: Walk, j: int) -> bool:
    """Whether arrival j, if it were taken now, would be late."""
    return w.time[w.held + j] < w.keys[w.of[j]].mark


@inline
def take(w: Walk, j: int) -> int:
    """Judge arrival j: how far it is behind the watermark; 0: it is in time, and held."""
    held, promise, time, n, of, _, keys, heap, late_by, _, _, _, _ = w
    i = held + j
    key = keys[of[j]]
    t = time[i]
    if t < key.mark:
        late_by[j] = key.mark - t
    elif not promise and t <= key.passed:
        heap[i, 0] = heap[i, 1] = -1
        key.root = _melded(time, n, heap, key.root, i)
    return late_by[j]


@njit(cache=True, nogil=True, _nrt=False)  # it makes no arrays: no references need counting
def _arrive_all(w: Walk, threshold: Int64) -> None:
    for j in range(len(threshold)):
        advance_to(w, w.of[j], threshold[j], j, j)
        take(w, j)


@njit(cache=True, nogil=True)
def _key_by_key(held: int, time: Int64, n: Int64, by_time: Int64, keys: NDArray, heap: Int64,
                late_by: Int64, threshold: Int64, by_arrival: Int64, starts: Int64,
                out: Int64) -> int:
    """The same with each key's place and watermark in registers; `out` is in order per key."""
    c = 0
    for k in range(len(keys)):
        p, end, passed, root = keys[k].place, keys[k].end, keys[k].passed, keys[k].root
        mark, mark_n = keys[k].mark, keys[k].mark_n
        for a in range(starts[k], starts[k + 1]):
            j = by_arrival[a] if len(keys) > 1 else a
            theta = threshold[j]
            while root >= 0 and time[root] <= theta:
                i = root
                root = _melded(time, n, heap, heap[i, 0], heap[i, 1])
                out[0, c], out[1, c] = i, j
                c += 1
                mark, mark_n = time[i], n[i]
            if theta > passed:
                passed = theta
                while p < end:
                    i = by_time[p]
                    if time[i] > theta:
                        break
                    p += 1
                    if i < held or (i < held + j and late_by[i - held] == 0):
                        out[0, c], out[1, c] = i, j
                        c += 1
                        mark, mark_n = time[i], n[i]
            i = held + j
            if time[i] < mark:
                late_by[j] = mark - time[i]
            elif time[i] <= passed:
                heap[i, 0] = heap[i, 1] = -1
                root = _melded(time, n, heap, root, i)
        keys[k].place, keys[k].passed, keys[k].root = p, passed, root
        keys[k].mark, keys[k].mark_n = mark, mark_n
    return c


@njit(cache=True, nogil=True)
def _by_step(out: Int64, count: int, steps: int) -> None:
    """Order the first released rows by the step that released them, keeping each key's order."""
    starts = np.zeros(steps + 1, np.int64)
    for q in range(count):
        starts[out[1, q] + 1] += 1
    for s in range(steps):
        starts[s + 1] += starts[s]
    was = out[:, :count].copy()
    for q in range(count):
        at = starts[was[1, q]]
        out[0, at], out[1, at] = was[0, q], was[1, q]
        starts[was[1, q]] += 1


@njit(cache=True, nogil=True)
def never_back(threshold: Int64, group: Int64, reach: Int64) -> Int64:
    """The thresholds of arrivals by groups that have come so far; `reach` moves on."""
    found = np.empty_like(threshold)
    for j in range(len(threshold)):
        found[j] = reach[group[j]] = max(threshold[j], reach[group[j]])
    return found


def release_by(w: Walk, threshold: Int64) -> None:
    """Every arrival j with its threshold, where these do not depend on what becomes of the rows."""
    if w.promise:
        _arrive_all(w, threshold)
        return
    if len(w.group):
        threshold = never_back(threshold, w.group, w.reach)
    count = _key_by_key(w.held, w.time, w.n, w.by_time, w.keys, w.heap, w.late_by,
                        threshold, *_arrivals_by_key(w), w.out)
    _settle(w, count)


def release_behind(w: Walk, late_by: Int64, mark: Int64) -> None:
    """Every arrival j is taken in, unless it is late; then all up to the watermark mark[j] leaves.

    The watermark is known beforehand, and never goes back within a key.  So what leaves does so in
    time order, and no row has to be looked at twice.
    """
    w.late_by[:] = late_by
    _settle(w, _up_to_marks(w.held, w.time, w.by_time, w.keys, late_by, mark,
                            *_arrivals_by_key(w), w.out))


def _arrivals_by_key(w: Walk) -> tuple[Int64, Int64]:
    """Arrivals by key, each in arrival order (of one key: none are needed), and where each starts.
    """
    keys = len(w.keys)
    if keys == 1:
        return w.of[:0], np.array([0, len(w.of)])
    starts = np.zeros(keys + 1, np.int64)
    np.cumsum(np.bincount(w.of, minlength=keys), out=starts[1:])
    return np.argsort(w.of, kind="stable"), starts


def _settle(w: Walk, count: int) -> None:
    """The first `count` places of `out`, key by key, are what has left."""
    if len(w.keys) > 1:
        _by_step(w.out, count, len(w.late_by))
    w.total[0] = count


@njit(cache=True, nogil=True)
def _up_to_marks(held: int, time: Int64, by_time: Int64, keys: NDArray, late_by: Int64,
                 mark: Int64, by_arrival: Int64, starts: Int64, out: Int64) -> int:
    c = 0
    for k in range(len(keys)):
        a, stop = starts[k], starts[k + 1]
        if a == stop:
            continue
        many = len(keys) > 1
        last = mark[by_arrival[stop - 1] if many else stop - 1]
        for p in range(keys[k].place, keys[k].end):
            i = by_time[p]
            if time[i] > last:
                break
            if i >= held and late_by[i - held] > 0:
                continue
            while mark[by_arrival[a] if many else a] < time[i]:
                a += 1
            # a row at the watermark itself leaves when it comes
            out[0, c], out[1, c] = i, max(by_arrival[a] if many else a, i - held)
            c += 1
    return c


@njit(cache=True, nogil=True)
def _pass_time(w: Walk, threshold: Int64) -> None:
    for k in range(len(threshold)):
        if threshold[k] != NEVER:
            advance_to(w, k, threshold[k], len(w.late_by), len(w.late_by))


def released(w: Walk, last: Int64 | None = None) -> Released:
    """What has left, in order; first, time passes to `last` (per key; NEVER: not for this one).

    What time alone releases leaves together: merged over the keys, by time.
    """
    begun = int(w.total[0])
    if last is not None:
        _pass_time(w, last)
    rows, step = w.out[:, :int(w.total[0])]
    if last is not None and len(last) > 1:
        tail = rows[begun:]
        order = np.lexsort((w.n[tail], w.time[tail]))
        rows[begun:], step[begun:] = tail[order], step[begun:][order]
    return Released(rows, step)


def mark_of(w: Walk) -> tuple[Int64, Int64]:
    """The watermarks of the keys, as time and arrival number of the last row released."""
    return w.keys["mark"].copy(), w.keys["mark_n"].copy()
