"""Loops over rows sorted by (slot, time, arrival number).

A sorted piece has a *directory*: its distinct slots, where each begins, and how far its rows have
left.  A *range* is the part of one slot's rows that a caller asked for: (entry, low, high).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["are_sorted", "count_left", "cursors", "directory", "expand", "first_times", "merge",
           "order_rows", "ranges_between", "ranges_of_all", "ranges_of_some", "successive"]

Int64 = NDArray[np.int64]
Ranges = tuple[Int64, Int64, Int64]
_SMALLEST = np.iinfo(np.int64).min
_FEW = 512  # rows for which one call of numpy is best


def order_rows(slot: Int64, time: Int64, n: Int64) -> Int64 | None:
    """Indices that sort rows by (slot, time, n); None if they stand so."""
    if are_sorted(slot, time, n):
        return None
    if len(slot) < _FEW:
        return np.lexsort((n, time, slot))
    # arrival numbers mostly rise, and then one stable sort is enough
    order = (np.argsort(time, kind="stable") if (np.diff(n) > 0).all()
             else np.lexsort((n, time)))
    if int(slot.max()) < 4 * len(slot):
        return _group(order, slot, int(slot.max()) + 1)
    return order[np.argsort(slot[order], kind="stable")]


@njit(cache=True, nogil=True)
def _group(order: Int64, slot: Int64, slots: int) -> Int64:
    """Stable counting sort of `order` by slot."""
    at = np.zeros(slots + 1, np.int64)
    for s in slot:
        at[s + 1] += 1
    for s in range(slots):
        at[s + 1] += at[s]
    out = np.empty_like(order)
    for i in order:
        out[at[slot[i]]] = i
        at[slot[i]] += 1
    return out


@njit(cache=True, nogil=True)
def are_sorted(slot: Int64, time: Int64, n: Int64) -> bool:
    """Whether rows stand in the order of (slot, time, n)."""
    for i in range(1, len(slot)):
        if slot[i] < slot[i - 1] or (slot[i] == slot[i - 1] and (
                time[i] < time[i - 1] or (time[i] == time[i - 1] and n[i] < n[i - 1]))):
            return False
    return True


@njit(cache=True, nogil=True)
def successive(index: Int64) -> bool:
    """Whether each index is the one before plus one."""
    for i in range(1, len(index)):  # noqa: SIM110  (numba's all() is slower)
        if index[i] != index[i - 1] + 1:
            return False
    return True


@njit(cache=True, nogil=True)
def directory(slot: Int64) -> tuple[Int64, Int64]:
    """The distinct slots of sorted rows, and where each begins, with the end of all."""
    count = 0
    for i in range(len(slot)):
        if i == 0 or slot[i] != slot[i - 1]:
            count += 1
    slots, starts = np.empty(count, np.int64), np.empty(count + 1, np.int64)
    starts[count] = len(slot)
    count = 0
    for i in range(len(slot)):
        if i == 0 or slot[i] != slot[i - 1]:
            slots[count], starts[count] = slot[i], i
            count += 1
    return slots, starts


@njit(cache=True, nogil=True)
def cursors(starts: Int64, gone: NDArray[np.bool_]) -> Int64:
    """The first row of each entry that has not gone."""
    out = starts[:-1].copy()
    for e in range(len(out)):
        while out[e] < starts[e + 1] and gone[out[e]]:
            out[e] += 1
    return out


@njit(cache=True, nogil=True)
def first_times(starts: Int64, cursor: Int64, time: Int64) -> int:
    """The least time of the rows that have not left; the greatest number there is if all have."""
    least = np.iinfo(np.int64).max
    for e in range(len(cursor)):
        if cursor[e] < starts[e + 1]:
            least = min(least, time[cursor[e]])
    return least


@njit(cache=True)
def _after(time: Int64, low: int, high: int, limit: int) -> int:
    """The first row of low…high whose time is greater than `limit`."""
    while low < high:
        middle = (low + high) // 2
        if time[middle] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def ranges_of_some(slots: Int64, starts: Int64, cursor: Int64, time: Int64, asked: Int64,
                   limits: Int64) -> Ranges:
    """The rows with time ≤ limit of the slots asked for, which ascend."""
    entry = np.empty(min(len(asked), len(slots)), np.int64)
    low, high = np.empty_like(entry), np.empty_like(entry)
    count = e = 0
    for k in range(len(asked)):
        e += np.searchsorted(slots[e:], asked[k])
        if e == len(slots):
            break
        if slots[e] == asked[k] and cursor[e] < starts[e + 1] and time[cursor[e]] <= limits[k]:
            entry[count], low[count] = e, cursor[e]
            high[count] = _after(time, cursor[e], starts[e + 1], limits[k])
            count += 1
    return entry[:count], low[:count], high[:count]


@njit(cache=True, nogil=True)
def ranges_of_all(slots: Int64, starts: Int64, cursor: Int64, time: Int64,
                  limits: Int64) -> Ranges:
    """The rows with time ≤ the limit of their slot; a slot beyond `limits` has none."""
    entry, low, high = np.empty_like(slots), np.empty_like(slots), np.empty_like(slots)
    count = 0
    for e in range(len(slots)):
        if slots[e] >= len(limits):
            break
        limit = limits[slots[e]]
        if cursor[e] < starts[e + 1] and time[cursor[e]] <= limit:
            entry[count], low[count] = e, cursor[e]
            high[count] = _after(time, cursor[e], starts[e + 1], limit)
            count += 1
    return entry[:count], low[:count], high[:count]


@njit(cache=True, nogil=True)
def ranges_between(slots: Int64, starts: Int64, cursor: Int64, time: Int64, first: int,
                   last: int) -> Ranges:
    """The rows of all slots with first ≤ time ≤ last."""
    entry, low, high = np.empty_like(slots), np.empty_like(slots), np.empty_like(slots)
    count = 0
    for e in range(len(slots)):
        begin = cursor[e]
        if first > _SMALLEST:
            begin = _after(time, begin, starts[e + 1], first - 1)
        end = _after(time, begin, starts[e + 1], last)
        if begin < end:
            entry[count], low[count], high[count] = e, begin, end
            count += 1
    return entry[:count], low[:count], high[:count]


@njit(cache=True, nogil=True)
def expand(slots: Int64, time: Int64, n: Int64, entry: Int64, low: Int64, high: Int64,
           out_slot: Int64, out_time: Int64, out_n: Int64, out_at: Int64, out_range: Int64,
           first_range: int) -> None:
    """The rows of ranges, one after the other: columns, places, and the number of the range."""
    q = 0
    for r in range(len(entry)):
        for p in range(low[r], high[r]):
            out_slot[q], out_time[q], out_n[q] = slots[entry[r]], time[p], n[p]
            out_at[q], out_range[q] = p, first_range + r
            q += 1


@njit(cache=True)
def _precedes(a: int, b: int, slot: Int64, time: Int64, n: Int64) -> bool:
    if slot[a] != slot[b]:
        return slot[a] < slot[b]
    if time[a] != time[b]:
        return time[a] < time[b]
    return n[a] <= n[b]


@njit(cache=True, nogil=True)
def merge(slot: Int64, time: Int64, n: Int64, bounds: Int64) -> Int64:
    """Indices that sort rows which are sorted between each two neighbouring bounds."""
    order, other = np.arange(len(slot)), np.empty(len(slot), np.int64)
    while len(bounds) > 2:
        kept = np.empty(len(bounds) // 2 + 1, np.int64)
        kept[0] = 0
        for k in range(0, len(bounds) - 1, 2):
            a, middle = bounds[k], bounds[k + 1]
            end = bounds[k + 2] if k + 2 < len(bounds) else middle
            kept[k // 2 + 1] = end
            b, q = middle, a
            if a < middle < end and _precedes(order[middle - 1], order[middle], slot, time, n):
                other[a:end] = order[a:end]
                continue
            while a < middle and b < end:
                if _precedes(order[a], order[b], slot, time, n):
                    other[q] = order[a]
                    a += 1
                else:
                    other[q] = order[b]
                    b += 1
                q += 1
            other[q:q + middle - a] = order[a:middle]
            q += middle - a
            other[q:q + end - b] = order[b:end]
        order, other, bounds = other, order, kept
    return order


@njit(cache=True, nogil=True)
def count_left(slot: Int64, ranges: Int64, left: NDArray[np.bool_], counts: Int64) -> bool:
    """How many rows of each range have left; False if they are not the first of their slot."""
    for i in range(len(left)):
        if left[i]:
            counts[ranges[i]] += 1
            if i > 0 and slot[i] == slot[i - 1] and not left[i - 1]:
                return False
    return True
