"""Active instance stacks: one a component and partition, in time order, with RIP pointers.

All stacks lie in one pool of arrays.  Stack ``s`` of partition ``p`` has the number ``p·S + s``;
the first stacks are those of the pattern's components, then come those of its negations, and under
`strict` selection one with every event.

The RIP of an instance (the most recent instance of the previous stack that is strictly earlier) is
kept as a position.  So an insertion adds one to the RIP of every later instance of the next stack:
for some that resets the pointer to the new instance, for the others it follows the shift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["Events", "Pool", "Stacks", "count_before", "count_time", "count_upto", "inner",
           "insert", "is_before", "making", "purge", "put", "search_upto", "take_out"]

Int64 = NDArray[np.int64]

inner = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
"""For functions that only compiled code calls, and that neither make nor return arrays.

The wrappers for other callers take time to make.  Without numba's runtime (`_nrt`) no references
are counted: a call counts those of every array in the tuples that it is given, two dozen of them
for a condition, which took longer than the condition.  Numba compiles a function once more for
every literal argument, so constants are passed on as ``np.int64(0)`` here.
"""
making = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""`inner` for functions that make arrays, or return them: a match may need more room."""


class Events(NamedTuple):
    """The live events in columns; a *row* is an index into them."""

    time: Int64
    seq: Int64
    n: Int64
    value: NDArray[np.int64]  # one row of lanes a column that conditions use; floats by their bits
    real: NDArray[np.float64]  # the same memory
    known: NDArray[np.bool_]  # not NULL
    tied: NDArray[np.bool_]  # another instance of its stack has the same place in order


class Stacks(NamedTuple):
    """The pool: where each stack starts, how many it holds, how many of these are purged."""

    start: Int64
    size: Int64
    base: Int64
    row: Int64
    rip: Int64
    clock: Int64  # a partition: the row with the greatest time in its stacks (AIS-CLOCK), or −1


# These take arrays rather than `Events` and `Stacks` where they are called most: every access to a
# field of a tuple counts references, which costs more than the comparison itself.


@inner
def _earlier(time: Int64, seq: Int64, a: int, b: int) -> bool:
    return bool(time[a] < time[b] or (time[a] == time[b] and seq[a] < seq[b]))


@inner
def is_before(ev: Events, a: int, b: int) -> bool:
    """Whether row a is strictly earlier: by time, then by sequence number."""
    return _earlier(ev.time, ev.seq, a, b)


@inner
def _count_before(time: Int64, seq: Int64, rows: Int64, start: int, lo: int, hi: int,
                  row: int) -> int:
    if hi > lo and _earlier(time, seq, rows[start + hi - 1], row):
        return hi
    while lo < hi:
        mid = (lo + hi) >> 1
        if _earlier(time, seq, rows[start + mid], row):
            lo = mid + 1
        else:
            hi = mid
    return lo


@inner
def search_upto(time: Int64, seq: Int64, rows: Int64, start: int, lo: int, hi: int,
                row: int) -> int:
    """`count_upto` of plain arrays."""
    if hi > lo and not _earlier(time, seq, row, rows[start + hi - 1]):
        return hi
    while lo < hi:
        mid = (lo + hi) >> 1
        if _earlier(time, seq, row, rows[start + mid]):
            hi = mid
        else:
            lo = mid + 1
    return lo


@inner
def count_before(ev: Events, st: Stacks, sid: int, row: int) -> int:
    """How many instances of a stack are strictly earlier than a row."""
    return _count_before(ev.time, ev.seq, st.row, st.start[sid], st.base[sid], st.size[sid], row)


@inner
def count_upto(ev: Events, st: Stacks, sid: int, row: int) -> int:
    """How many instances of a stack are not later than a row: the position of the first later."""
    return search_upto(ev.time, ev.seq, st.row, st.start[sid], st.base[sid], st.size[sid], row)


@inner
def count_time(ev: Events, st: Stacks, sid: int, time: int) -> int:
    """How many instances of a stack have a time less than `time`."""
    times, rows = ev.time, st.row
    start, lo, hi = st.start[sid], st.base[sid], st.size[sid]
    while lo < hi:
        mid = (lo + hi) >> 1
        if times[rows[start + mid]] < time:
            lo = mid + 1
        else:
            hi = mid
    return int(lo)


@inner
def insert(time: Int64, seq: Int64, tied: NDArray[np.bool_], starts: Int64, sizes: Int64,
           bases: Int64, rows: Int64, rips: Int64, sid: int, row: int, chained: bool,
           followed: bool, in_order: bool) -> int:
    """Put a row in its place and return the position.

    `chained`: the stack before it is the previous component's, so the instance gets a RIP;
    `followed`: the stack after it is the next component's, whose RIPs must be kept right.
    With `in_order` (AIS-CLOCK says so) it is appended, and no pointer can be affected.
    """
    start, size = starts[sid], sizes[sid]
    at = size if in_order else search_upto(time, seq, rows, start, bases[sid], size, row)
    for i in range(start + size, start + at, -1):
        rows[i] = rows[i - 1]
        rips[i] = rips[i - 1]
    rows[start + at] = row
    sizes[sid] = size + 1
    if at > bases[sid]:
        below = rows[start + at - 1]
        if not _earlier(time, seq, below, row):
            tied[below] = True
            tied[row] = True
    rips[start + at] = _count_before(time, seq, rows, starts[sid - 1], bases[sid - 1],
                                     sizes[sid - 1], row) - 1 if chained else -1
    if followed and not in_order:
        after = starts[sid + 1]
        for i in range(after + sizes[sid + 1] - 1, after + bases[sid + 1] - 1, -1):
            if not _earlier(time, seq, row, rows[i]):
                break
            rips[i] += 1
    return int(at)


