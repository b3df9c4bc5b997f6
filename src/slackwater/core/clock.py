"""The arrival clock, and rows that would make it jump.

A clock is the greatest arrival so far.  One row stamped 2099, or one source whose clock is broken,
must not carry it away, or every honest row that follows would be late.  So a row that would make
the clock jump far ahead is *in doubt* and waits: a second row near it, of another source, confirms
it; `WITNESSES` rows that know nothing of the jump refute it, and it is quarantined.  Where nothing
is known of sources the two may be of the same broken one, so that more must be near it than have
contradicted it.  Silence is proof as well: a tick that reaches the row confirms it.  A confirmed
row is taken as if nothing had happened, just before the row that confirmed it, so an honest pause
costs nothing but that wait.

Enters: arrivals, in order.  Leaves: the order in which rows are taken, and those that are refused.
May import: events.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.events import NEVER

__all__ = ["DAY", "WITNESSES", "Doubt", "Verdict", "follow", "has_jump"]

Int64 = NDArray[np.int64]

DAY = 86_400_000_000
WITNESSES = 16
"""So many rows of others that contradict a jump refute it, and so many that do not confirm it."""


@njit(cache=True, nogil=True)
def follow(arrival: Int64, scope: Int64, clock: Int64, derive: bool) -> None:
    """Move each scope's clock to its greatest arrival.

    With `derive` there is no arrival column: a row arrives when the clock says so.
    """
    for j in range(len(arrival)):
        s = scope[j]
        if arrival[j] > clock[s]:
            clock[s] = arrival[j]
        if derive:
            arrival[j] = clock[s]


@njit(cache=True, nogil=True)
def _is_far(a: int, clock: int, last: int, jump: int, first: bool) -> bool:
    """Whether an arrival would make its scope's clock jump, `last` being the greatest of all."""
    if clock != NEVER:
        return a > clock and a - clock > jump
    return first and (last == NEVER or (a > last and a - last > jump))


@njit(cache=True, nogil=True)
def _undoubted(arrival: Int64, scope: Int64, clock: Int64, doubted: NDArray[np.bool_], last: int,
               jump: int, first: bool, j: int) -> int:
    """Move the clocks on from row j; the next row that jumps, or whose scope has rows in doubt."""
    while j < len(arrival):
        s, a = scope[j], arrival[j]
        if doubted[s] or _is_far(a, clock[s], last, jump, first):
            break
        clock[s] = max(clock[s], a)
        last = max(last, a)
        j += 1
    return j


@njit(cache=True, nogil=True)
def has_jump(arrival: Int64, scope: Int64, clock: Int64, last: int, jump: int,
             first: bool) -> bool:
    """Whether a row would make its scope's clock jump (see `Doubt.judge`)."""
    return _undoubted(arrival, scope, clock.copy(), np.zeros(len(clock), np.bool_), last, jump,
                      first, 0) < len(arrival)


@dataclass(frozen=True)
class Verdict:
    """Rows by index: to be taken, in this order; refused; and still in doubt.

    `taken_by` and `refused_by` say which row decided each; `refused_at`, how many had been taken.
    """

    taken: Int64
    taken_by: Int64
    refused: list[int]
    refused_by: list[int]
    refused_at: list[int]
    waiting: list[int]


@dataclass
class Doubt:
    """Judges the rows of a batch that has a jump in it, those still in doubt from before first.

    Parameters
    ----------
    jump
        How far ahead of the clock is in doubt, in microseconds.
    contradicted
        For each scope with rows in doubt, how many rows have contradicted them.
    """

    jump: int
    contradicted: dict[int, int] = field(default_factory=dict)

    def judge(self, arrival: Int64, scope: Int64, source: Int64 | None, clock: Int64, last: int,
              waiting: int, first: bool) -> Verdict:
        """Rows 0…waiting−1 are those in doubt; `last` is the greatest of all clocks.

        With `first` a scope's first row goes by that: it is in doubt if it is far ahead of it, or
        if it is the first of all.
        """
        clock = clock.copy()
        taken, by = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        refused: list[int] = []
        refused_by: list[int] = []
        refused_at: list[int] = []
        count = 0
        doubted: dict[int, list[int]] = {}
        for j in range(waiting):
            doubted.setdefault(int(scope[j]), []).append(j)
        is_doubted = np.zeros(len(clock), bool)
        is_doubted[list(doubted)] = True
        j = waiting
        while True:
            # most rows raise no question
            begin, j = j, int(_undoubted(arrival, scope, clock, is_doubted, last, self.jump, first,
                                         j))
            taken.append(np.arange(begin, j))
            by.append(taken[-1])
            count += j - begin
            last = max(last, int(arrival[begin:j].max(initial=NEVER)))
            if j == len(arrival):
                break
            now = self._ask(j, arrival, scope, source, clock, last, first, doubted, refused)
            taken.append(np.array(now, np.int64))
            by.append(np.full(len(now), j))
            more = len(refused) - len(refused_by)
            refused_by += more * [j]
            refused_at += more * [count]
            count += len(now)
            last = max(last, *(int(arrival[d]) for d in now), NEVER)
            is_doubted[scope[j]] = int(scope[j]) in doubted
            j += 1
        return Verdict(np.concatenate(taken), np.concatenate(by), refused, refused_by, refused_at,
                       sorted(d for rows in doubted.values() for d in rows))

    def _ask(self, j: int, arrival: Int64, scope: Int64, source: Int64 | None, clock: Int64,
             last: int, first: bool, doubted: dict[int, list[int]],
             refused: list[int]) -> list[int]:
        """The rows that are taken now that row j has come: what it confirms, and itself."""
        s, a = int(scope[j]), int(arrival[j])
        mine = doubted.get(s)
        if mine and clock[s] == NEVER and last != NEVER:
            # they were the first of all, and by now there is a clock that knows better
            fine = [d for d in mine if not _is_far(int(arrival[d]), NEVER, last, self.jump, first)]
            if fine:
                self._settle(doubted, s, [d for d in mine if d not in fine])
                clock[s] = max(int(arrival[d]) for d in fine)
                return [*fine, *self._ask(j, arrival, scope, source, clock, last, first, doubted,
                                          refused)]
        unknown = clock[s] == NEVER and last == NEVER
        far = _is_far(a, int(clock[s]), last, self.jump, first)
        near: list[int] = []
        if not far:
            if mine:
                self.contradicted[s] = self.contradicted.get(s, 0) + 1
                if self.contradicted[s] >= WITNESSES:
                    refused += mine
                    self._settle(doubted, s, [])
        else:
            mine = doubted.setdefault(s, [])
            near = [d for d in mine if int(arrival[d]) <= a + self.jump]
            seen = [d for d in near if unknown or source is None or source[d] != source[j]]
            against = self.contradicted.get(s, 0)
            unopposed = len(mine) + 1 >= WITNESSES and not against
            outvoted = source is None and len(near) < against
            if (not seen or outvoted) and not unopposed:
                mine.append(j)
                return []
            self._settle(doubted, s, [d for d in mine if d not in near])
            clock[s] = max([int(clock[s]), *(int(arrival[d]) for d in near)])
            if clock[s] != NEVER and a - int(clock[s]) > self.jump:
                doubted.setdefault(s, []).append(j)  # it may be beyond what it confirms
                return near
        clock[s] = max(int(clock[s]), a)
        return [*near, j]

    def _settle(self, doubted: dict[int, list[int]], s: int, left: list[int]) -> None:
        self.contradicted.pop(s, None)
        doubted[s] = left
        if not left:
            del doubted[s]
