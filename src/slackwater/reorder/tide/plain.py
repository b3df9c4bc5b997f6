"""The plain buffer that `Tide` keeps beside its sources: one buffer time for all of them.

Where silence tells nothing (thousands of sources that are hardly known, batches, stations that are
polled), waiting for each source takes longer than a buffer time would that keeps the same loss.  So
such a buffer is learned all the time, in the same way as patience: it grows by a step for each
event that is late by it, and shrinks by `loss` times as much for each other one.  The group follows
it where that makes events wait less.

Of the two only one decides what is late.  What the other would have made late is told by its
*mark*, the greatest time that it would have released; for that a few of the times that were the
greatest so far are kept, a tenth of the buffer apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.reorder.tide.account import STEP, STRETCH, step_of
from slackwater.reorder.tide.state import NEVER, Records

__all__ = ["behind", "choose", "fresh_tops", "learn_buffer", "note_top", "plain_threshold"]

Int64 = NDArray[np.int64]

_TOPS = 16       # times that are kept (a power of two), …
_LAST = _TOPS - 1
_APART = 0.1     # … so much of the buffer apart: together a buffer and a half
_BEYOND = 1.5    # the buffer grows to so many times what a late event needed
_AIM = 0.9       # of the loss is aimed at; the rest is for what the marks do not see
_INDEBTED = 10.0  # a debt of as many late rows as are remembered makes it grow so much faster
_MEMORY = 30.0   # mean waits remember so many / loss rows
_RATE = 1 / _MEMORY
_BEGIN = 0.3     # after so many / loss rows the two are compared
_MORE = 0.2      # the buffer is not followed if it has lost so much more than it may, and a row
_BETTER = 1.1    # … or if it waits less by less than this


def fresh_tops() -> Int64:
    """No times yet; the last place is for where the newest is."""
    tops = np.full(_TOPS + 1, NEVER)
    tops[_TOPS] = 0
    return tops


@njit(cache=True)
def note_top(tops: Int64, top: int, buffer: float) -> None:
    """Keep the greatest time so far, if it is far enough from the one kept last."""
    at = tops[_TOPS]
    if tops[at] == NEVER or (top > tops[at] and top - tops[at] >= _APART * buffer):
        at = (at + 1) & _LAST
        tops[at], tops[_TOPS] = top, at


@njit(cache=True)
def behind(tops: Int64, threshold: int) -> int:
    """The greatest of the times kept that is not beyond a threshold; NEVER: there is none."""
    at = tops[_TOPS]
    for k in range(_TOPS):
        time = tops[(at - k) & _LAST]
        if time <= threshold:
            return int(time)
    return int(NEVER)


@njit(cache=True)
def _next_greater(tops: Int64, top: int, time: int) -> int:
    """Of the times seen, about the least that is greater."""
    at, found = tops[_TOPS], top
    for k in range(_TOPS):
        kept = tops[(at - k) & _LAST]
        if kept <= time:
            return int(found)
        found = min(found, kept)
    return int(time)


@njit(cache=True)
def plain_threshold(g: Records, now: int) -> int:
    """The threshold that the plain buffer sets."""
    return int(now - np.int64(np.ceil(g.least + g.buffer)))


@njit(cache=True)
def learn_buffer(g: Records, tops: Int64, time: int, late: bool, odd: bool, loss: float) -> None:
    """Learn from an event that was late by the buffer (or would have been), or was not.

    One that is `odd` may come from a wrong clock: it makes the buffer grow by one step at most.
    """
    if late:
        need = float(g.now - _next_greater(tops, g.before, time)) - g.least
        if _BEYOND * need > g.buffer:
            step = step_of(g, g.buffer, loss)
            grow = min(step * (1 + _INDEBTED * step * max(g.debt_buffer, 0.0)), STEP)
            # what the first late events need, it has at once
            first = 0.0 if odd else need / (1 + loss * g.rows)
            g.buffer = min(max(g.buffer * (1 + grow), first), _BEYOND * need)
    elif g.debt_buffer <= 0:
        g.buffer *= 1 - step_of(g, g.buffer, loss) * loss * _AIM


@njit(cache=True)
def choose(g: Records, excess: float, wait: float, loss: float) -> None:
    """Follow what makes events wait less: `wait` is what this one waits for by the sources.

    The younger the stream, the more it takes to leave them.
    """
    rate = max(loss * _RATE, 1.0 / g.rows)
    g.wait_sources += (wait - g.wait_sources) * rate
    g.wait_buffer += (max(g.buffer - excess, 0.0) - g.wait_buffer) * rate
    allowed = loss * g.rows
    if g.plain == 1:
        lost = g.debt_buffer > STRETCH + _MORE * allowed and g.debt_sources <= 0
        g.plain = 0 if lost or g.wait_buffer > _BETTER * g.wait_sources else 1
    elif allowed >= _BEGIN and g.debt_buffer <= 1 + _MORE * allowed:
        g.plain = 1 if g.wait_buffer * max(_BETTER, 3 * STRETCH / allowed) < g.wait_sources else 0
