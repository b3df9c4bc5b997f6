"""Decimals as cells: whole ones as the integers that they are, the others by their digits."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["decimal_cells", "decimal_of"]

_LIMBS = 17  # 32 bits each: 256 bits, and as many again for a negative scale
_NULL, _INT, _BIG, _DECIMAL = 0, 2, 3, 34  # tags of `cells`, which imports this module


def decimal_cells(raw: NDArray[np.uint8], width: int, scale: int, valid: NDArray[np.bool_],
                  ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64],
                             NDArray[np.uint8]]:
    """Tags, numbers or spans of bytes, and the bytes, of `width`-byte decimals with one scale."""
    n = len(valid)
    tag, low, high = np.zeros(n, np.uint8), np.zeros(n, np.int64), np.zeros(n, np.int64)
    data = np.zeros(n * (2 + 4 * _LIMBS), np.uint8)
    used = _fill(raw.copy(), width, scale, valid, tag, low, high, data)
    return tag, low, high, data[:used].copy()


def decimal_of(blob: bytes) -> Decimal:
    """The decimal that a cell's bytes stand for."""
    digits = int.from_bytes(blob[2:], "little")
    return Decimal(f"{'-' if blob[0] else ''}{digits}E-{blob[1]}")


@njit(cache=True, nogil=True)
def _fill(raw: NDArray[np.uint8], width: int, scale: int, valid: NDArray[np.bool_],
          tag: NDArray[np.uint8], low: NDArray[np.int64], high: NDArray[np.int64],
          data: NDArray[np.uint8]) -> int:
    limbs = np.zeros(_LIMBS, np.int64)
    less = np.zeros(_LIMBS, np.int64)
    used = 0
    for i in range(len(valid)):
        if not valid[i]:
            tag[i] = _NULL
            continue
        negative = _magnitude(raw, i * width, width, limbs)
        left = scale
        while left > 0 and _tenth(limbs, less) == 0:  # 1.50 and 1.5 are the same
            limbs[:] = less
            left -= 1
        while left < 0:
            _tenfold(limbs)
            left += 1
        low[i] = high[i] = limbs[0] | (limbs[1] << 32)  # the lowest 64 bits, whatever the sign
        large = limbs[2:].any()
        if left == 0 and not large and (low[i] >= 0 or (negative and low[i] == -low[i])):
            tag[i] = _INT
            low[i] = high[i] = -low[i] if negative else low[i]
        elif left == 0 and not large and not negative:
            tag[i] = _BIG
        else:
            tag[i], low[i] = _DECIMAL, used
            data[used], data[used + 1] = negative, left
            used += 2
            for k in range(_LIMBS):
                for b in range(4):
                    data[used + 4 * k + b] = (limbs[k] >> (8 * b)) & 255
            end = used + 4 * _LIMBS
            while end > used and data[end - 1] == 0:
                end -= 1
            used = end
            high[i] = used
    return used


@njit(cache=True)
def _magnitude(raw: NDArray[np.uint8], at: int, width: int, limbs: NDArray[np.int64]) -> bool:
    """The absolute value of a little-endian two's complement number; whether it is negative."""
    negative = raw[at + width - 1] >= 128
    limbs[:] = 0
    carry = np.int64(1 if negative else 0)
    for k in range(width // 4):
        limb = np.int64(0)
        for b in range(4):
            limb |= np.int64(raw[at + 4 * k + b]) << (8 * b)
        if negative:
            limb = (0xFFFFFFFF - limb) + carry
            carry = limb >> 32
            limb &= 0xFFFFFFFF
        limbs[k] = limb
    return negative


@njit(cache=True)
def _tenth(limbs: NDArray[np.int64], out: NDArray[np.int64]) -> int:
    """A tenth into `out`; the remainder."""
    rest = 0
    for k in range(len(limbs) - 1, -1, -1):
        value = (rest << 32) | limbs[k]
        out[k], rest = value // 10, value % 10
    return rest


@njit(cache=True)
def _tenfold(limbs: NDArray[np.int64]) -> None:
    carry = 0
    for k in range(len(limbs)):
        value = limbs[k] * 10 + carry
        limbs[k], carry = value & 0xFFFFFFFF, value >> 32
