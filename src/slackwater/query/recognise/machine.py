"""Conditions that look at the match so far, as code that the search runs for a row.

What such a condition needs of single rows is computed beforehand for all rows, into lanes; what is
left are operators over values of several rows, of aggregates of the match so far and of its number,
which the machine of patterns runs (`slackwater.pattern.program.operate`).  Values are int64 (whole
numbers, times, truth, ranks of texts) or float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.pattern.aggregate import INTEGER, NULL, REAL
from slackwater.pattern.program import operate
from slackwater.pattern.texts import Texts

__all__ = ["ACCEPT", "AT_END", "AT_START", "CURRENT", "FIRST", "LAST", "LOADS", "Aggs", "Code",
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

LOADS = {name: 64 + number for number, name in enumerate((
    "load_int", "load_real", "classifier", "const_int", "const_real", "null", "match_number",
    "count", "sum_int", "sum_real", "avg_int", "avg_real", "least_int", "least_real"))}
"""What puts a value on the stack; what is done with values there is `Op`, below these numbers."""
(_LOAD_INT, _LOAD_REAL, _CLASSIFIER, _CONST_INT, _CONST_REAL, _NULL, _MATCH_NUMBER, _COUNT,
 _SUM_INT, _SUM_REAL, _AVG_INT, _AVG_REAL, _LEAST_INT, _LEAST_REAL) = LOADS.values()


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
    """Values of all rows: whole ones and real ones, and which of them are not NULL.

    `names` are the ranks of the variables' names among the texts.
    """

    ints: NDArray[np.int64]
    int_ok: NDArray[np.bool_]
    reals: NDArray[np.float64]
    real_ok: NDArray[np.bool_]
    names: Int64


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
    """Room for an evaluation, and the texts that ranks stand for (see `Programs`)."""

    stack_i: Int64
    stack_f: Float64
    stack_k: Int64
    texts: Texts


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
            variable: Int64, state: Int64, r: int, s: int, lo: int, hi: int, number: int) -> bool:
    """Whether the condition of variable v is true of row r (and not NULL).

    Rows s…r − 1 are in these states, which are of these variables.
    """
    ints, reals, kind = stack.stack_i, stack.stack_f, stack.stack_k
    top = np.int64(0)
    for i in range(code.first[v], code.first[v + 1]):
        op, a, b = code.op[i], code.a[i], code.b[i]
        if op < _LOAD_INT:
            top = operate(op, top, stack)
            continue
        known, real = True, False
        if op <= _CLASSIFIER:
            row = row_of(b, refs, tracked, r, s, lo, hi)
            if row < 0:
                known = False
            elif op == _LOAD_INT:
                ints[top], known = lanes.ints[a, row], lanes.int_ok[a, row]
            elif op == _LOAD_REAL:
                reals[top], known, real = lanes.reals[a, row], lanes.real_ok[a, row], True
            elif s <= row <= r:
                ints[top] = lanes.names[v if row == r else variable[state[row]]]
            else:
                known = False
        elif op == _CONST_INT:
            ints[top] = a
        elif op == _CONST_REAL:
            reals[top], real = code.real[i], True
        elif op == _NULL:
            known = False
        elif op == _MATCH_NUMBER:
            ints[top] = number
        elif op == _COUNT:
            ints[top] = aggs.seen[a, r]
        else:
            known = aggs.seen[a, r] > 0
            if op == _SUM_INT:
                ints[top] = aggs.whole[a, r]
                known = known and aggs.ok[a, r]
            elif op == _LEAST_INT:
                ints[top] = aggs.whole[a, r]
            else:
                real = True
                reals[top] = aggs.real[a, r]
                if known and op != _LEAST_REAL:
                    if op != _SUM_REAL:
                        reals[top] /= aggs.seen[a, r]
                    known = np.isfinite(reals[top])
        kind[top] = (REAL if real else INTEGER) if known else NULL
        top += 1
    return kind[0] == INTEGER and ints[0] != 0
