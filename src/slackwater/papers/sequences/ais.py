"""Active instance stacks as paper 5 has them, to the letter, for ``SEQ(E1, …, Em) WITHIN W``.

Our own matcher goes further (it bisects, pushes the window into construction, partitions by
equality), so what each of the paper's optimisations is worth cannot be read off it.  Here are its
Algorithms 1 to 3 and nothing else:

- *sort semantics*: the place of an event is found by walking down from the top of its stack, its
  RIP likewise in the stack before, and every RIP of the stack after is checked;
- *AIS-CLOCK* (`clock`): an event that is not before the greatest one in the stacks is appended,
  touches no other pointer, and starts a construction only if it is of the last type;
- *purge* (Algorithm 3, `purge`): whenever CLOCK, the greatest timestamp received, moves, all stacks
  are rid of what is older than CLOCK − W − K;
- *divider* (`divider`): construction by an in-order event leaves out what is older than CLOCK − W.
  Events of other types move CLOCK too: if one is ahead of an in-order event of the last type, the
  divider hides instances that are still in the window, and matches are lost.

``BUILT`` counts sequences that are constructed, ``MATCHES`` those that the window lets pass,
``LOOKED`` instances that are looked at or moved to put an event into its place and set RIPs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["BUILT", "CLOCK", "HELD", "LOOKED", "MATCHES", "STEPS", "Ais", "new_ais", "push",
           "push_ordered", "stacks"]

Int64 = NDArray[np.int64]
AIS_CLOCK, CLOCK, BUILT, MATCHES, HELD, STEPS, LOOKED = range(7)
_NONE = np.iinfo(np.int64).min


class Ais(NamedTuple):
    """Stacks in columns; an instance is its timestamp, its RIP a position in the stack before."""

    time: Int64
    rip: Int64
    base: Int64
    size: Int64
    divider: Int64
    tally: Int64
    chain: Int64


def new_ais(types: int, room: int) -> Ais:
    """Empty stacks with room for so many instances each."""
    count = np.zeros(7, np.int64)
    count[AIS_CLOCK] = count[CLOCK] = _NONE
    none = np.zeros(types, np.int64)
    return Ais(np.zeros((types, room), np.int64), np.zeros((types, room), np.int64), none.copy(),
               none.copy(), none.copy(), count, none.copy())


def stacks(ais: Ais) -> list[list[tuple[int, int | None]]]:
    """What is in the stacks: (timestamp, timestamp its RIP points to)."""
    found = []
    for s in range(len(ais.size)):
        own: list[tuple[int, int | None]] = []
        for i in range(ais.base[s], ais.size[s]):
            at = ais.rip[s, i]
            before = s > 0 and at >= ais.base[s - 1]
            own.append((int(ais.time[s, i]), int(ais.time[s - 1, at]) if before else None))
        found.append(own)
    return found


@njit(cache=True)
def _purge(a: Ais, oldest: int, current: int, purge: bool) -> None:
    for s in range(len(a.size)):
        while purge and a.base[s] < a.size[s] and a.time[s, a.base[s]] < oldest:
            a.base[s] += 1
        a.divider[s] = max(a.divider[s], a.base[s])
        while a.divider[s] < a.size[s] and a.time[s, a.divider[s]] < current:
            a.divider[s] += 1


@njit(cache=True)
def _count(a: Ais, window: int) -> None:
    a.tally[BUILT] += 1
    if a.chain[-1] - a.chain[0] <= window:
        a.tally[MATCHES] += 1


@njit(cache=True)
def _leftwards(a: Ais, s: int, top: int, divided: bool, window: int) -> None:
    """Depth first along the RIPs: every instance of stack s at or below position `top`."""
    for i in range(top, (a.divider[s] if divided else a.base[s]) - 1, -1):
        a.chain[s] = a.time[s, i]
        if s == 0:
            _count(a, window)
        else:
            _leftwards(a, s - 1, a.rip[s, i], divided, window)


@njit(cache=True)
def _rightwards(a: Ais, s: int, e: int, e_rip: int, window: int) -> None:
    """Every later instance of stack s and those after it; then leftwards from the event's RIP."""
    if s == len(a.size):
        if e == 0:
            _count(a, window)
        else:
            _leftwards(a, e - 1, e_rip, False, window)
        return
    for i in range(a.size[s] - 1, a.base[s] - 1, -1):
        if a.time[s, i] <= a.chain[s - 1]:
            break
        a.chain[s] = a.time[s, i]
        _rightwards(a, s + 1, e, e_rip, window)


@njit(cache=True)
def _sorted_in(a: Ais, c: int, t: int) -> int:
    """Sort semantics; the position."""
    at = a.size[c]
    while at > a.base[c] and a.time[c, at - 1] > t:
        a.time[c, at], a.rip[c, at] = a.time[c, at - 1], a.rip[c, at - 1]
        at -= 1
    a.tally[LOOKED] += a.size[c] - at + 1
    a.time[c, at] = t
    a.size[c] += 1
    if at < a.divider[c]:
        a.divider[c] += 1
    a.rip[c, at] = -1
    if c > 0:
        rip = a.size[c - 1] - 1
        while rip >= a.base[c - 1] and a.time[c - 1, rip] >= t:
            rip -= 1
        a.rip[c, at] = rip
        a.tally[LOOKED] += a.size[c - 1] - rip
    if c + 1 < len(a.size):
        for i in range(a.base[c + 1], a.size[c + 1]):
            if a.time[c + 1, i] > t:  # it is reset to the new one, or follows the shift
                a.rip[c + 1, i] += 1
        a.tally[LOOKED] += a.size[c + 1] - a.base[c + 1]
    return at


@njit(cache=True)
def push(a: Ais, kinds: Int64, times: Int64, window: int, slack: int, clock: bool, divider: bool,
         construct: bool, purge: bool = True) -> None:
    """Take events in order of arrival; a kind of −1 is a type outside the pattern."""
    m = len(a.size)
    for j in range(len(times)):
        t, c = times[j], kinds[j]
        if t > a.tally[CLOCK]:
            a.tally[CLOCK] = t
            _purge(a, t - window - slack, t - window, purge)
        if c >= 0:
            if clock and t >= a.tally[AIS_CLOCK]:
                at = a.size[c]
                a.time[c, at], a.rip[c, at] = t, a.size[c - 1] - 1 if c > 0 else -1
                a.size[c] += 1
                a.tally[LOOKED] += 1
                if construct and c == m - 1:
                    a.chain[c] = t
                    _leftwards(a, c - 1, a.rip[c, at], divider, window)
            else:
                at = _sorted_in(a, c, t)
                if construct:
                    a.chain[c] = t
                    _rightwards(a, c + 1, c, a.rip[c, at], window)
            a.tally[AIS_CLOCK] = max(a.tally[AIS_CLOCK], t)
        for s in range(m):
            a.tally[HELD] += a.size[s] - a.base[s]
        a.tally[STEPS] += 1


@njit(cache=True)
def push_ordered(a: Ais, kinds: Int64, times: Int64, window: int) -> None:
    """SASE: events must come in order; append, purge by the window, build at the last type."""
    m = len(a.size)
    for j in range(len(times)):
        t, c = times[j], kinds[j]
        for s in range(m):
            while a.base[s] < a.size[s] and a.time[s, a.base[s]] < t - window:
                a.base[s] += 1
        if c >= 0:
            at = a.size[c]
            a.time[c, at], a.rip[c, at] = t, a.size[c - 1] - 1 if c > 0 else -1
            a.size[c] += 1
            if c == m - 1:
                a.chain[c] = t
                _leftwards(a, c - 1, a.rip[c, at], False, window)
