"""The controller of `Tide`: how patient the group is, and each source's part in it.

Patience is a pure number: a source is waited for until `least + patience · spread` of its delays.
An event is late only if its own source's bound was passed, so each late event has a source that
answers for it: its patience grows.  At each arrival one source's bound is the least, the *binder*:
the others wait for it, and its patience shrinks, by `loss` times as much.  Summed up over all
sources, late events and `loss` times the arrivals cancel: the share of late events tends to `loss`
(adaptive conformal inference), and nobody pays who costs nobody a wait.

Most of each rise goes to what all have in common, so that many sources learn as fast as one; of
each fall it is half, so that those who are waited for in vain are told from the others.  New and
absent sources have one patience of their own: how late a first event is says nothing of the rest.
"""

from __future__ import annotations

import numpy as np

from slackwater.core.compiled import njit
from slackwater.reorder.tide.state import NOBODY, STRANGERS, Records

__all__ = [
    "WARM_UP",
    "answer",
    "answer_for_stranger",
    "count_row",
    "look_at",
    "patience_of",
    "pay",
    "stranger_reach",
]

WARM_UP = 10.0   # the warm-up takes so many / loss rows: what is promised over as many holds after
_ETA = 0.1       # a late event makes patience grow by this part; as slow as bursts allow
_LEAST = 2.0     # least patience: twice the usual is what a queue grows by between two looks at it
_BEYOND = 1.5    # patience grows to so many times what a late event needed: the next needs more
_SHARED = 0.75   # of what one source has taught is for all: stalls of one foretell those of others
_OWN = 0.25      # a source's own factor falls no lower: else the common one would grow for ever, as
                 # it takes more of the rises than of the falls, and newcomers have all of it
_TWICE = 2.0     # patience falls quickly to no less than twice the peak
_CREDIT = 3.0    # late rows that a long calm may save up: a stretch may have so many more
_DEBT = 300.0    # late rows beyond the target that are paid back at most: thirty stretches' worth,
                 # or what as many rows as there have been pay back: stalls of fast streams are long
_FAST = 1 / 512  # per arrival, while patience is beyond all that was ever needed;
_GUESSED = 4.0   # so many times that in the warm-up: what it starts with is a guess
_SETTLED = 8     # after so many events of a source, what its next ones need counts
_NEWS = 0.25     # an arrival that repeats its predecessor's delay still counts so much
_RANK = 1 / 16   # steps of the median, at first …
_SLOW = 1 / 64   # … and later


@njit(cache=True)
def patience_of(g: Records, factor: float) -> float:
    """The patience with a source."""
    return max(g.patience * factor, _LEAST)


@njit(cache=True)
def stranger_reach(g: Records, patience: float) -> int:
    """How long after its time an event of an unknown source will hardly arrive."""
    return int(np.ceil(g.least + (patience * g.spread if g.disorder > 0 else 0.0)))


@njit(cache=True)
def count_row(g: Records, late: bool, disordered: bool, loss: float) -> None:
    """Add up late rows, and rows out of order, beyond the target.

    As long as no more rows are out of order than may be late, there is nothing to wait for.
    """
    g.disorder = min(max(g.disorder + (1.0 if disordered else 0.0) - loss, -_CREDIT), _DEBT)
    most = max(_DEBT, loss * g.rows)
    g.debt = min(max(g.debt + (1.0 if late else 0.0) - loss, -_CREDIT), most)
    if g.rows == np.int64(WARM_UP / loss):
        g.debt = min(g.debt, 0.0)  # the promise begins here


@njit(cache=True)
def look_at(g: Records, s: Records, delay: float, loss: float) -> float:
    """See what an event would have needed; how much it tells that its predecessor did not."""
    news = 1.0
    if s.count > 0:
        news = min(1.0, abs(delay - s.delay) / max(s.spread, 1.0))
    g.evidence += news
    if s.count > _SETTLED:
        score = (delay - s.least) / max(s.spread, 1.0)
        g.peak = max(g.peak * (1 - loss / WARM_UP), score)
    return max(news, _NEWS)


