"""The loops of a hash index from keys to slots: open addressing, linear probing, no tombstones.

An index cell is the low half of a hash and the slot + 1; an empty cell is 0.  A key's home is given
by the *high* bits of its hash, so that keys whose hashes begin alike lie together: the members of a
page (see `buckets`) are found without a list of them.  For the same reason the index is as large as
all live keys need it, also while few pages have been read: their keys share a small part of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.state.hashing import (
    Addresses,
    hash_record,
    hash_row,
    record_size,
    same_key,
    write_record,
)

__all__ = ["COUNTS", "ENTRY", "add_rows", "adopt", "compact", "find_rows", "gather", "members",
           "rebuild", "remove"]

UInt8 = NDArray[np.uint8]
UInt64 = NDArray[np.uint64]
Int64 = NDArray[np.int64]
ENTRY = np.dtype([("hash", "u8"), ("at", "i8"), ("size", "i8")])
"""What is known of a slot: its key's hash, and where its record lies (at 0: not in memory)."""
COUNTS = np.dtype([("room", "i8"), ("live", "i8"), ("used", "i8"), ("unused_word", "i8"),
                   ("fresh", "i8")])
"""Slots ever given out; live keys, in the index or not; bytes of records; a word of the live bits
before which no slot is free; slots given out in this call."""
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True)
def _shift(index: UInt64) -> np.uint64:
    """By how much a hash is shifted to give its home; the length is a power of two, at least 2."""
    bits, size = 0, len(index)
    while size > 1:
        size >>= 1
        bits += 1
    return np.uint64(64 - bits)


@njit(cache=True)
def _place(index: UInt64, shift: np.uint64, h: np.uint64, slot: int) -> None:
    mask = np.uint64(len(index) - 1)
    p = h >> shift
    while index[p] != 0:
        p = (p + np.uint64(1)) & mask
    index[p] = (h & _LOW) << _HALF | np.uint64(slot + 1)


