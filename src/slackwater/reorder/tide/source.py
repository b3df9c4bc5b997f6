"""One source as `Tide` sees it: how far it has come, and how soon its next event may be stamped."""

from __future__ import annotations

import numpy as np

from slackwater.core.compiled import njit
from slackwater.reorder.tide.state import NEVER, NO_SEQUENCE, Records

__all__ = ["MISSED", "edge_of", "is_old", "learn_delay", "learn_gap", "learn_silence", "move_on",
           "overdue", "queued", "reach_of"]

_MEMORY = 1 / 64   # weight of a new observation in a mean, once there are that many
_CLIP = 4.0        # an observation counts for no more than so many times the mean: one is no rule
_DRIFT = 1 / 50    # the low end of delays rises so much more slowly than a mean would
_SETTLED = 8       # so many events, and a rhythm counts
_FIRST = 16.0      # of its first ones for no more than so much, or the greatest one before it
MISSED = 8.0       # a source that misses so many of its events is held up, not just quiet
_MARGIN = 10.0     # a rhythm foretells the low end of the gaps less so many times their spread
_JUMP = 62         # sequence numbers further apart than this are a restart, not a gap


@njit(cache=True)
def edge_of(s: Records, patience: float) -> int:
    """The time that its next event will not be older than, by what it has shown.

    Its frontier; beyond it by its rhythm (a Poisson source has none), before it if its events swap.
    """
    ahead = 0.0
    if s.count > 2:
        ahead = max(s.low - _MARGIN / min(s.count - 1, _SETTLED) * (s.gap - s.low), 0.0)
    return int(s.frontier + np.int64(np.floor(ahead - patience * s.swap)))


@njit(cache=True)
def reach_of(s: Records, wait: float) -> int:
    """How long after its time an event of this source will hardly arrive."""
    return int(np.ceil(s.least + wait))


@njit(cache=True)
def overdue(s: Records, now: int) -> bool:
    """Whether it has been silent for longer than its delays explain.

    One that is catching up (its last delay is beyond its reach) has as long as it was beyond, but
    no longer than a source that is held up.
    """
    return bool(now > max(s.edge + s.reach, s.seen + min(s.delay - s.reach, MISSED * s.gap)))


@njit(cache=True)
def queued(s: Records, time: int, now: int) -> float:
    """How far an event came behind its predecessor and not by itself, between 0 and 1.

    What was held up (or is sent again) together arrives faster than it was made: all of it is one
    observation.
    """
    if s.seen == NEVER:
        return 0.0
    last = s.seen - s.delay
    made = time - (last if s.frontier == NEVER else min(s.frontier, last))
    return 1.0 - min(1.0, (now - s.seen) / made) if made > 0 else 0.0


@njit(cache=True)
def learn_delay(s: Records, delay: float, spread: float, weight: float) -> None:
    """Follow the low end of its delays, and their mean distance from it.

    What was queued behind another counts as far as it came by itself; `spread` is what is usual in
    the group.
    """
    if s.count == 0:
        s.least, s.spread = delay, spread
        return
    rate = max(_MEMORY, 1.0 / (s.count + 1)) * weight
    beyond = delay - s.least
    if beyond < 0:
        s.least += beyond if s.count < _SETTLED else max(beyond, -s.spread) / 4
    else:
        s.least += min(beyond, _CLIP * s.spread) * rate * _DRIFT
    most = _CLIP * s.spread
    if s.count <= _SETTLED:  # its own mean is an accident yet
        most = max(_FIRST * max(s.spread, spread), s.most)
    size = min(abs(beyond), most + 1)  # one microsecond, lest nothing ever grows
    s.most = max(s.most, abs(beyond))
    s.spread += (size - s.spread) * rate


@njit(cache=True)
def learn_gap(s: Records, gap: float, weight: float) -> None:
    """Follow the mean and the low end of its gaps, and how far its events swap places."""
    rate = max(_MEMORY, 1.0 / s.count)
    s.swap += (max(-gap, 0.0) - s.swap) * rate * weight
    gap = max(gap, 0.0)
    if s.count == 1:
        s.low = s.gap = gap
    size = gap
    if s.count > _SETTLED:  # before that the mean itself is an accident: the first gap may be none
        size = min(gap, _CLIP * s.gap + 1)
    s.gap += (size - s.gap) * rate
    if gap < s.low:
        s.low = max(gap, s.low - s.gap / 4)
    else:
        # half as fast as the mean settles: a low end that is still rising foretells too much
        s.low += (min(gap, 2 * s.gap) - s.low) * max(_MEMORY, 0.5 / s.count)


@njit(cache=True)
def learn_silence(s: Records, now: int) -> None:
    """Follow its longest silence, which fades as time goes by."""
    if s.seen != NEVER:
        silence = float(now - s.seen)
        s.longest = max(s.longest - silence / 16, silence)
    s.seen = now


@njit(cache=True)
def is_old(s: Records, time: int, sequence: int) -> bool:
    """Whether the sequence number says that nobody waits for this event: a copy, or given up."""
    return bool(sequence != NO_SEQUENCE and s.newest != NEVER and sequence < s.expected
                and time <= s.newest)


@njit(cache=True)
def move_on(s: Records, time: int, sequence: int, given_up: int) -> None:
    """Take in an event: the frontier goes up to it, or to the first missing sequence number.

    A missing event whose time has been released anyway (`given_up`) is not waited for.
    """
    first = s.newest == NEVER
    newest = first or time > s.newest
    s.newest = max(s.newest, time)
    if sequence == NO_SEQUENCE:
        s.frontier = max(s.frontier, s.newest)
        return
    if s.gap_time != NEVER and s.gap_time <= given_up:
        _close_gap(s)
    ahead = sequence - s.expected
    if first or (newest and ahead < 0) or ahead > _JUMP:
        # the first event, or a producer that numbers anew
        _close_gap(s)
        s.expected = sequence + 1
    elif ahead == 0:
        s.expected += 1
        while s.pending & 1:
            s.pending >>= 1
            s.expected += 1
        s.pending >>= 1
        if s.pending == 0:
            s.frontier = max(s.frontier, s.newest)
            s.gap_time = NEVER
        else:
            # another number is missing; that event is not older than the one that has come now
            s.frontier = max(s.frontier, time)
            s.gap_time = s.newest
    elif ahead > 0:
        s.pending |= np.int64(1) << np.int64(ahead - 1)
        if s.gap_time == NEVER:
            s.gap_time = time


@njit(cache=True)
def _close_gap(s: Records) -> None:
    """Stop waiting for what is missing: expect the number after the greatest seen."""
    s.frontier = max(s.frontier, s.newest)
    if s.pending != 0:
        s.expected += 1
        while s.pending != 0:
            s.pending >>= 1
            s.expected += 1
    s.gap_time = NEVER
