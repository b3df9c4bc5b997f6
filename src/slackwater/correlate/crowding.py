"""Too many pairs: found out before memory runs out, and said in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.errors import DataError
from slackwater.correlate.predicate import Predicate

__all__ = ["check_number", "possible_pairs", "small_parts", "too_many"]

Int64 = NDArray[np.int64]
_PARTS = 1000
"""Searching a part has a price of its own, so there are no more of them than this."""


def possible_pairs(left: tuple[Int64, Int64], right: tuple[Int64, Int64],
                   predicate: Predicate) -> Int64:
    """For each left interval at most how many right ones can satisfy the predicate.

    Examples
    --------
    >>> left, right = (np.array([0]), np.array([1])), (np.array([2, 50]), np.array([3, 60]))
    >>> possible_pairs(left, right, Predicate(-10, 10)).tolist()
    [1]
    """
    begins = np.searchsorted(np.sort(right[0]), left[1] + predicate.hi, side="right")
    ended = np.searchsorted(np.sort(right[1]), left[0] + predicate.lo, side="left")
    return np.maximum(begins - ended, 0).astype(np.int64)


def small_parts(left: tuple[Int64, Int64], right: tuple[Int64, Int64], predicate: Predicate,
                most: int, threads: int) -> list[int]:
    """Where to cut the left rows so that no part has many more pairs than may be found in all."""
    upto = np.cumsum(possible_pairs(left, right, predicate))
    total = int(upto[-1]) if len(upto) else 0
    parts = min(max(threads, total // max(most // 2, 1)), _PARTS, max(len(upto), 1))
    inner = np.searchsorted(upto, np.linspace(0, total, parts + 1)[1:-1])
    return np.unique([0, *inner, len(upto)]).astype(int).tolist()


def check_number(found: int, most: int | None) -> None:
    """Raise if more pairs were found than are allowed."""
    if most is not None and found > most:
        raise too_many(f"more than {most:,}")


def too_many(how_many: str) -> DataError:
    """What to say of so many pairs."""
    return DataError(
        f"{how_many} pairs are too many to be written as one table", step="correlate",
        hint="a smaller distance, a higher confidence, keys (by) or a horizon leave fewer; so do "
             "shorter stretches of time; max_pairs raises the limit")