@njit(cache=True, nogil=True)
def find_rows(cells: Addresses, index: UInt64, entries: NDArray[Any], records: UInt8,
              out: Int64) -> None:
    """The slot of each row's key, −1 where it is not known."""
    mask, shift, base = np.uint64(len(index) - 1), _shift(index), records.ctypes.data
    for i in range(len(out)):
        h = hash_row(cells, i)
        p = h >> shift
        out[i] = -1
        while index[p] != 0:
            if index[p] >> _HALF == h & _LOW:
                s = np.int64(index[p] & _LOW) - 1
                if same_key(cells, i, base + entries[s].at):
                    out[i] = s
                    break
            p = (p + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def add_rows(cells: Addresses, first: int, index: UInt64, entries: NDArray[Any], records: UInt8,
             live: UInt64, counts: NDArray[Any], out: Int64, fresh: Int64) -> int:
    """The slot of each row's key from row `first` on; unknown keys get the lowest free slots.

    Returns the row before which something ran out of room, or the number of rows.
    """
    mask, shift, base = np.uint64(len(index) - 1), _shift(index), records.ctypes.data
    state = counts[0]
    for i in range(first, len(out)):
        h = hash_row(cells, i)
        p = h >> shift
        slot = np.int64(-1)
        while index[p] != 0:
            if index[p] >> _HALF == h & _LOW:
                s = np.int64(index[p] & _LOW) - 1
                if same_key(cells, i, base + entries[s].at):
                    slot = s
                    break
            p = (p + np.uint64(1)) & mask
        if slot < 0:
            size = record_size(cells, i)
            w = state.unused_word
            while w < len(live) and live[w] == _ALL:
                w += 1
            state.unused_word = w
            if (w == len(live) or 2 * (state.live + 1) > len(index)
                    or state.used + size > len(records) or state.fresh == len(fresh)):
                return i
            slot = 64 * w + _lowest_zero(live[w])
            live[w] |= np.uint64(1) << np.uint64(slot - 64 * w)
            write_record(cells, i, records, state.used)
            entries[slot].hash = h
            entries[slot].at = state.used
            entries[slot].size = size
            index[p] = (h & _LOW) << _HALF | np.uint64(slot + 1)
            fresh[state.fresh] = slot
            state.used += size
            state.live += 1
            state.fresh += 1
            state.room = max(state.room, slot + 1)
        out[i] = slot
    return len(out)


@njit(cache=True)
def _lowest_zero(bits: np.uint64) -> int:
    k = 0
    while (bits >> np.uint64(k)) & np.uint64(1):
        k += 1
    return k


@njit(cache=True, nogil=True)
def remove(slots: Int64, index: UInt64, entries: NDArray[Any], live: UInt64,
           counts: NDArray[Any]) -> int:
    """Forget the keys of these slots; how many bytes of records are garbage by that."""
    mask, shift = np.uint64(len(index) - 1), _shift(index)
    one, garbage = np.uint64(1), 0
    for slot in slots:
        live[slot >> 6] &= ~(one << np.uint64(slot & 63))
        counts[0].unused_word = min(counts[0].unused_word, slot >> 6)
        counts[0].live -= 1
        if entries[slot].at == 0:
            continue
        p = entries[slot].hash >> shift
        while index[p] & _LOW != np.uint64(slot + 1):
            p = (p + one) & mask
        # close the gap: whoever stands further from home than the gap moves into it
        gap = p
        while True:
            p = (p + one) & mask
            if index[p] == 0:
                break
            home = entries[np.int64(index[p] & _LOW) - 1].hash >> shift
            if (p - home) & mask >= (p - gap) & mask:
                index[gap] = index[p]
                gap = p
        index[gap] = 0
        garbage += entries[slot].size
        entries[slot].at = 0
    return garbage


@njit(cache=True, nogil=True)
def rebuild(index: UInt64, entries: NDArray[Any], larger: UInt64) -> None:
    """Put all cells into an index of another size."""
    shift = _shift(larger)
    for cell in index:
        if cell != 0:
            slot = np.int64(cell & _LOW) - 1
            _place(larger, shift, entries[slot].hash, slot)


@njit(cache=True, nogil=True)
def compact(index: UInt64, entries: NDArray[Any], records: UInt8, out: UInt8, first: int) -> int:
    """Copy the records of all keys to `out` from `first` on; where they end."""
    for cell in index:
        if cell != 0:
            entry = entries[np.int64(cell & _LOW) - 1]
            out[first:first + entry.size] = records[entry.at:entry.at + entry.size]
            entry.at = first
            first += entry.size
    return first


@njit(cache=True, nogil=True)
def members(index: UInt64, entries: NDArray[Any], low: np.uint64, high: np.uint64) -> Int64:
    """The slots of all keys in the index whose hash is from `low` to `high`."""
    mask, shift = np.uint64(len(index) - 1), _shift(index)
    out, count = np.empty(64, np.int64), 0
    p, left = low >> shift, len(index)
    last = high >> shift
    inside = True
    while left > 0:
        if index[p] != 0:
            slot = np.int64(index[p] & _LOW) - 1
            if low <= entries[slot].hash <= high:
                if count == len(out):
                    grown = np.empty(2 * count, np.int64)
                    grown[:count] = out
                    out = grown
                out[count] = slot
                count += 1
        elif not inside:
            break
        if p == last:
            inside = False
        p = (p + np.uint64(1)) & mask
        left -= 1
    return np.sort(out[:count])


@njit(cache=True, nogil=True)
def adopt(slots: NDArray[np.int32], sizes: NDArray[np.int32], at: int, columns: int,
          records: UInt8, index: UInt64, entries: NDArray[Any],
          overridden: NDArray[np.bool_]) -> int:
    """Take in keys whose records lie one after the other from `at` on, if not overridden.

    Returns how many bytes of records are garbage.
    """
    shift, base, garbage = _shift(index), records.ctypes.data, 0
    for k in range(len(slots)):
        s = slots[k]
        if overridden[s]:
            garbage += sizes[k]
        else:
            h = hash_record(base + at, columns)
            entries[s].hash = h
            entries[s].at = at
            entries[s].size = sizes[k]
            _place(index, shift, h, s)
        at += sizes[k]
    return garbage


@njit(cache=True, nogil=True)
def gather(records: UInt8, at: Int64, ends: Int64, out: UInt8) -> None:
    """The records that begin at `at`, one after the other; `ends` is where they end in `out`."""
    first = 0
    for i in range(len(at)):
        out[first:ends[i]] = records[at[i]:at[i] + ends[i] - first]
        first = ends[i]
