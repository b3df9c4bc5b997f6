"""Aggregates over the elements of a Kleene component, for WHERE and RETURN alike.

NULL and NaN are skipped, as in windows; `first` and `last` give the element's own value, whatever
it is.  A sum of whole numbers is exact, and NULL if it does not fit 64 bits; a sum or mean of reals
that is not finite is NULL.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.pattern.stacks import inner

__all__ = ["INTEGER", "NULL", "REAL", "Aggregate", "fold", "fold_runs"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
NULL, INTEGER, REAL = 0, 1, 2  # what a value of the machine is


class Aggregate(IntEnum):
    """Over the elements of a Kleene component."""

    COUNT = 0  # column < 0: all elements, else those that are not skipped
    SUM = 1
    AVG = 2
    MIN = 3
    MAX = 4
    FIRST = 5
    LAST = 6


_COUNT, _SUM, _AVG = int(Aggregate.COUNT), int(Aggregate.SUM), int(Aggregate.AVG)
_MIN, _FIRST = int(Aggregate.MIN), int(Aggregate.FIRST)


@inner
def fold(kind: int, column: int, real: bool, rows: Int64, first: int, last: int, value: Int64,
         reals: Float64, known: NDArray[np.bool_]) -> tuple[Any, Any, int]:
    """The aggregate of rows[first … last]: as int64, as float64, and which of them it is."""
    if kind >= _FIRST:
        if last < first:
            return np.int64(0), 0.0, NULL
        row = rows[first] if kind == _FIRST else rows[last]
        if not known[column, row]:
            return np.int64(0), 0.0, NULL
        if real:
            return np.int64(0), reals[column, row], REAL
        return value[column, row], 0.0, INTEGER
    # whole numbers are added in two halves, which do not overflow
    count, high, low, total_f = np.int64(0), np.int64(0), np.int64(0), 0.0
    best_i, best_f = np.int64(0), 0.0
    sign = 1 if kind == _MIN else -1
    for i in range(first, last + 1):
        if column < 0:
            count += 1
            continue
        row = rows[i]
        if not known[column, row]:
            continue
        if real:
            x = reals[column, row]
            if np.isnan(x):
                continue
            total_f += x
            if count == 0 or (x < best_f if sign > 0 else x > best_f):
                best_f = x
        else:
            v = value[column, row]
            total_f += float(v)
            high += v >> 32
            low += v & 0xFFFFFFFF
            if count == 0 or (v < best_i if sign > 0 else v > best_i):
                best_i = v
        count += 1
    if kind == _COUNT:
        return count, 0.0, INTEGER
    if count == 0:
        return np.int64(0), 0.0, NULL
    if kind == _AVG:
        mean = total_f / count
        return np.int64(0), mean, (REAL if np.isfinite(mean) else NULL)
    if kind == _SUM:
        if real:
            return np.int64(0), total_f, (REAL if np.isfinite(total_f) else NULL)
        high += low >> 32
        fits = -(2**31) <= high < 2**31
        return (high << 32) | (low & 0xFFFFFFFF), 0.0, (INTEGER if fits else NULL)
    return best_i, best_f, (REAL if real else INTEGER)


@njit(cache=True)
def fold_runs(kind: int, real: bool, offsets: Int64, value: Int64, known: NDArray[np.bool_],
              out: Int64, given: NDArray[np.bool_]) -> None:
    """Aggregate values by runs: run r is value[offsets[r] … offsets[r + 1]).

    Reals come and go by their bits; `given` is False where the result is NULL.
    """
    rows = np.arange(len(value))
    values = value.reshape(1, -1)
    reals, flags = values.view(np.float64), known.reshape(1, -1)
    out_f = out.view(np.float64)
    for r in range(len(out)):
        i, x, state = fold(kind, np.int64(0), real, rows, offsets[r], offsets[r + 1] - 1, values,
                           reals, flags)
        given[r] = state != NULL
        if state == REAL:
            out_f[r] = x
        else:
            out[r] = i
