"""Hashes of cells, and the bytes in which a key is remembered.

A key's *record* is, for each of its columns, the tag and then eight bytes for a number, or four
bytes of length and the bytes themselves.  A row's cells and a record give the same hash.
The hash decides which page of a snapshot a key is in, so it is part of the snapshot's format.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.state.cells import BYTES, NULL, Cells
from slackwater.core.state.memory import address_of, byte, half, word

__all__ = ["Addresses", "addresses", "hash_record", "hash_row", "hash_rows", "record_size",
           "same_key", "write_record"]

UInt8 = NDArray[np.uint8]
UInt64 = NDArray[np.uint64]
_A, _B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_SEED = np.uint64(0x51AC)


class Addresses(NamedTuple):
    """Where the parts of `Cells` begin, and their shape."""

    tag: int
    low: int
    high: int
    data: int
    columns: int
    rows: int


def addresses(cells: Cells) -> Addresses:
    """What the loops take; the cells must outlive their call."""
    return Addresses(address_of(cells.tag), address_of(cells.low), address_of(cells.high),
                     address_of(cells.data), *cells.tag.shape)


@njit(cache=True)
def _cell(cells: Addresses, column: int, row: int) -> tuple[np.int64, np.int64, np.int64]:
    """Tag, low and high of a cell."""
    at = column * cells.rows + row
    return (np.int64(byte(cells.tag + at)), np.int64(word(cells.low + 8 * at)),
            np.int64(word(cells.high + 8 * at)))


@njit(cache=True)
def _mix(h: np.uint64, k: np.uint64) -> np.uint64:
    h = (h ^ k) * _A
    return h ^ (h >> np.uint64(32))


@njit(cache=True)
def _opened(h: np.uint64, tag: int, size: int) -> np.uint64:
    return _mix(h, np.uint64(size << 8 | tag))


@njit(cache=True)
def _hash_bytes(at: int, size: int, h: np.uint64) -> np.uint64:
    if size >= 8:
        end = at + size
        while at + 8 < end:
            h = _mix(h, word(at))
            at += 8
        return _mix(h, word(end - 8))  # the last eight, some of them perhaps once more
    if size >= 4:
        return _mix(h, half(at) | half(at + size - 4) << np.uint64(32))
    if size > 0:
        return _mix(h, byte(at) | byte(at + size // 2) << np.uint64(8)
                    | byte(at + size - 1) << np.uint64(16))
    return h


@njit(cache=True)
def _finished(h: np.uint64) -> np.uint64:
    h *= _B
    return h ^ (h >> np.uint64(32))


@njit(cache=True)
def hash_row(cells: Addresses, row: int) -> np.uint64:
    """The hash of a row's cells."""
    h = _SEED
    for c in range(cells.columns):
        tag, low, high = _cell(cells, c, row)
        if tag >= BYTES:
            h = _hash_bytes(cells.data + low, high - low, _opened(h, tag, high - low))
        elif tag != NULL:
            h = _mix(_opened(h, tag, 0), np.uint64(low))
        else:
            h = _opened(h, tag, 0)
    return _finished(h)


@njit(cache=True, nogil=True)
def hash_rows(cells: Addresses) -> UInt64:
    """The hash of each row's cells."""
    out = np.empty(cells.rows, np.uint64)
    for i in range(cells.rows):
        out[i] = hash_row(cells, i)
    return out


@njit(cache=True)
def hash_record(record: int, columns: int) -> np.uint64:
    """The hash of the key whose record begins at this address."""
    h = _SEED
    for _ in range(columns):
        tag = np.int64(byte(record))
        record += 1
        if tag >= BYTES:
            size = np.int64(half(record))
            h = _hash_bytes(record + 4, size, _opened(h, tag, size))
            record += 4 + int(size)
        elif tag != NULL:
            h = _mix(_opened(h, tag, 0), word(record))
            record += 8
        else:
            h = _opened(h, tag, 0)
    return _finished(h)


@njit(cache=True)
def record_size(cells: Addresses, row: int) -> int:
    """How many bytes a row's record takes."""
    size = cells.columns
    for c in range(cells.columns):
        tag, low, high = _cell(cells, c, row)
        if tag >= BYTES:
            size += 4 + high - low
        elif tag != NULL:
            size += 8
    return size


@njit(cache=True)
def write_record(cells: Addresses, row: int, records: UInt8, at: int) -> None:
    """Write a row's record into `records` at `at`."""
    for c in range(cells.columns):
        tag, low, high = _cell(cells, c, row)
        records[at] = tag
        at += 1
        if tag >= BYTES:
            for b in range(4):
                records[at + b] = ((high - low) >> (8 * b)) & 255
            at += 4
            for b in range(low, high):
                records[at] = byte(cells.data + b)
                at += 1
        elif tag != NULL:
            for b in range(8):
                records[at + b] = (low >> (8 * b)) & 255
            at += 8


@njit(cache=True)
def same_key(cells: Addresses, row: int, record: int) -> bool:
    """Whether the record at this address is that of the row."""
    for c in range(cells.columns):
        tag, low, high = _cell(cells, c, row)
        if np.int64(byte(record)) != tag:
            return False
        record += 1
        if tag >= BYTES:
            size = high - low
            if np.int64(half(record)) != size or not _same_bytes(cells.data + low, record + 4,
                                                                 size):
                return False
            record += 4 + size
        elif tag != NULL:
            if word(record) != np.uint64(low):
                return False
            record += 8
    return True


@njit(cache=True)
def _same_bytes(a: int, b: int, size: int) -> bool:
    if size >= 8:
        end = a + size - 8
        while a < end:
            if word(a) != word(b):
                return False
            a += 8
            b += 8
        return word(end) == word(b + (end - a))
    if size >= 4:
        return half(a) == half(b) and half(a + size - 4) == half(b + size - 4)
    for k in range(size):  # noqa: SIM110  (numba's all() is slower)
        if byte(a + k) != byte(b + k):
            return False
    return True
