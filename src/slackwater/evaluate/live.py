"""When each row leaves if time passes between arrivals, as it does in a running system.

The papers let a row go at the arrival that released it; in a sparse stream that is long after its
time has come.  Here a threshold that follows the clock releases a row at the moment it reaches it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["best_constant", "live_release", "needed_buffers"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
_NONE = np.iinfo(np.int64).min


def live_release(time: Int64, arrival: Int64, key: Int64, late: NDArray[np.bool_],
                 threshold: Int64, buffer: Float64) -> Int64:
    """The moment at which each row leaves (a late one: at its arrival).

    `threshold[j]` is what arrival j released before it was taken in, `buffer[j]` the buffer time in
    force after it: from then on, the threshold is now − buffer.

    Examples
    --------
    >>> at = np.array([0, 100, 1000])
    >>> none, buffer = np.zeros(3, int), np.full(3, 40.0)
    >>> live_release(at, at, none, none > 0, at - 40, buffer).tolist()
    [40, 140, 1040]
    """
    released = arrival.copy()
    order = np.lexsort((np.arange(len(key)), key))
    ends = np.flatnonzero(np.append(key[order][1:] != key[order][:-1], True)) + 1
    begin = 0
    for end in ends.tolist() if len(key) else ():
        rows = order[begin:end]
        released[rows] = _one_key(time[rows], arrival[rows], late[rows], threshold[rows],
                                  buffer[rows])
        begin = end
    return released


@njit(cache=True)
def _one_key(time: Int64, arrival: Int64, late: NDArray[np.bool_], threshold: Int64,
             buffer: Float64) -> Int64:
    n = len(time)
    released = arrival.copy()
    rank = np.argsort(time, kind="mergesort")  # the heap holds ranks: small numbers, times apart
    place = np.empty(n, np.int64)
    for r in range(n):
        place[rank[r]] = r
    heap, size = np.empty(n, np.int64), 0
    for j in range(n):
        now = arrival[j]
        before = arrival[j - 1] if j else now
        while size > 0 and time[rank[heap[0]]] <= threshold[j]:
            i = rank[_pop(heap, size)]
            size -= 1
            released[i] = max(before, now - (threshold[j] - time[i]), arrival[i])
        if not late[j]:
            _push(heap, size, place[j])
            size += 1
        if j + 1 < n and arrival[j + 1] == now:
            continue  # more comes at this moment
        known = now - buffer[j]
        if j + 1 < n:  # the threshold does not go back while nothing comes
            known = min(known, float(threshold[j + 1]))
        while size > 0 and time[rank[heap[0]]] <= known:
            i = rank[_pop(heap, size)]
            size -= 1
            released[i] = now
    while size > 0:
        i = rank[_pop(heap, size)]
        size -= 1
        released[i] = max(arrival[n - 1], np.int64(min(time[i] + buffer[n - 1], 2.0**62)))
    return released


@njit(cache=True)
def _push(heap: Int64, size: int, item: int) -> None:
    at = size
    while at > 0 and heap[(at - 1) // 2] > item:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = item


@njit(cache=True)
def _pop(heap: Int64, size: int) -> int:
    top, item, at = heap[0], heap[size - 1], 0
    while 2 * at + 1 < size - 1:
        child = 2 * at + 1
        if child + 1 < size - 1 and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = item
    return int(top)


def needed_buffers(time: Int64, arrival: Int64, key: Int64) -> Int64:
    """The buffer time that each event needs: a constant buffer up to it makes the event late.

    That is its arrival less the smallest greater time that came before; the least int64 if none
    did. Rows that arrive in one moment came together.

    Examples
    --------
    >>> needed_buffers(np.array([10, 20, 15]), np.array([11, 21, 29]), np.zeros(3, int))[2]
    np.int64(9)
    """
    if len(time) == 0:
        return np.zeros(0, np.int64)
    return _needed(time, arrival, key, np.lexsort((time, key)))


@njit(cache=True)
def _needed(time: Int64, arrival: Int64, key: Int64, order: Int64) -> Int64:
    """Back from the last arrival: times that are gone are skipped by pointers that shorten."""
    n, nodes = len(order), 0
    node, count = np.empty(n, np.int64), np.zeros(n, np.int64)
    of_node, of_key = np.empty(n, np.int64), np.empty(n, np.int64)
    for p in range(n):
        i = order[p]
        if p == 0 or time[i] != of_node[nodes - 1] or key[i] != of_key[nodes - 1]:
            of_node[nodes], of_key[nodes] = time[i], key[i]
            nodes += 1
        node[i] = nodes - 1
        count[nodes - 1] += 1
    after = np.arange(nodes + 1)
    out = np.full(n, _NONE)
    last = n - 1
    while last >= 0:
        first = last
        while first > 0 and arrival[first - 1] == arrival[last]:
            first -= 1
        for i in range(first, last + 1):
            count[node[i]] -= 1
            if count[node[i]] == 0:
                after[node[i]] = node[i] + 1
        for i in range(first, last + 1):
            at = node[i] + 1
            while after[at] != at:
                after[at] = after[after[at]]
                at = after[at]
            if at < nodes and of_key[at] == key[i]:
                out[i] = arrival[i] - of_node[at]
        last = first - 1
    return out


def best_constant(time: Int64, arrival: Int64, key: Int64, loss: float) -> int | None:
    """The smallest constant buffer time with at most that share late, in hindsight; None: none.

    It may be negative, where the receiver's clock is behind.
    """
    needed = np.sort(needed_buffers(time, arrival, key))[::-1]
    may_be_late = int(loss * len(needed))
    if len(needed) <= may_be_late or needed[may_be_late] == _NONE:
        return None
    return int(needed[may_be_late]) + 1
