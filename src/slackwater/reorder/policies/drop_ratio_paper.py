"""The buffer of paper 4, to the letter: a number of events, in a circular array over time.

Time is cut into cells; a cell counts the events held with a time in it, so an arrival costs O(1).
When there are more events than the estimated size, the earliest cells leave.  What is in the cells
is known to the reorder kernel; here only the threshold is found that it is to release up to.

Algorithm 1 drops an event that is earlier than the earliest one *held*, even if nothing after it
has left.  With ``earliest`` that is so here: nothing before the earliest cell in use is let in any
more, so waiting longer would be of no use to that cell, and the kernel is told to release it; the
count of events held, by which the buffer is full, goes on as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.errors import SnapshotError
from slackwater.core.events import NEVER
from slackwater.core.kernel import Store
from slackwater.core.release import Walk, release_by
from slackwater.core.state.record import Record
from slackwater.reorder.estimator import Estimator, Float64, Int64, Seen

__all__ = ["PaperEstimator", "buffer_size", "simple_buffer_size"]

_HIGH_RATE = 1e4  # µs between arrivals: at 100 a second and above, Equation 12 does

# whole numbers of a group: events seen, size of the buffer (0: not yet estimated), events held,
# first cell in use, last cell in use, samples kept, where the next goes, last estimate's arrival
SEEN, SIZE, HELD, FIRST, LAST, KEPT, AT, SINCE = range(8)


@njit(cache=True)
def buffer_size(z: float, sigma: float, theta: float) -> int:
    """Equation 11: how many events to hold.

    Examples
    --------
    For many events a second it is √2·z·σ·λ:

    >>> buffer_size(2.326, 1.0, 1e-4), round(2**0.5 * 2.326 * 1.0 * 1e4)
    (32898, 32895)
    """
    c = z * z
    return max(30, int(np.ceil((c + np.sqrt(c * c + 8 * c * sigma**2 / theta**2)) / 2)))


@njit(cache=True)
def simple_buffer_size(z: float, sigma: float, theta: float) -> int:
    """Equation 12, for high rates.

    Examples
    --------
    >>> simple_buffer_size(2.326, 1.0, 1e-4)
    32895
    """
    return max(30, int(np.ceil(np.sqrt(2.0) * z * sigma / theta)))


class PaperEstimator(Estimator):
    """Algorithm 1, for any number of groups."""

    exact = True

    def __init__(self, *, z: float, sample_every: int, estimate_every: int, samples: int,
                 tick: int, store: Store, earliest: bool = False,
                 reservoir: bool = False) -> None:
        self._z, self._every, self._estimate = z, sample_every, estimate_every
        self._tick, self._store = tick, store
        self._earliest, self._reservoir = earliest, reservoir
        self._samples = max(samples, -(-estimate_every // sample_every))
        self._state: list[tuple[Int64, NDArray[np.float64], Int64]] = []
        self._threshold, self.buffers = np.zeros(0, np.int64), np.zeros(0)

    def grow(self, groups: int, sources: int) -> None:
        """Have room."""
        while len(self._state) < groups:
            self._state.append(self._fresh())

    def reset(self, groups: Int64) -> None:
        """Start these groups afresh."""
        for g in groups:
            self._state[g] = self._fresh()

    def _fresh(self) -> tuple[Int64, NDArray[np.float64], Int64]:
        return (np.zeros(8, np.int64), np.zeros((3, self._samples)), np.zeros(1024, np.int64))

    def look(self, seen: Seen) -> Int64:
        """See arrivals; θ is the end of the last cell that has left."""
        theta = np.empty(len(seen), np.int64)
        self.buffers = np.empty(len(seen))
        for g in np.unique(seen.group):
            rows = np.flatnonzero(seen.group == g)
            whole, sampled, cells = self._state[g]
            theta[rows], self.buffers[rows], cells = _run(
                seen.time[rows], seen.arrival[rows], whole, sampled, cells, self._z,
                self._every, self._estimate, self._tick, self._earliest, self._reservoir)
            self._state[g] = (whole, sampled, cells)
        self._threshold = theta
        return theta

    def advance(self, seen: Seen, walk: Walk) -> Float64:
        """Release by the thresholds that `look` has found."""
        release_by(walk, self._threshold)
        return self.buffers

    def thresholds(self, groups: Int64, now: Int64) -> Int64:
        """Time alone releases nothing: the buffer is full or it is not."""
        state = (self._state[g] for g in groups.tolist())
        return np.array([_threshold(whole, cells, self._tick, self._earliest)
                         for whole, _, cells in state], np.int64)

    def save(self) -> dict[str, Any]:
        """Write everything: the cells change all over."""
        for g, (whole, sampled, cells) in enumerate(self._state):
            self._store.put(f"paper-buffer/{g}", Record("paper-buffer", 2, {}, {
                "whole": whole, "sampled": sampled, "cells": cells}).encode())
        return {"groups": len(self._state), "samples": self._samples, "tick": self._tick}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        if (meta["samples"], meta["tick"]) != (self._samples, self._tick):
            raise SnapshotError("`samples` and `tick` cannot change over a restart",
                                step="restore DropRatio")
        self._state = []
        for g in range(meta["groups"]):
            arrays = Record.decode(self._store.get(f"paper-buffer/{g}"), kind="paper-buffer",
                                   version=2).arrays
            self._state.append((arrays["whole"], arrays["sampled"], arrays["cells"]))


@njit(cache=True)
def _threshold(whole: Int64, cells: Int64, tick: int, earliest: bool) -> int:
    if whole[SEEN] == 0:
        return NEVER
    if not earliest or whole[SIZE] == 0:
        return whole[FIRST] * tick - 1
    first = whole[FIRST]
    while first < whole[LAST] and cells[first % len(cells)] == 0:
        first += 1
    whole[FIRST] = first  # what lies before the earliest event held is late from now on
    return (first + 1) * tick - 1


@njit(cache=True)
def _place(whole: Int64, m: int, reservoir: bool) -> np.int64:
    """Where the next sample goes: after the last one, or anywhere in a reservoir that is full."""
    if not reservoir or whole[KEPT] < m:
        return np.int64(whole[AT])
    # a hash of the running number in place of a generator: the same input, the same sample
    x = np.uint64(whole[SEEN]) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(32)
    return np.int64(x % np.uint64(m))


@njit(cache=True)
def _run(time: Int64, arrival: Int64, whole: Int64, sampled: NDArray[np.float64], cells: Int64,
         z: float, every: int, estimate: int, tick: int, earliest: bool,
         reservoir: bool) -> tuple[Int64, Float64, Int64]:
    n = len(time)
    theta, buffer = np.empty(n, np.int64), np.empty(n)
    m = sampled.shape[1]
    for j in range(n):
        theta[j] = _threshold(whole, cells, tick, earliest)
        if whole[SEEN] % every == 0:
            at = _place(whole, m, reservoir)
            sampled[0, at] = float(arrival[j] - time[j])
            sampled[1, at] = float(arrival[j])
            sampled[2, at] = float(whole[SEEN])
            whole[AT] = (at + 1) % m
            whole[KEPT] = min(whole[KEPT] + 1, m)
        kept = whole[KEPT]
        due = whole[SEEN] % estimate == 0 or arrival[j] - whole[SINCE] >= 1_000_000
        if due and kept >= 2 and whole[SEEN] >= min(estimate, 30):
            sigma = sampled[0, :kept].std()
            span = sampled[1, :kept].max() - sampled[1, :kept].min()
            # a reservoir's samples are not equally far apart: their numbers tell how far
            number = sampled[2, :kept].max() - sampled[2, :kept].min()
            between = max(span / max(number, 1.0), 1e-3)
            whole[SIZE] = (buffer_size(z, sigma, between) if between > _HIGH_RATE
                           else simple_buffer_size(z, sigma, between))
            whole[SINCE] = arrival[j]
        cell = time[j] // tick
        if whole[SEEN] == 0:
            whole[FIRST] = whole[LAST] = cell
            whole[SINCE] = arrival[j]
        whole[SEEN] += 1
        if cell < whole[FIRST] and whole[SIZE] == 0:
            # nothing has left yet: the array may still begin earlier
            cells = _room(cells, whole, cell, whole[LAST])
            whole[FIRST] = cell
        if cell >= whole[FIRST]:
            if cell - whole[FIRST] >= len(cells):
                cells = _room(cells, whole, whole[FIRST], cell)
            whole[LAST] = max(whole[LAST], cell)
            cells[cell % len(cells)] += 1
            whole[HELD] += 1
        while whole[SIZE] > 0 and whole[HELD] > whole[SIZE] and whole[FIRST] < whole[LAST]:
            place = whole[FIRST] % len(cells)
            whole[HELD] -= cells[place]
            cells[place] = 0
            whole[FIRST] += 1
        buffer[j] = max(float(arrival[j] - whole[FIRST] * tick), 0.0)
    return theta, buffer, cells


@njit(cache=True)
def _room(cells: Int64, whole: Int64, first: int, last: int) -> Int64:
    """An array that reaches from cell `first` to cell `last`."""
    size = len(cells)
    while size <= last - first:
        size *= 2
    if size == len(cells):
        return cells
    grown = np.zeros(size, np.int64)
    for cell in range(whole[FIRST], whole[LAST] + 1):
        grown[cell % size] = cells[cell % len(cells)]
    return grown
