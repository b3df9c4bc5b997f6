"""The least frontier of every key, kept as frontiers move.

Each key has a row of *cells*, one per member, and above them, level by level, the least of every 16
cells below, up to one root.  A frontier that moves costs a look at 16 neighbours per level, and
only while it was the least of them: no pointers to follow and hardly a branch to guess wrong, so it
takes a few nanoseconds at any number of sources.  A member that nobody waits for has FOREVER.

Cells are made from the members' states, so they are never written to a snapshot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.events import FOREVER
from slackwater.core.release import inline

__all__ = ["Frontiers", "Seats", "least_of", "move", "waits_behind"]

Int64 = NDArray[np.int64]
_FAN = 16
_SPARE = 1024  # cells that may lie unused before the rest is worth moving
_SPAN = np.dtype([(name, np.int64) for name in (
    "start",  # its first cell
    "room",   # members that its cells have room for; 0: it has no cells
    "used",   # members that were given a cell
    "root",   # the cell with the least of all
)])


class Seats(NamedTuple):
    """The tables of `Frontiers`, for compiled loops."""

    cell: Int64
    owner: Int64   # the member of each cell; −1: none
    seat: Int64    # the cell of each member; −1: none
    span: NDArray  # of each key


class Frontiers:
    """The cells of all keys.

    Examples
    --------
    >>> import numpy as np
    >>> frontiers = Frontiers()
    >>> frontiers.seat(np.array([0, 0, 1]), np.array([0, 1, 2]))
    >>> seats = frontiers.seats
    >>> for member, key, frontier in ((0, 0, 7), (1, 0, 5), (2, 1, 9)):
    ...     move(seats, key, member, frontier)
    >>> least_of(seats, 0), least_of(seats, 1)
    (5, 9)
    >>> move(seats, 0, 1, 8)
    >>> least_of(seats, 0)
    7
    """

    def __init__(self) -> None:
        none = np.zeros(0, np.int64)
        self.seats = Seats(none, none, none, np.zeros(0, _SPAN))
        self._end = self._live = 0

    def seat(self, keys: Int64, members: Int64) -> None:
        """Give members cells of their keys, where nobody waits for them yet."""
        if not len(members):
            return
        self._make_room(int(keys.max()) + 1, int(members.max()) + 1)
        fresh = members[self.seats.seat[members] < 0]
        keys = keys[self.seats.seat[members] < 0]
        touched, more = np.unique(keys, return_counts=True)
        span = self.seats.span
        full = touched[span["used"][touched] + more > span["room"][touched]]
        if len(full):
            self._widen(full, more[np.isin(touched, full)])
        _seat_all(self.seats, keys, fresh)

    def unseat(self, keys: Int64, members: Int64) -> None:
        """These members of these keys are gone."""
        if len(members):
            self._make_room(0, int(members.max()) + 1)
            _unseat_all(self.seats, keys, members)

    # -- room -----------------------------------------------------------------------------------

    def _make_room(self, keys: int, members: int) -> None:
        cell, owner, seat, span = self.seats
        if keys > len(span):
            span = np.concatenate([span, np.zeros(2 * keys - len(span), _SPAN)])
        if members > len(seat):
            seat = np.concatenate([seat, np.full(2 * members - len(seat), -1)])
        self.seats = Seats(cell, owner, seat, span)

    def _widen(self, keys: Int64, more: Int64) -> None:
        """Move the members of these keys to new cells, with room for `more` and as many again."""
        cell, owner, seat, span = self.seats
        lost = int(_sizes(span["room"][keys]).sum())
        room = _rooms(_seated(self.seats, keys) + more)
        size = int(_sizes(room).sum())
        self._live += size - lost
        if self._end + size > 2 * self._live + _SPARE:  # cells that were left: all move together
            others = np.flatnonzero(span["room"])
            others = others[~np.isin(others, keys)]
            keys = np.concatenate([others, keys])
            room = np.concatenate([span["room"][others], room])
            fresh = int(_sizes(room).sum())
            wide, whose, self._end = _blank(2 * fresh), np.full(2 * fresh, -1), 0
        elif self._end + size > len(cell):
            wide, whose = _blank(2 * (self._end + size)), np.full(2 * (self._end + size), -1)
            wide[:len(cell)], whose[:len(cell)] = cell, owner
        else:
            wide, whose = cell, owner
        moved = Seats(wide, whose, seat, span)
        self._end = _move_all(self.seats, moved, keys, room, self._end)
        self.seats = moved


def _blank(cells: int) -> Int64:
    return np.full(cells, FOREVER)


def _rooms(members: Int64) -> Int64:
    """Room for so many members, and for as many again: a power of two."""
    return np.int64(1) << np.ceil(np.log2(np.maximum(2 * members, 4))).astype(np.int64)


@njit(cache=True)
def _sizes(room: Int64) -> Int64:
    """Cells of all levels, for keys with room for so many members."""
    sizes = np.zeros(len(room), np.int64)
    for i in range(len(room)):
        width = room[i]
        sizes[i] = width
        while width > 1:
            width = (width + _FAN - 1) // _FAN
            sizes[i] += width
    return sizes


@njit(cache=True)
def _seated(seats: Seats, keys: Int64) -> Int64:
    """How many members of each key have a cell."""
    count = np.zeros(len(keys), np.int64)
    for i in range(len(keys)):
        span = seats.span[keys[i]]
        for at in range(span.start, span.start + span.used):
            count[i] += seats.owner[at] >= 0
    return count


@njit(cache=True)
def _move_all(old: Seats, new: Seats, keys: Int64, room: Int64, end: int) -> int:
    """Lay the cells of these keys out anew, from `end` on; where the last one ends."""
    for i in range(len(keys)):
        span = new.span[keys[i]]
        members = [np.int64(0) for _ in range(0)]
        values = [np.int64(0) for _ in range(0)]
        for at in range(span.start, span.start + span.used):
            if old.owner[at] >= 0:
                members.append(old.owner[at])
                values.append(old.cell[at])
        size = _sizes(room[i:i + 1])[0]
        new.cell[end:end + size] = FOREVER
        new.owner[end:end + size] = -1
        span.start, span.room, span.used, span.root = end, room[i], 0, end + size - 1
        for m in range(len(members)):
            _sit(new, span, members[m])
            move(new, keys[i], members[m], values[m])
        end += size
    return end


@njit(cache=True)
def _sit(seats: Seats, span: Any, member: int) -> None:
    at = span.start + span.used
    span.used += 1
    seats.owner[at], seats.seat[member] = member, at


@njit(cache=True)
def _seat_all(seats: Seats, keys: Int64, members: Int64) -> None:
    for i in range(len(members)):
        _sit(seats, seats.span[keys[i]], members[i])


@njit(cache=True)
def _unseat_all(seats: Seats, keys: Int64, members: Int64) -> None:
    for i in range(len(members)):
        at = seats.seat[members[i]]
        if at >= 0:
            move(seats, keys[i], members[i], FOREVER)
            seats.owner[at], seats.seat[members[i]] = -1, -1


@inline
def least_of(seats: Seats, key: int) -> int:
    """The least frontier of a key that has cells; FOREVER: nobody is waited for."""
    return seats.cell[seats.span[key].root]


@inline
def move(seats: Seats, key: int, member: int, frontier: int) -> None:
    """A member has come this far (FOREVER: it is not waited for)."""
    cell, span = seats.cell, seats.span[key]
    base, width = span.start, span.room
    at = seats.seat[member] - base
    was = cell[base + at]
    cell[base + at] = frontier
    while width > 1:
        block = at // _FAN
        up = base + width + block
        least = cell[up]
        if frontier >= least:
            if was > least:
                return  # another one is the least
            first = base + block * _FAN
            frontier = cell[first]
            for i in range(first + 1, min(first + _FAN, base + width)):
                frontier = min(frontier, cell[i])
            if frontier == least:
                return
        was = least
        cell[up] = frontier
        base, width, at = base + width, (width + _FAN - 1) // _FAN, block


@njit(cache=True)
def waits_behind(seats: Seats, key: int, time: int) -> Int64:
    """The members of a key that have not come as far as `time`."""
    cell, span = seats.cell, seats.span[key]
    found = [np.int64(0) for _ in range(0)]
    end, above = span.start + span.used, span.start + span.room
    for first in range(span.start, end, _FAN):
        if cell[above + (first - span.start) // _FAN] < time:
            for at in range(first, min(first + _FAN, end)):
                if cell[at] < time:
                    found.append(seats.owner[at])
    return np.array(found, np.int64)