@inner
def take_out(time: Int64, seq: Int64, starts: Int64, sizes: Int64, bases: Int64, rows: Int64,
             rips: Int64, base: int, row: int, mask: int, m: int) -> None:
    """Undo `put` of a row: the stacks and pointers are what they were."""
    bits, c = mask, np.int64(0)
    while bits:
        if bits & 1:
            sid = base + c
            start, size = starts[sid], sizes[sid]
            at = size
            for i in range(size - 1, bases[sid] - 1, -1):
                if rows[start + i] == row:
                    at = i
                    break
            if at < size:
                for i in range(start + at, start + size - 1):
                    rows[i] = rows[i + 1]
                    rips[i] = rips[i + 1]
                sizes[sid] = size - 1
                if c + 1 < m:
                    after = starts[sid + 1]
                    for i in range(after + sizes[sid + 1] - 1, after + bases[sid + 1] - 1, -1):
                        if rows[i] != row and not _earlier(time, seq, row, rows[i]):
                            break
                        if rows[i] != row:
                            rips[i] -= 1
        bits >>= 1
        c += 1


@inner
def put(time: Int64, seq: Int64, tied: NDArray[np.bool_], starts: Int64, sizes: Int64,
        bases: Int64, rows: Int64, rips: Int64, clocks: Int64, row: int, base: int, part: int,
        mask: int, m: int, use_clock: bool, positions: Int64) -> bool:
    """Insert a row into the stacks of its mask; positions[c] is where.

    Returns whether AIS-CLOCK took it for in order (with `use_clock`; False without).
    """
    clock = clocks[part]
    latest = clock < 0 or not _earlier(time, seq, row, clock)
    in_order = use_clock and latest
    bits, c = mask, np.int64(0)
    while bits:
        if bits & 1:
            positions[c] = insert(time, seq, tied, starts, sizes, bases, rows, rips, base + c, row,
                                  0 < c < m, c + 1 < m, in_order and c < m)
        bits >>= 1
        c += 1
    if latest and mask & ((1 << m) - 1):
        clocks[part] = row
    return in_order


@inner
def purge(time: Int64, starts: Int64, sizes: Int64, bases: Int64, rows: Int64, base: int, mask: int,
          oldest: int) -> None:
    """Slack purge: instances with a time less than `oldest` are out of every future match."""
    sid = base
    while mask:
        if mask & 1:
            start, at, size = starts[sid], bases[sid], sizes[sid]
            while at < size and time[rows[start + at]] < oldest:
                at += 1
            bases[sid] = at
        mask >>= 1
        sid += 1


@njit(cache=True)
def _need(part: Int64, mask: Int64, stacks: int, need: Int64) -> None:
    for j in range(len(part)):
        bits = mask[j]
        s = 0
        while bits:
            if bits & 1:
                need[part[j] * stacks + s] += 1
            bits >>= 1
            s += 1


@njit(cache=True)
def _move(start: Int64, size: Int64, room: Int64, want: Int64, row: Int64, rip: Int64,
          end: int) -> int:
    for sid in range(len(want)):
        if want[sid] <= room[sid]:
            continue
        for i in range(size[sid]):
            row[end + i] = row[start[sid] + i]
            rip[end + i] = rip[start[sid] + i]
        start[sid], room[sid] = end, max(2 * room[sid], want[sid])
        end += room[sid]
    return end


class Pool:
    """Owns the arrays of `Stacks` and makes room in them before a batch is run."""

    def __init__(self, stacks: int) -> None:
        self.stacks = stacks
        none = np.zeros(0, np.int64)
        self.at = Stacks(none, none, none, none, none, none)
        self.room = none
        self._end = 0

    def reserve(self, parts: int, part: Int64, mask: Int64) -> Stacks:
        """Room for these rows; stacks that are too small move to the end, twice as large."""
        at = self.at
        grow = parts - len(at.clock)
        if grow > 0:
            grow = max(grow, len(at.clock))
            more = np.zeros(grow * self.stacks, np.int64)
            start, size, base = (np.concatenate([a, more]) for a in at[:3])
            at = Stacks(start, size, base, at.row, at.rip,
                        np.concatenate([at.clock, np.full(grow, -1)]))
            self.room = np.concatenate([self.room, more])
        need = np.zeros(len(at.size), np.int64)
        _need(part, mask, self.stacks, need)
        want = at.size + need
        short = want > self.room
        extra = int(np.maximum(2 * self.room[short], want[short]).sum())
        row, rip = at.row, at.rip
        if self._end + extra > len(row):
            total = max(2 * len(row), self._end + extra)
            row, rip = np.empty(total, np.int64), np.empty(total, np.int64)
            row[: self._end], rip[: self._end] = at.row[: self._end], at.rip[: self._end]
        self._end = _move(at.start, at.size, self.room, want, row, rip, self._end)
        self.at = Stacks(at.start, at.size, at.base, row, rip, at.clock)
        return self.at