@njit(cache=True)
def _fall(g: Records, by_clock: bool, fast: float, news: float, loss: float) -> float:
    """By which part patience with the binder falls, at least `fast`.

    The more credit, the faster; not while there is debt.  A binder that is held back by its
    frontier costs only what would be waited anyhow, and pays only from full credit.
    """
    credit = max(-g.debt, 0.0)
    step = 0.0
    if by_clock:
        step = _ETA * loss * credit
    elif credit >= _CREDIT - loss:
        step = _ETA * loss
    if g.debt <= 0 or g.rows < WARM_UP / loss:
        step = max(step, fast * max(credit, 1.0))
    return step * news


@njit(cache=True)
def _rise(g: Records, patience: float, need: float) -> float:
    """By which factor patience grows after a late event that needed so much of it."""
    if _BEYOND * need <= patience or g.debt <= 0:
        return 1.0
    return float(min(1 + _ETA, _BEYOND * need / patience))


@njit(cache=True)
def answer(g: Records, s: Records, time: int, delay: float) -> None:
    """A late event: make the group more patient with its source if there is debt."""
    need = (delay - s.least) / max(s.spread, 1.0)
    if s.swap > 0:
        need = max(need, (s.frontier - time) / s.swap)
    up = _rise(g, patience_of(g, s.patience), need)
    g.patience *= up**_SHARED
    s.patience *= up ** (1 - _SHARED)


@njit(cache=True)
def answer_for_stranger(g: Records, delay: float) -> None:
    """A late event of a new or absent source: make the group more patient with such."""
    g.stranger *= _rise(g, g.stranger, (delay - g.least) / max(g.spread, 1.0))


@njit(cache=True)
def learn_group(g: Records, delay: float) -> None:
    """Follow the low end of all delays, and the median distance from it: half may be wrong."""
    if g.rows == 1:
        g.least = delay
        return
    rate = max(_SLOW, 1.0 / g.rows)
    beyond = delay - g.least
    if beyond < 0:
        g.least += beyond if g.rows < 8 else max(beyond, -g.spread) / 4
    else:
        g.least += min(beyond, 4 * g.spread) * rate / 50
    if g.rows <= 8:
        g.spread += (abs(beyond) - g.spread) * rate
        return
    rank = 1 + (_RANK if g.rows < 256 else _SLOW)
    g.spread = max(g.spread * rank if abs(beyond) > g.spread else g.spread / rank, 1.0)


@njit(cache=True)
def binder_code(source: int, by_clock: bool) -> int:
    """Who binds, as one number."""
    return 2 * source + (0 if by_clock else 1)


@njit(cache=True)
def pay(g: Records, sources: Records, news: float, loss: float) -> int:
    """Charge the binder of this instant; its source, if that is one.

    Patience beyond all that was needed falls quickly once the clock decides.  In the warm-up it is
    a guess, and falls sooner with a source that has no rhythm: its silence says nothing.  A regular
    one that is silent is held up, and keeps it.
    """
    if g.binder == NOBODY:
        return -1
    # n events that told something have not shown what happens once in more than n
    enough = _TWICE * g.peak * max(1.0, 1.0 / max(g.evidence * loss, 1e-9))
    if g.binder == STRANGERS:
        step = _fall(g, True, _FAST if g.stranger > enough else 0.0, news, loss)
        g.stranger = max(g.stranger * (1 - step), _LEAST)
        return -1
    at = g.binder // 2
    s, by_clock, fast = sources[at], g.binder % 2 == 0, 0.0
    if g.patience * s.patience > enough:
        if (g.rows < WARM_UP / loss and s.edge <= s.frontier
                and g.now - s.edge > s.least + enough * s.spread):
            fast = _GUESSED * _FAST
        elif by_clock:
            fast = _FAST
    step, own = _fall(g, by_clock, fast, news, loss), s.patience
    if g.patience * own > _LEAST:
        own = max(own * (1 - step / 2), _OWN)
    if g.patience > _LEAST:
        g.patience *= (1 - step) * s.patience / own  # what its own part does not take, all take
    s.patience = own
    return int(at)
