"""Compiled walks over the slots of arrivals: numbering them, and finding silences.

Enters: slots and arrivals, in order.  Leaves: numbers.  May import: events.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.events import NEVER

__all__ = ["first_arrivals", "first_rows", "local_numbers", "positions", "silences"]

Int64 = NDArray[np.int64]


def positions(slots: Int64, wanted: Int64) -> Int64:
    """Where each of `wanted` stands in `slots`."""
    if len(slots) == 1:
        return np.zeros(len(wanted), np.int64)
    if (slots[1:] > slots[:-1]).all():
        return np.searchsorted(slots, wanted)
    order = np.argsort(slots)
    return order[np.searchsorted(slots[order], wanted)]


@njit(cache=True, nogil=True)
def local_numbers(slot: Int64, numbers: Int64) -> tuple[Int64, Int64]:
    """Number the slots 0, 1… in order of appearance; `numbers` is −1 everywhere, and again so."""
    key = np.empty(len(slot), np.int64)
    slots = np.empty(min(len(slot), len(numbers)), np.int64)
    count = 0
    for j in range(len(slot)):
        at = numbers[slot[j]]
        if at < 0:
            at = numbers[slot[j]] = count
            slots[count] = slot[j]
            count += 1
        key[j] = at
    slots = slots[:count].copy()
    for s in slots:
        numbers[s] = -1
    return key, slots


@njit(cache=True, nogil=True)
def silences(slot: Int64, arrival: Int64, at: int, clock: Int64, numbers: Int64,
              forget_after: int) -> tuple[int, Int64]:
    """Up to which row keys go on without starting afresh, and who does so with its first row."""
    again = np.empty(len(slot) - at, np.int64)
    count, stop = 0, len(slot)
    for j in range(at, len(slot)):
        s = slot[j]
        before = clock[s] if numbers[s] < 0 else arrival[numbers[s]]
        if before != NEVER and arrival[j] - before > forget_after:
            if numbers[s] >= 0:
                stop = j
                break
            again[count] = s
            count += 1
        if numbers[s] < 0 or arrival[j] > arrival[numbers[s]]:
            numbers[s] = j
    for j in range(at, stop):
        numbers[slot[j]] = -1
    return stop, again[:count]


def first_arrivals(slot: Int64, arrival: Int64, at: int, begun: Int64, numbers: Int64) -> Int64:
    """The arrival of each slot's first row from `at` on; NEVER for one whose row is in doubt."""
    row = first_rows(slot, at, begun, numbers)
    return np.where(row < 0, NEVER, arrival[row]) if len(arrival) else np.full(len(row), NEVER)


@njit(cache=True, nogil=True)
def first_rows(slot: Int64, at: int, begun: Int64, numbers: Int64) -> Int64:
    """Each slot's first row from `at` on; −1 for one that has none."""
    for j in range(len(slot) - 1, at - 1, -1):
        numbers[slot[j]] = j
    first = numbers[begun]
    for j in range(at, len(slot)):
        numbers[slot[j]] = -1
    return first
