"""Conditions that look at the match so far, as code that the search runs for a row.

What such a condition needs of single rows is computed beforehand for all rows, into lanes; what is
left are comparisons, arithmetic and logic over values of several rows, of aggregates of the match
so far and of its number.  Values are int64 (whole numbers, times, truth, ranks of texts) or
float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["ACCEPT", "AT_END", "AT_START", "CURRENT", "FIRST", "LAST", "OPS", "Aggs", "Code",
           "Lanes", "Refs", "Stack", "Track", "inlined", "row_of", "track", "true_of"]

Int64 = NDArray[np.int64]
inlined = njit(cache=True, nogil=True, _nrt=False, forceinline=True)
"""Compile a function that allocates nothing into its callers.

It is called for every row, and is handed dozens of arrays: counting references to them, and passing
them at all, would take longer than what it does.
"""
Float64 = NDArray[np.float64]
CURRENT, FIRST, LAST = 0, 1, 2
ACCEPT = -1
"""The target of a transition that ends the match."""
AT_START, AT_END = 1, 2
"""A transition may be taken at the first row of the partition only; behind its last row only."""

OPS = {name: number for number, name in enumerate((
    "load_int", "load_real", "const_int", "const_real", "null", "count", "sum_int", "sum_real",
    "avg_int", "avg_real", "least_int", "least_real", "match_number", "to_real", "to_real_below",
    "to_int", "add_int", "sub_int", "mul_int", "mod_int", "add_real", "sub_real", "mul_real",
    "div_real", "mod_real", "neg_int", "neg_real", "abs_int", "abs_real", "eq_int", "ne_int",
    "lt_int", "le_int", "eq_real", "ne_real", "lt_real", "le_real", "and", "or", "not", "is_null",
    "coalesce"))}
(_LOAD_INT, _LOAD_REAL, _CONST_INT, _CONST_REAL, _NULL, _COUNT, _SUM_INT, _SUM_REAL, _AVG_INT,
 _AVG_REAL, _LEAST_INT, _LEAST_REAL, _MATCH_NUMBER, _TO_REAL, _TO_REAL_BELOW, _TO_INT, _ADD_INT,
 _SUB_INT, _MUL_INT, _MOD_INT, _ADD_REAL, _SUB_REAL, _MUL_REAL, _DIV_REAL, _MOD_REAL, _NEG_INT,
 _NEG_REAL, _ABS_INT, _ABS_REAL, _EQ_INT, _NE_INT, _LT_INT, _LE_INT, _EQ_REAL, _NE_REAL, _LT_REAL,
 _LE_REAL, _AND, _OR, _NOT, _IS_NULL, _COALESCE) = range(len(OPS))
_LEAST = np.iinfo(np.int64).min


class Code(NamedTuple):
    """Instructions: those of variable v are first[v]…first[v + 1] − 1 (none: always true)."""

    first: Int64
    op: Int64
    a: Int64
    b: Int64
    real: Float64


class Refs(NamedTuple):
    """Rows that instructions look at (see `RowOf`); `tracked` is the number of the mask."""

    base: Int64
    tracked: Int64
    offset: Int64
    shift: Int64


class Lanes(NamedTuple):
    """Values of all rows: whole ones and real ones, and which of them are not NULL."""

    ints: NDArray[np.int64]
    int_ok: NDArray[np.bool_]
    reals: NDArray[np.float64]
    real_ok: NDArray[np.bool_]


class Track(NamedTuple):
    """For each tracked set of variables its first and last row, as of each row of the path."""

    mask: Int64
    first: NDArray[np.int64]
    last: NDArray[np.int64]


class Aggs(NamedTuple):
    """Aggregates of the match so far, as of each row of the path.

    `kind` is 0 for a count, 1 for a sum (or mean), 2 for the least, 3 for the greatest value;
    `lane` the number of its lane (−1: rows are counted), `is_real` which kind of lane.
    """

    kind: Int64
    mask: Int64
    lane: Int64
    is_real: NDArray[np.bool_]
    seen: NDArray[np.int64]
    whole: NDArray[np.int64]
    real: NDArray[np.float64]
    ok: NDArray[np.bool_]


class Stack(NamedTuple):
    """Room for an evaluation."""

    ints: Int64
    reals: Float64
    ok: NDArray[np.bool_]


@inlined
def track(r: int, s: int, bit: int, lanes: Lanes, tracked: Track, aggs: Aggs) -> None:
    """Note that row r of a path that began at row s is mapped to the variable with this bit."""
    for t in range(len(tracked.mask)):
        before = tracked.last[t, r - 1] if r > s else -1
        first = tracked.first[t, r - 1] if r > s else -1
        if tracked.mask[t] & bit:
            tracked.last[t, r] = r
            tracked.first[t, r] = r if first < 0 else first
        else:
            tracked.last[t, r], tracked.first[t, r] = before, first
    for k in range(len(aggs.kind)):
        fresh = r == s
        count = 0 if fresh else aggs.seen[k, r - 1]
        whole = 0 if fresh else aggs.whole[k, r - 1]
        real = 0.0 if fresh else aggs.real[k, r - 1]
        ok = True if fresh else aggs.ok[k, r - 1]
        lane, kind = aggs.lane[k], aggs.kind[k]
        if aggs.mask[k] & bit:
            if lane < 0:
                count += 1
            elif aggs.is_real[k]:
                value = lanes.reals[lane, r]
                if lanes.real_ok[lane, r] and value == value:
                    if kind == 1:
                        real += value
                    elif count == 0 or (kind == 2 and value < real) or (kind == 3 and value > real):
                        real = value
                    count += 1
            elif lanes.int_ok[lane, r]:
                number = lanes.ints[lane, r]
                if kind == 1:
                    total = whole + number
                    if ((whole ^ total) & (number ^ total)) < 0:
                        ok = False  # beyond int64: NULL from here on
                    whole = total
                    real += float(number)
                elif count == 0 or (kind == 2 and number < whole) or (kind == 3 and number > whole):
                    whole = number
                count += 1
        aggs.seen[k, r], aggs.whole[k, r], aggs.real[k, r], aggs.ok[k, r] = count, whole, real, ok


@inlined
def row_of(ref: int, refs: Refs, tracked: Track, r: int, s: int, lo: int, hi: int) -> int:
    """The row that is looked at from row r, −1 if there is none."""
    base = refs.base[ref]
    row = r
    if base != CURRENT:
        t = refs.tracked[ref]
        if base == LAST:
            row = tracked.last[t, r]
            for _ in range(refs.offset[ref]):
                if row < 0:
                    return -1
                row = tracked.last[t, row - 1] if row > s else -1
        else:
            row = tracked.first[t, r]
            left = refs.offset[ref]
            while left > 0 and 0 <= row < r:
                row += 1
                if tracked.last[t, row] == row:
                    left -= 1
            if left > 0:
                return -1
        if row < 0:
            return -1
    row += refs.shift[ref]
    return row if lo <= row < hi else -1


@inlined
def true_of(v: int, code: Code, refs: Refs, lanes: Lanes, tracked: Track, aggs: Aggs, stack: Stack,
            r: int, s: int, lo: int, hi: int, number: int) -> bool:
    """Whether the condition of variable v is true of row r (and not NULL)."""
    ints, reals, ok = stack.ints, stack.reals, stack.ok
    top = -1
    for i in range(code.first[v], code.first[v + 1]):
        op, a, b = code.op[i], code.a[i], code.b[i]
        if op <= _MATCH_NUMBER:
            top += 1
            ok[top] = True
            if op in (_LOAD_INT, _LOAD_REAL):
                row = row_of(b, refs, tracked, r, s, lo, hi)
                if row < 0:
                    ok[top] = False
                elif op == _LOAD_INT:
                    ints[top], ok[top] = lanes.ints[a, row], lanes.int_ok[a, row]
                else:
                    reals[top], ok[top] = lanes.reals[a, row], lanes.real_ok[a, row]
            elif op == _CONST_INT:
                ints[top] = a
            elif op == _CONST_REAL:
                reals[top] = code.real[i]
            elif op == _NULL:
                ok[top] = False
            elif op == _MATCH_NUMBER:
                ints[top] = number
            elif op == _COUNT:
                ints[top] = aggs.seen[a, r]
            else:
                ok[top] = aggs.seen[a, r] > 0
                if op == _SUM_INT:
                    ints[top] = aggs.whole[a, r]
                    ok[top] = ok[top] and aggs.ok[a, r]
                elif op in (_SUM_REAL, _LEAST_REAL):
                    reals[top] = aggs.real[a, r]
                    ok[top] = ok[top] and np.isfinite(reals[top])
                elif op == _LEAST_INT:
                    ints[top] = aggs.whole[a, r]
                elif ok[top]:
                    reals[top] = aggs.real[a, r] / aggs.seen[a, r]
        elif op == _TO_REAL:
            reals[top] = float(ints[top])
        elif op == _TO_REAL_BELOW:
            reals[top - 1] = float(ints[top - 1])
        elif op == _TO_INT:
            if ok[top] and abs(reals[top]) < 2.0**63:
                ints[top] = int(np.rint(reals[top]))
            else:
                ok[top] = False
        elif op in (_NEG_INT, _ABS_INT):
            if ok[top] and ints[top] == _LEAST:
                ok[top] = False
            elif op == _NEG_INT or ints[top] < 0:
                ints[top] = -ints[top]
        elif op == _NEG_REAL:
            reals[top] = -reals[top]
        elif op == _ABS_REAL:
            reals[top] = abs(reals[top])
        elif op == _NOT:
            ints[top] = 1 - ints[top]
        elif op == _IS_NULL:
            ints[top] = 0 if ok[top] else 1
            ok[top] = True
        else:
            top -= 1
            _two(op, top, ints, reals, ok)
    return ok[0] and ints[0] != 0


@inlined
def _two(op: int, at: int, ints: Int64, reals: Float64, ok: NDArray[np.bool_]) -> None:
    """An operation on the values at `at` and above it; the result is at `at`."""
    x, y, both = ints[at], ints[at + 1], ok[at] and ok[at + 1]
    if op in (_AND, _OR):
        decides = 1 if op == _OR else 0  # a FALSE decides an AND, whatever the other is
        if (ok[at] and x == decides) or (ok[at + 1] and y == decides):
            ints[at], ok[at] = decides, True
        else:
            ints[at], ok[at] = 1 - decides, both
        return
    if op == _COALESCE:
        if not ok[at]:
            ints[at], reals[at], ok[at] = y, reals[at + 1], ok[at + 1]
        return
    ok[at] = both
    if not both:
        return
    if op == _EQ_INT:
        ints[at] = x == y
    elif op == _NE_INT:
        ints[at] = x != y
    elif op == _LT_INT:
        ints[at] = x < y
    elif op == _LE_INT:
        ints[at] = x <= y
    elif op == _ADD_INT:
        ints[at] = x + y
        ok[at] = ((x ^ ints[at]) & (y ^ ints[at])) >= 0
    elif op == _SUB_INT:
        ints[at] = x - y
        ok[at] = ((x ^ y) & (x ^ ints[at])) >= 0
    elif op == _MUL_INT:
        ints[at] = x * y
        ok[at] = abs(float(x) * float(y)) < 2.0**63
    elif op == _MOD_INT:
        if y == 0:
            ok[at] = False
        elif y == -1:
            ints[at] = 0
        else:
            rest = abs(x) % abs(y)
            ints[at] = -rest if x < 0 else rest
    else:
        _two_reals(op, at, ints, reals, ok)


@inlined
def _two_reals(op: int, at: int, ints: Int64, reals: Float64, ok: NDArray[np.bool_]) -> None:
    p, q = reals[at], reals[at + 1]
    if op == _EQ_REAL:
        ints[at] = p == q
    elif op == _NE_REAL:
        ints[at] = p != q
    elif op == _LT_REAL:
        ints[at] = p < q
    elif op == _LE_REAL:
        ints[at] = p <= q
    else:
        if op == _ADD_REAL:
            value = p + q
        elif op == _SUB_REAL:
            value = p - q
        elif op == _MUL_REAL:
            value = p * q
        elif q == 0.0:
            value = np.nan
        elif op == _DIV_REAL:
            value = p / q
        else:
            value = p - q * np.trunc(p / q)
        reals[at] = value
        ok[at] = np.isfinite(value)
