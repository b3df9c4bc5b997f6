"""Stable order of times by counting digits: linear, and several times as fast as sorting them."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["order_of"]

Int64 = NDArray[np.int64]
_BITS, _FEW, _MOST = 11, 512, 4  # bits a digit; rows and digits for which it is worth while


def order_of(time: Int64) -> Int64:
    """Indices that sort `time`, equal times in the order in which they stand.

    Examples
    --------
    >>> order_of(np.array([30, 10, 20, 10])).tolist()
    [1, 3, 2, 0]
    """
    if len(time) >= _FEW:
        least = int(time.min())
        spread = int(time.max()) - least
        digits = -(-spread.bit_length() // _BITS)
        if digits <= _MOST:
            return _by_digits(time, least, digits)
    return np.argsort(time, kind="stable")


@njit(cache=True)
def _by_digits(time: Int64, least: int, digits: int) -> Int64:
    n = len(time)
    order, other = np.arange(n), np.empty(n, np.int64)
    key, other_key = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        key[i] = time[i] - least
    mask = (1 << _BITS) - 1
    starts = np.empty((1 << _BITS) + 1, np.int64)
    for digit in range(digits):
        shift = digit * _BITS
        starts[:] = 0
        for i in range(n):
            starts[((key[i] >> shift) & mask) + 1] += 1
        for d in range(1 << _BITS):
            starts[d + 1] += starts[d]
        for i in range(n):
            d = (key[i] >> shift) & mask
            at = starts[d]
            starts[d] = at + 1
            other[at], other_key[at] = order[i], key[i]
        order, other = other, order
        key, other_key = other_key, key
    return order
