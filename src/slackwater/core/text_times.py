"""Times written as text: one compiled parser that judges each cell by itself.

Accepted is ISO 8601 with a full date (``2024-03-01`` or ``20240301``), then, after ``T`` or a
space, ``hh``, ``hh:mm`` or ``hh:mm:ss`` with any number of decimals (with or without the colons),
then ``Z`` or an offset (``+01``, ``+0100``, ``+01:00``).  No offset means UTC.  Decimals beyond
microseconds are cut off.  If a unit is declared, a cell may also be a number in that unit.

Enters: a column of text.  Leaves: int64 microseconds UTC and which cells can be read.
May import: nothing of Slackwater.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["parse_times"]

Int64 = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_DAY = 86_400_000_000
_0, _9 = ord("0"), ord("9")
_PLUS, _MINUS, _DOT, _COMMA, _COLON, _SPACE = (ord(c) for c in "+-.,: ")
_T, _T_SMALL, _Z, _Z_SMALL = (ord(c) for c in "TtZz")
_MOST = 922_337_203_685_477_580  # with a 7 appended, the last that fits int64


def parse_times(column: pa.Array, per_second: int | None) -> tuple[Int64, NDArray[np.bool_]]:
    """Microseconds and which cells are times; with `per_second`, numbers of that unit are too.

    Examples
    --------
    >>> text = pa.array(["1970-01-01T00:00:01Z", "1970-01-01 01:00+01:00", "12", "rubbish", None])
    >>> [part.tolist() for part in parse_times(text, None)]
    [[1000000, 0, 0, 0, 0], [True, True, False, False, False]]
    >>> [part.tolist() for part in parse_times(text, 1)]
    [[1000000, 0, 12000000, 0, 0], [True, True, True, False, False]]
    """
    if not pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
    rows = len(column)
    micros, readable = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    if column.null_count == rows:
        return micros, readable
    valid = (np.ones(rows, np.bool_) if column.null_count == 0
             else np.array(column.is_valid().to_numpy(zero_copy_only=False)))
    _, where, text = column.buffers()
    starts = np.frombuffer(where, np.int64)[column.offset:column.offset + rows + 1].copy()
    # only the cells' own bytes, copied: the memory of a slice may be huge, and is read-only
    cells = np.frombuffer(text or b"", np.uint8)[starts[0]:starts[-1]].copy()
    _parse(cells, starts - starts[0], valid, per_second or 0, micros, readable)
    return micros, readable


@njit(cache=True, nogil=True)
def _parse(cells: Bytes, starts: Int64, valid: NDArray[np.bool_], per_second: int, micros: Int64,
           readable: NDArray[np.bool_]) -> None:
    for row in range(len(valid)):
        if not valid[row]:
            continue
        start, end = starts[row], starts[row + 1]
        while start < end and cells[start] == _SPACE:
            start += 1
        while start < end and cells[end - 1] == _SPACE:
            end -= 1
        found, value = False, 0
        if per_second > 0:
            found, value = _number(cells, start, end, per_second)
        if not found:
            found, value = _iso(cells, start, end)
        if found:
            micros[row], readable[row] = value, True


@njit(cache=True)
def _digits(cells: Bytes, at: int, end: int, count: int) -> int:
    """The number that `count` digits at `at` write, or -1."""
    if at + count > end:
        return -1
    value = 0
    for i in range(at, at + count):
        if cells[i] < _0 or cells[i] > _9:
            return -1
        value = value * 10 + (cells[i] - _0)
    return value


@njit(cache=True)
def _number(cells: Bytes, at: int, end: int, per_second: int) -> tuple[bool, int]:
    """A decimal number in the declared unit, as microseconds; beyond int64 it is no time."""
    negative = at < end and cells[at] == _MINUS
    if negative:
        at += 1
    first, whole = at, 0
    while at < end and _0 <= cells[at] <= _9:
        digit = cells[at] - _0
        if whole > _MOST or (whole == _MOST and digit > 7):
            return False, 0
        whole = whole * 10 + digit
        at += 1
    if at == first:
        return False, 0
    if at < end and (cells[at] != _DOT or not _all_digits(cells, at + 1, end)):
        return False, 0
    if per_second > 1_000_000:  # decimals of nanoseconds are below what is kept
        size = per_second // 1_000_000
        return True, -((whole + size - 1) // size) if negative else whole // size
    factor = 1_000_000 // per_second
    if whole > 9_000_000_000_000_000_000 // factor:
        return False, 0
    part, scale = 0.0, 1.0
    for i in range(at + 1, min(end, at + 17)):
        scale /= 10.0
        part += (cells[i] - _0) * scale
    value = whole * factor + int(np.floor(part * factor + 0.5))
    return True, -value if negative else value


@njit(cache=True)
def _all_digits(cells: Bytes, at: int, end: int) -> bool:
    good = at < end
    for i in range(at, end):
        good = good and _0 <= cells[i] <= _9
    return good


@njit(cache=True)
def _iso(cells: Bytes, at: int, end: int) -> tuple[bool, int]:
    year = _digits(cells, at, end, 4)
    at += 4
    dashed = at < end and cells[at] == _MINUS
    at += dashed
    month = _digits(cells, at, end, 2)
    at += 2
    if dashed:
        if at >= end or cells[at] != _MINUS:
            return False, 0
        at += 1
    day = _digits(cells, at, end, 2)
    at += 2
    if year < 1 or not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return False, 0
    micros = _days_since_1970(year, month, day) * _DAY
    if at == end:
        return True, micros
    if cells[at] != _T and cells[at] != _T_SMALL and cells[at] != _SPACE:
        return False, 0
    at, clock = _clock(cells, at + 1, end)
    if clock < 0:
        return False, 0
    found, shift = _offset(cells, at, end)
    return found, micros + clock - shift


@njit(cache=True)
def _clock(cells: Bytes, at: int, end: int) -> tuple[int, int]:
    """Where a time of day ends, and its microseconds since midnight (-1: it is none)."""
    hour = _digits(cells, at, end, 2)
    at += 2
    if hour < 0 or hour > 23:
        return at, -1
    value = hour * 3_600_000_000
    colons = at < end and cells[at] == _COLON
    if not colons and not (at < end and _0 <= cells[at] <= _9):
        return at, value
    at += colons
    minute = _digits(cells, at, end, 2)
    at += 2
    if minute < 0 or minute > 59:
        return at, -1
    value += minute * 60_000_000
    if not (at < end and (cells[at] == _COLON if colons else _0 <= cells[at] <= _9)):
        return at, value
    at += colons
    second = _digits(cells, at, end, 2)
    at += 2
    if second < 0 or second > 59:
        return at, -1
    value += second * 1_000_000
    if at < end and (cells[at] == _DOT or cells[at] == _COMMA):
        at += 1
        first, worth = at, 100_000
        while at < end and _0 <= cells[at] <= _9:
            value += (cells[at] - _0) * worth
            worth //= 10
            at += 1
        if at == first:
            return at, -1
    return at, value


@njit(cache=True)
def _offset(cells: Bytes, at: int, end: int) -> tuple[bool, int]:
    """Whether the rest is an offset from UTC or nothing, and the offset in microseconds."""
    if at == end:
        return True, 0
    if cells[at] == _SPACE:
        at += 1
    if at == end - 1 and (cells[at] == _Z or cells[at] == _Z_SMALL):
        return True, 0
    if at >= end or (cells[at] != _PLUS and cells[at] != _MINUS):
        return False, 0
    sign = 1 if cells[at] == _PLUS else -1
    hour = _digits(cells, at + 1, end, 2)
    at += 3
    minute = 0
    if at < end:
        at += cells[at] == _COLON
        minute = _digits(cells, at, end, 2)
        at += 2
    if at != end or hour < 0 or hour > 23 or minute < 0 or minute > 59:
        return False, 0
    return True, sign * (hour * 60 + minute) * 60_000_000


@njit(cache=True)
def _days_in(year: int, month: int) -> int:
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


@njit(cache=True)
def _days_since_1970(year: int, month: int, day: int) -> int:
    """Days of the Gregorian calendar, counted in years that begin in March."""
    march = year - (month < 3)
    months = month - 3 if month > 2 else month + 9
    return (365 * march + march // 4 - march // 100 + march // 400
            + (153 * months + 2) // 5 + day - 1 - 719_468)
