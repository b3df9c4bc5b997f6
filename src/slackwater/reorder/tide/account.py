"""What `Tide` owes: late rows beyond the target, the longest delays, and how fast waits may change.

Debts are kept apart for the two ways of waiting, the sources' bounds and the plain buffer; only one
of them decides what is late, and that debt is the one that is shown.
"""

from __future__ import annotations

import numpy as np

from slackwater.core.compiled import njit
from slackwater.reorder.tide.state import Records

__all__ = ["CREDIT", "SETTLED", "STEP", "STRETCH", "WARM_UP", "count_row", "learn_group",
           "learn_longest", "settle", "step_of"]

WARM_UP = 10.0   # the warm-up takes so many / loss rows: what is promised over as many holds after
STRETCH = 10.0   # late rows that a stretch of 10 / loss rows may have
STEP = 0.1       # a late event makes a wait grow by this part at most; as slow as bursts allow
CREDIT = 3.0     # late rows that a long calm may save up: a stretch may have so many more
_DEBT = 300.0    # late rows beyond the target that are paid back at most: thirty stretches' worth,
                 # or as many as all rows so far would pay back: stalls of fast streams are long
_WAITS = 30.0    # so many waits of its own length are remembered: many rows, in a fast stream
_ODD = 4.0       # one that a wrong clock may have made counts for so many times the longest at most
_FAR = 256.0     # a median so many times too great is halved: one of the first rows was wrong
_RANK = 1 / 16   # steps of the median, at first …
_SLOW = 1 / 64   # … and later
SETTLED = 256    # rows after which the median has settled, whatever the first ones were


@njit(cache=True)
def step_of(g: Records, wait: float, loss: float) -> float:
    """By which part a wait may change for one late event; `loss` times that for any other.

    It remembers 10 / loss rows, and thirty such waits; at the start, all that there has been.
    """
    if g.gap >= STEP * _WAITS * loss * wait:
        return STEP
    return float(min(STEP, max(g.gap / (_WAITS * loss * wait), 1.0 / (1.0 + loss * g.rows))))


@njit(cache=True)
def count_row(g: Records, late: bool, by_sources: bool, by_buffer: bool, disordered: bool,
              loss: float) -> None:
    """Add up late rows beyond the target: those that are, and those that either way of waiting has.

    As long as no more rows are out of order than may be late, there is nothing to wait for.
    """
    most = max(_DEBT, loss * g.rows)
    g.disorder = min(max(g.disorder + (1.0 if disordered else 0.0) - loss, -CREDIT), _DEBT)
    g.debt = min(max(g.debt + (1.0 if late else 0.0) - loss, -CREDIT), most)
    g.debt_sources = min(max(g.debt_sources + (1.0 if by_sources else 0.0) - loss, -CREDIT), most)
    g.debt_buffer = max(g.debt_buffer + (1.0 if by_buffer else 0.0) - loss, -CREDIT)
    if g.rows == np.int64(WARM_UP / loss):  # the promise begins here
        g.debt, g.debt_sources = min(g.debt, 0.0), min(g.debt_sources, 0.0)


@njit(cache=True)
def learn_longest(g: Records, excess: float, odd: bool, loss: float) -> None:
    """Follow the longest delay, beyond their low end."""
    size = min(excess, _ODD * max(g.longest, g.spread)) if odd else excess
    g.longest = max(g.longest * (1 - loss * step_of(g, g.longest, loss)), size)


@njit(cache=True)
def settle(g: Records, sources: Records, limit: float, start: float) -> None:
    """Forget what a wrong clock among the first rows has taught: by now the median knows better."""
    longest, at = 0.0, g.first
    while at >= 0:
        s = sources[at]
        if s.odd == 0 and s.least - g.least <= limit:
            longest = max(longest, s.least - g.least + s.most)
        at = s.after
    g.longest, g.buffer = min(g.longest, longest), min(g.buffer, longest)
    g.wait_sources = min(g.wait_sources, start * g.spread)
    g.wait_buffer = min(g.wait_buffer, longest)


@njit(cache=True)
def learn_group(g: Records, delay: float) -> None:
    """Follow the low end of all delays, and the median distance from it: half may be wrong."""
    if g.rows == 1:
        g.least = g.lowest = delay
        return
    rate = max(_SLOW, 1.0 / g.rows)
    beyond = delay - g.least
    if beyond < 0:
        g.least += beyond if g.rows < 8 else max(beyond, -g.spread) / 4
    else:
        g.least += min(beyond, 4 * g.spread) * rate / 50
    if g.least < g.lowest:
        # a clock that has become fast lowers what all are measured from: the others need as long
        # after their times as before
        g.buffer += g.lowest - g.least if g.rows > SETTLED else 0.0
        g.lowest = g.least
    if g.rows <= 8:
        g.spread += (abs(beyond) - g.spread) * rate
        return
    rank = 1 + (_RANK if g.rows < SETTLED else _SLOW)
    if g.rows < SETTLED and _FAR * abs(beyond) < g.spread:
        rank = 2.0
    g.spread = max(g.spread * rank if abs(beyond) > g.spread else g.spread / rank, 1.0)
