"""A heap of sources by frontier, one a group, side by side in one array.

Derived from the sources' state, so it is never written: the order is total (frontier, then row), so
a heap that was built anew has the same top as one that grew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.reorder.tide.state import FAR

__all__ = ["heapify", "top_of", "update"]

Int64 = NDArray[np.int64]


@njit(cache=True)
def _before(a: int, b: int, keys: Int64) -> bool:
    return bool(keys[a] < keys[b] or (keys[a] == keys[b] and a < b))


@njit(cache=True)
def _down(heap: Int64, place: Int64, start: int, size: int, keys: Int64, at: int) -> None:
    item = heap[start + at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(heap[start + child + 1], heap[start + child], keys):
            child += 1
        if not _before(heap[start + child], item, keys):
            break
        heap[start + at] = heap[start + child]
        place[heap[start + at]] = at
        at = child
    heap[start + at] = item
    place[item] = at


@njit(cache=True)
def heapify(heap: Int64, place: Int64, start: int, size: int, keys: Int64) -> None:
    """Bring a group's sources into heap order."""
    for at in range(size):
        place[heap[start + at]] = at
    for at in range(size // 2 - 1, -1, -1):
        _down(heap, place, start, size, keys, at)


@njit(cache=True)
def update(heap: Int64, place: Int64, start: int, size: int, keys: Int64, item: int,
           key: int) -> None:
    """Give a source another frontier."""
    keys[item] = key
    at = place[item]
    while at > 0:
        up = (at - 1) // 2
        if not _before(item, heap[start + up], keys):
            break
        heap[start + at] = heap[start + up]
        place[heap[start + at]] = at
        at = up
    heap[start + at] = item
    place[item] = at
    _down(heap, place, start, size, keys, at)


@njit(cache=True)
def top_of(heap: Int64, start: int, keys: Int64) -> int:
    """The source whose frontier is furthest back; −1 if none holds anything back."""
    item = heap[start]
    return int(item) if keys[item] != FAR else -1
