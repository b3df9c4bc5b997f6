"""The controller of `Tide`'s sources: how patient the group is, and each source's part in it.

Patience is a pure number: a source is waited for until `least + patience · spread` of its delays,
but for no longer than twice the longest delay (`allow`).  An event is late only if its own
source's bound was passed, so each late event has a source that answers for it: its patience grows.
At each arrival one source's bound is the least, the *binder*: the others wait for it, and its
patience shrinks, by `loss` times as much.  Summed up over all sources, late events and `loss` times
the arrivals cancel: the share of late events tends to `loss` (adaptive conformal inference), and
nobody pays who costs nobody a wait.

Most of each rise goes to what all have in common, so that many sources learn as fast as one; of
each fall it is half, so that those who are waited for in vain are told from the others.  New and
absent sources have one patience of their own: how late a first event is says nothing of the rest.
"""

from __future__ import annotations

import numpy as np

from slackwater.core.compiled import njit
from slackwater.reorder.tide.account import CREDIT, SETTLED, STEP, WARM_UP, step_of
from slackwater.reorder.tide.state import FAR, NOBODY, STRANGERS, Records

__all__ = ["allow", "answer", "answer_for_stranger", "binder_code", "patience_of", "pay",
           "stranger_reach", "wait_for"]

_LEAST = 2.0     # least patience: a queue may double between two looks at it
_BEYOND = 1.5    # patience grows to so many times what a late event needed: the next needs more
_LONGEST = 2.0   # nobody is waited for longer than so many times the longest delay
_CHEAP = 0.1     # where the sources wait so much less than the plain buffer, both are doubled
_SHARED = 0.75   # of what one source has taught is for all: stalls of one foretell those of others
_OWN = 0.25      # a source's own factor falls no lower: else the common one would grow for ever, as
                 # it takes more of the rises than of the falls, and newcomers have all of it
_FAST = 1 / 512  # per arrival, while patience is beyond all that was ever needed;
_FIRST = 8.0     # the longest of the first delays is no longer than so many times the median
_GUESSED = 4.0   # so many times that in the warm-up: what it starts with is a guess


@njit(cache=True)
def patience_of(g: Records, factor: float) -> float:
    """The patience with a source."""
    return max(g.patience * factor, _LEAST)


@njit(cache=True)
def _is_cheap(g: Records) -> bool:
    return bool(g.wait_sources < _CHEAP * g.wait_buffer)


@njit(cache=True)
def wait_for(g: Records, s: Records) -> float:
    """For how long a source is waited for, beyond the low end of its delays."""
    if g.disorder <= 0:
        return 0.0
    return float(min(patience_of(g, s.patience) * s.spread, s.allowed))


@njit(cache=True)
def allow(g: Records, s: Records, loss: float) -> None:
    """Limit the wait for a source to twice the longest delay of all.

    What it starts with is a guess, and longer: that may stay, or fall, but it does not grow.
    """
    most = (2 * _LONGEST if _is_cheap(g) else _LONGEST) * g.longest
    if g.rows < SETTLED or (s.count == 1 and g.rows < WARM_UP / loss):
        s.allowed = float(FAR)
    elif s.count == 1:
        s.allowed = most
    else:
        s.allowed = max(most, min(s.allowed, patience_of(g, s.patience) * s.spread))


@njit(cache=True)
def stranger_reach(g: Records, patience: float, loss: float) -> int:
    """How long after its time an event of an unknown source will hardly arrive."""
    if g.disorder <= 0:
        return int(np.ceil(g.least))
    most = float(FAR)
    if g.rows >= SETTLED:
        most = _LONGEST * g.longest * max(1.0, WARM_UP / (loss * g.rows))
    return int(np.ceil(g.least + min(patience * g.spread, most)))


@njit(cache=True)
def _rise(g: Records, patience: float, need: float) -> float:
    """By which factor patience grows after a late event that needed so much of it."""
    beyond = 2 * _BEYOND if _is_cheap(g) else _BEYOND
    if beyond * need <= patience or g.debt_sources <= 0:
        return 1.0
    return float(min(1 + STEP, beyond * need / patience))


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
def _fall(g: Records, by_clock: bool, fast: float, wait: float, loss: float) -> float:
    """By which part patience with a binder that is waited for so long falls, at least `fast`.

    The more credit, the faster; not while there is debt, nor where there is next to nothing to be
    gained.  A binder that is held back by its frontier costs only what would be waited anyhow, and
    pays only from full credit.
    """
    if _is_cheap(g):
        return 0.0
    credit, step = max(-g.debt_sources, 0.0), 0.0
    if by_clock:
        step = step_of(g, wait, loss) * loss * credit
    elif credit >= CREDIT - loss:
        step = step_of(g, wait, loss) * loss
    if g.debt_sources <= 0 or g.rows < WARM_UP / loss:
        step = max(step, fast * max(credit, 1.0))
    return step


@njit(cache=True)
def binder_code(source: int, by_clock: bool) -> int:
    """Who binds, as one number."""
    return 2 * source + (0 if by_clock else 1)


@njit(cache=True)
def pay(g: Records, sources: Records, loss: float) -> int:
    """Charge the binder of this instant; its source, if that is one.

    Patience beyond all that was needed falls quickly once the clock decides.  In the warm-up it is
    a guess, and falls sooner with a source that has no rhythm: its silence says nothing.  A regular
    one that is silent is held up, and keeps it.
    """
    if g.binder == NOBODY:
        return -1
    # n events have not shown what happens once in more than n; the first ones may be wrong
    longest = g.longest if g.rows >= SETTLED else min(g.longest, _FIRST * g.spread)
    enough = _LONGEST * longest * max(1.0, 1.0 / (loss * g.rows))
    if g.binder == STRANGERS:
        wait = g.stranger * g.spread
        fall = _fall(g, True, _FAST if wait > enough else 0.0, wait, loss)
        g.stranger = max(g.stranger * (1 - fall), _LEAST)
        return -1
    at = g.binder // 2
    s, by_clock, fast = sources[at], g.binder % 2 == 0, 0.0
    wait = float(s.reach) - s.least
    if wait > enough:
        if (g.rows < WARM_UP / loss and s.edge <= s.frontier
                and g.now - s.edge > s.least + enough):
            fast = _GUESSED * _FAST
        elif by_clock:
            fast = _FAST
    fall, own = _fall(g, by_clock, fast, wait, loss), s.patience
    if g.patience * own > _LEAST:
        own = max(own * (1 - fall / 2), _OWN)
    if g.patience > _LEAST:
        g.patience *= (1 - fall) * s.patience / own  # what its own part does not take, all take
    s.patience = own
    return int(at)
