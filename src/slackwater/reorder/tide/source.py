"""One source as `Tide` sees it: how far it has come, and how soon its next event may be stamped."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slackwater.reorder.tide.state import (
    BASE,
    BLOCK,
    COUNT,
    DENSE,
    EXPECTED,
    FRONTIER,
    GAP,
    GAP_TIME,
    GREATEST,
    LEAST,
    LONGEST,
    NEVER,
    NO_SEQUENCE,
    PENDING,
    SCALE,
    SEEN,
    SPARSE,
    SQUARE,
    STEP,
)

__all__ = ["follow_silence", "frontier", "idle_after", "is_from_before", "is_old", "kind_of",
           "learn_gap", "move_on"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

_LEARNT = 8        # so many gaps, and the rhythm counts
_BLOCK = 64        # gaps over which the smallest is taken, at first fewer
_RELAX = 0.5       # part of the way from GAP to that smallest gap, once a block
_GIVE = 0.1        # a surprise takes this part of a mean gap off GAP; the next one twice as much …
_CALM = 1 - 1 / 16  # … unless it keeps still meanwhile
_BEYOND = 1.25     # a surprise while too many are late: more of the kind will come, and worse
_WORTH = 0.25      # a rhythm that foretells less than this part of a mean gap is none (Poisson)
_RARE = 5.0        # a Poisson source pauses longer than 1 + 5 mean gaps twice in a thousand times
_FORGET = 1 - 1 / 256  # of the longest silence, an event
_JUMP = 62         # sequence numbers further apart than this are a restart, not a gap


@njit(cache=True)
def frontier(whole: Int64, real: Float64) -> int:
    """The time that the next event of this source will not be older than."""
    return int(whole[FRONTIER] + np.int64(np.floor(foretold(whole, real))))


@njit(cache=True)
def foretold(whole: Int64, real: Float64) -> float:
    """How far beyond its frontier the next event will be; below zero if its events swap places."""
    gap = real[GAP]
    if whole[COUNT] <= _LEARNT or gap < _WORTH * real[SCALE]:
        return float(min(gap, 0.0))
    return float(gap)


@njit(cache=True)
def kind_of(whole: Int64, real: Float64, usual: float) -> int:
    """DENSE if a silence as long as two usual delays tells that something is held up."""
    if whole[COUNT] <= _LEARNT or foretold(whole, real) > 0:
        return DENSE
    spread = np.sqrt(max(real[SQUARE] - real[SCALE] ** 2, 0.0))
    return DENSE if real[SCALE] + _RARE * spread <= 2 * usual else SPARSE


@njit(cache=True)
def learn_gap(whole: Int64, real: Float64, gap: float, relax: bool, strict: bool) -> bool:
    """See how far beyond the frontier an event was; True if it was not foretold.

    A quantile by steps: a surprise takes a step off, and steps double while surprises follow each
    other; blocks without one bring it back towards their smallest gap, if `relax` gives leave.
    When far too many events were late (`strict`) a surprise counts in full and more.
    """
    surprise = gap < foretold(whole, real)
    size = abs(gap)
    real[SCALE] = size if whole[COUNT] <= 1 else real[SCALE] + (size - real[SCALE]) / 16
    rate = max(1 / 64, 1 / max(whole[COUNT], 1))
    real[SQUARE] += (size * size - real[SQUARE]) * rate
    least_step = _GIVE * real[SCALE]
    real[LEAST] = min(real[LEAST], gap)
    whole[BLOCK] += 1
    if whole[COUNT] < _LEARNT:
        real[GAP] = min(real[LEAST], 0.0)
        real[STEP] = least_step
        return surprise
    if whole[COUNT] == _LEARNT:
        real[GAP] = real[LEAST] - least_step
        real[STEP] = least_step
        whole[BLOCK], real[LEAST] = 0, np.inf
        return surprise
    if surprise:
        if strict:
            real[GAP] = min(real[GAP], _BEYOND * min(gap, 0.0))
        else:
            real[GAP] = max(real[GAP] - real[STEP], min(gap - least_step, 0.0))
        real[STEP] *= 2
    else:
        real[STEP] = max(real[STEP] * _CALM, least_step)
    if whole[BLOCK] >= min(_BLOCK, whole[COUNT] // 2):
        if relax and real[LEAST] > real[GAP]:
            real[GAP] += _RELAX * (real[LEAST] - real[GAP])
        whole[BLOCK], real[LEAST] = 0, np.inf
    return surprise


@njit(cache=True)
def follow_silence(whole: Int64, real: Float64, now: int, most: float) -> None:
    """Learn the longest usual silence; one outage stretches it only to `most`."""
    if whole[SEEN] != NEVER:
        silence = min(float(now - whole[SEEN]), most)
        real[LONGEST] = max(silence, real[LONGEST] * _FORGET)
    whole[SEEN] = max(whole[SEEN], now)


@njit(cache=True)
def idle_after(real: Float64, timeout: float, patience: float) -> float:
    """The silence after which nobody waits for a source any more."""
    return float(max(3 * real[LONGEST], 2 * timeout, patience))


@njit(cache=True)
def is_old(whole: Int64, time: int, sequence: int) -> bool:
    """Whether the sequence number says that nobody waits for this event: a copy, or given up."""
    return bool(sequence != NO_SEQUENCE and whole[GREATEST] != NEVER
                and sequence < whole[EXPECTED] and time <= whole[GREATEST])


@njit(cache=True)
def is_from_before(whole: Int64, time: int, sequence: int) -> bool:
    """Whether the sequence number says that it was sent before the first one, or before a jump."""
    return is_old(whole, time, sequence) and bool(sequence < whole[BASE])


@njit(cache=True)
def move_on(whole: Int64, time: int, sequence: int, given_up: int) -> None:
    """Take in an event: the frontier goes up to it, or to the first missing sequence number.

    A missing event whose time has been released anyway (`given_up`) is not waited for.
    """
    first = whole[GREATEST] == NEVER
    newest = first or time > whole[GREATEST]
    whole[GREATEST] = max(whole[GREATEST], time)
    if sequence == NO_SEQUENCE:
        whole[FRONTIER] = max(whole[FRONTIER], whole[GREATEST])
        return
    if whole[GAP_TIME] != NEVER and whole[GAP_TIME] <= given_up:
        _close_gap(whole)
    ahead = sequence - whole[EXPECTED]
    if first or (newest and ahead < 0) or ahead > _JUMP:
        # the first event, or a producer that numbers anew
        _close_gap(whole)
        whole[EXPECTED] = sequence + 1
        whole[BASE] = sequence
    elif ahead == 0:
        whole[EXPECTED] += 1
        while whole[PENDING] & 1:
            whole[PENDING] >>= 1
            whole[EXPECTED] += 1
        whole[PENDING] >>= 1
        if whole[PENDING] == 0:
            whole[FRONTIER] = max(whole[FRONTIER], whole[GREATEST])
            whole[GAP_TIME] = NEVER
        else:
            # another number is missing; that event is not older than the one that has come now
            whole[FRONTIER] = max(whole[FRONTIER], time)
            whole[GAP_TIME] = whole[GREATEST]
    elif ahead > 0:
        whole[PENDING] |= np.int64(1) << np.int64(ahead - 1)
        if whole[GAP_TIME] == NEVER:
            whole[GAP_TIME] = time


@njit(cache=True)
def _close_gap(whole: Int64) -> None:
    """Stop waiting for what is missing: expect the number after the greatest seen."""
    whole[FRONTIER] = max(whole[FRONTIER], whole[GREATEST])
    if whole[PENDING] != 0:
        whole[EXPECTED] += 1
        while whole[PENDING] != 0:
            whole[PENDING] >>= 1
            whole[EXPECTED] += 1
    whole[GAP_TIME] = NEVER
