"""The release rule that all policies share (SPEC section 1), compiled.

At arrival j of a key: release, in time order, every held event of that key with time ≤ θ_j; then,
if the new event's time is less than the greatest time released so far it is late, else it is held.
A policy only decides θ_j (for a buffer time B that is a_j − B_{j−1}).

Instead of a heap over all held events, the batch is sorted once by time and a pointer walks up with
the threshold.  Only events that arrive *below* the pointer but not below the watermark (the
threshold went on where no event was) need a heap, and it is nearly always empty.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slackwater.core.events import NEVER
from slackwater.reorder.radix import order_of

__all__ = ["by_step", "in_time", "order_by_key", "release"]

Int64 = NDArray[np.int64]


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


@njit(cache=True)
def _less(a: int, b: int, time: Int64, n: Int64) -> bool:
    return time[a] < time[b] or (time[a] == time[b] and n[a] < n[b])


@njit(cache=True)
def _heap_push(heap: Int64, size: int, item: int, time: Int64, n: Int64) -> None:
    at = size
    while at > 0:
        up = (at - 1) // 2
        if not _less(item, heap[up], time, n):
            break
        heap[at] = heap[up]
        at = up
    heap[at] = item


@njit(cache=True)
def _heap_pop(heap: Int64, size: int, time: Int64, n: Int64) -> int:
    top, item, last, at = heap[0], heap[size - 1], size - 1, 0
    while True:
        down = 2 * at + 1
        if down >= last:
            break
        if down + 1 < last and _less(heap[down + 1], heap[down], time, n):
            down += 1
        if not _less(heap[down], item, time, n):
            break
        heap[at] = heap[down]
        at = down
    heap[at] = item
    return int(top)


@njit(cache=True, nogil=True)
def in_time(time: Int64, threshold: Int64, mark: int) -> int:
    """The greatest threshold, if every arrival (all of one key) is above all thresholds so far.

    Then none is late, and what leaves is simply, in time order, all up to the greatest threshold.
    `NEVER` if some arrival is not, or if there is none.
    """
    passed = NEVER
    for j in range(len(time)):
        passed = max(passed, threshold[j])
        if time[j] <= passed or time[j] < mark:
            return NEVER
    return passed


@njit(cache=True, nogil=True)
def release(
    time: Int64, n: Int64, held: int, threshold: Int64,
    by_time: Int64, time_starts: Int64, by_arrival: Int64, arrival_starts: Int64,
    last_threshold: Int64, mark_time: Int64, mark_n: Int64, late_by: Int64,
) -> tuple[Int64, Int64]:
    """Run the rule for every key over one batch.

    Rows 0…held−1 were held before; the others arrive now, in arrival order, row held + j with
    threshold[j].  After a key's arrivals one more step at last_threshold[key] lets time pass
    (`NEVER`: no such step).  Watermarks (mark_time, mark_n per key: the last released row's time
    and arrival number) are updated; late_by[j] becomes how far behind the watermark row held + j
    came, 0 if it is not late.

    Returns the released rows in order per key, and the step of each: j, or len(threshold) for the
    last step.
    """
    rows, steps = len(time), len(threshold)
    out, step = np.empty(rows, np.int64), np.empty(rows, np.int64)
    count = 0
    heap = np.empty(0, np.int64)
    for k in range(len(mark_time)):
        p, end = time_starts[k], time_starts[k + 1]
        first, stop = arrival_starts[k], arrival_starts[k + 1]
        if p == end:
            continue
        if first == stop and last_threshold[k] == NEVER:
            continue
        size = 0
        passed = NEVER  # the greatest threshold so far: the pointer stands behind all times ≤ it
        begun, mark = count, mark_time[k]  # the watermark as a local: it is looked at for every row
        for a in range(first, stop + 1):
            final = a == stop
            j = steps if final else by_arrival[a]
            theta = last_threshold[k] if final else threshold[j]
            if final and theta == NEVER:
                break
            while size > 0 and time[heap[0]] <= theta:
                i = _heap_pop(heap, size, time, n)
                size -= 1
                out[count], step[count] = i, j
                count += 1
                mark = time[i]
            if theta > passed:
                passed = theta
                while p < end:
                    i = by_time[p]
                    if time[i] > theta:
                        break
                    p += 1
                    if i < held or (i < held + j and late_by[i - held] == 0):
                        out[count], step[count] = i, j
                        count += 1
                        mark = time[i]
            if final:
                break
            i = held + j
            t = time[i]
            if t < mark:
                late_by[j] = mark - t
            elif t <= passed:
                if size == len(heap):
                    grown = np.empty(max(64, 2 * size), np.int64)
                    grown[:size] = heap[:size]
                    heap = grown
                _heap_push(heap, size, i, time, n)
                size += 1
        if count > begun:
            mark_time[k], mark_n[k] = mark, n[out[count - 1]]
    return out[:count], step[:count]


@njit(cache=True, nogil=True)
def by_step(rows: Int64, step: Int64, steps: int) -> tuple[Int64, Int64]:
    """Order released rows by the step that released them, keeping each key's order."""
    starts = np.zeros(steps + 2, np.int64)
    for s in step:
        starts[s + 1] += 1
    for s in range(steps + 1):
        starts[s + 1] += starts[s]
    out, when = np.empty_like(rows), np.empty_like(step)
    for q in range(len(rows)):
        at = starts[step[q]]
        out[at], when[at] = rows[q], step[q]
        starts[step[q]] += 1
    return out, when
