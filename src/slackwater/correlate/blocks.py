"""Compiled walks over arrivals: the clock at each of them, and when a block is full."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["follow_into", "full_blocks"]

Int64 = NDArray[np.int64]


@njit(cache=True)
def follow_into(arrival: Int64, key: Int64, clock: Int64, out: Int64) -> None:
    """The clock of a key at each arrival: its greatest arrival so far."""
    for j in range(len(arrival)):
        clock[key[j]] = max(clock[key[j]], arrival[j])
        out[j] = clock[key[j]]


@njit(cache=True)
def full_blocks(clock: Int64, waiting: int, since: int, block: int, every: int) -> Int64:
    """After how many of the new rows a block is full, by count or by time."""
    ends = np.empty(len(clock), np.int64)
    n = 0
    for j in range(len(clock)):
        if waiting == 0:
            since = clock[j]
        waiting += 1
        if waiting >= block or clock[j] - since >= every:
            ends[n] = j + 1
            n += 1
            waiting = 0
    return ends[:n]
