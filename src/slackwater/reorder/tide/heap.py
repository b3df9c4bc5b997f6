"""Two heaps of each group's sources, those ahead by edge and those overdue by reach.

Derived from the sources' state, so they are never written, and built when a group is first needed:
the order is total (key, then row), so a heap that was built anew has the same top as one that grew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.reorder.tide.state import AHEAD, FAR, OVERDUE, Records

__all__ = ["Heaps", "top_of", "update"]

Int64 = NDArray[np.int64]
_SPARE = 4096  # entries of heaps that have been given up, before all are built anew


class Heaps:
    """The heaps of those groups that have been needed so far, side by side in one array.

    `starts` and `sizes` say where a group's are (0: not there), `entry` has the sources, `place`
    where in its heap each source stands, `keys` what it is ordered by.
    """

    def __init__(self) -> None:
        self.starts, self.sizes = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.entry, self.place, self.keys = (np.zeros((2, 0), np.int64) for _ in range(3))
        self._named = np.zeros(0, bool)
        self._used, self._live = 1, 0

    def grow(self, groups: int, sources: int) -> None:
        """Have room."""
        if groups > len(self.starts):
            room = max(groups, 2 * len(self.starts))
            self.starts, self.sizes = (np.concatenate([a, np.zeros(room - len(a), np.int64)])
                                       if len(a) else np.zeros(room, np.int64)
                                       for a in (self.starts, self.sizes))
            self._named = np.zeros(room, bool)
        self.place, self.keys = (_wide(a, sources) for a in (self.place, self.keys))

    def drop(self, groups: Int64) -> None:
        """The sources of these groups have changed in number or state: build anew when needed."""
        there = groups[self.starts[groups] > 0]
        self._live -= int(self.sizes[self.distinct(there)].sum())
        self.starts[there] = 0

    def distinct(self, group: Int64) -> Int64:
        """These groups, each once."""
        return _distinct(group, self._named)

    def missing(self, groups: Int64) -> Int64:
        """Those of these groups whose heaps are not there."""
        return groups[self.starts[groups] == 0]

    def build(self, groups: Int64, members: Int64, sizes: Int64, sources: Records) -> None:
        """Build the heaps of groups that are not there, of these members, one after the other."""
        self._live += len(members)
        self.entry = _wide(self.entry, self._used + len(members))
        self.starts[groups] = self._used + np.cumsum(sizes) - sizes
        self.sizes[groups] = sizes
        _build(groups, members, self.starts, sizes, sources, self.entry, self.place, self.keys)
        self._used += len(members)

    def tidy(self) -> None:
        """Give up all heaps, if most of the room is taken by some that were given up."""
        if self._used > 2 * self._live + _SPARE:
            self.starts[:] = 0
            self._used, self._live = 1, 0


def _wide(array: Int64, columns: int) -> Int64:
    """The array with room for so many columns; what is new is not initialised."""
    if columns <= array.shape[1]:
        return array
    wide = np.empty((2, max(columns, 2 * array.shape[1], 16)), np.int64)
    wide[:, :array.shape[1]] = array
    return wide


@njit(cache=True)
def _distinct(group: Int64, named: NDArray[np.bool_]) -> Int64:
    found = np.empty(min(len(group), len(named)), np.int64)
    count = 0
    for g in group:
        if not named[g]:
            named[g] = True
            found[count] = g
            count += 1
    for g in found[:count]:
        named[g] = False
    return found[:count].copy()


@njit(cache=True)
def _build(groups: Int64, members: Int64, starts: Int64, sizes: Int64, sources: Records,
           entry: Int64, place: Int64, keys: Int64) -> None:
    for m in members:
        s = sources[m]
        keys[0, m] = s.edge if s.status == AHEAD else FAR
        keys[1, m] = -s.reach if s.status == OVERDUE else FAR
    at = 0
    for i in range(len(groups)):
        start = starts[groups[i]]
        for h in range(2):
            entry[h, start:start + sizes[i]] = members[at:at + sizes[i]]
            _heapify(entry[h], place[h], start, sizes[i], keys[h])
        at += sizes[i]


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
def _heapify(heap: Int64, place: Int64, start: int, size: int, keys: Int64) -> None:
    """Bring a group's sources into heap order."""
    for at in range(size):
        place[heap[start + at]] = at
    for at in range(size // 2 - 1, -1, -1):
        _down(heap, place, start, size, keys, at)


@njit(cache=True)
def update(heap: Int64, place: Int64, start: int, size: int, keys: Int64, item: int,
           key: int) -> None:
    """Give a source another key."""
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
    """The source with the least key; −1 if none holds anything back."""
    item = heap[start]
    return int(item) if keys[item] != FAR else -1
