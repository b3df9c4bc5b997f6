"""What identifies an event and a match: their content, never when or where they were seen.

An event is its values in all columns but the arrival: its time, type, sequence and payload.  Equal
events are told apart by a number, 0, 1, 2…, which of them gets which does not matter.  A match is
its events in the places they take.  So the same match has the same id after a restart, on another
machine, in another order of arrival, and a sink that has seen the id can drop the repetition.

The hash is 128 bits: two lanes of the splitmix64 finaliser (Steele, Lea, Flood: Fast splittable
pseudorandom number generators, OOPSLA 2014) over the columns in the order of their names.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["content_ids", "hex_ids", "match_ids", "occurrences"]

UInt64 = NDArray[np.uint64]
Int64 = NDArray[np.int64]
_SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


@njit(cache=True)
def _mix(x: np.uint64) -> np.uint64:
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True)
def _add_words(out: UInt64, words: UInt64, valid: NDArray[np.bool_], seed: np.uint64) -> None:
    for i in range(len(words)):
        word = _mix(words[i] + seed) if valid[i] else seed
        out[i] = _mix(out[i] ^ word) + np.uint64(1)


@njit(cache=True)
def _text_words(offsets: Int64, data: NDArray[np.uint8], seed: np.uint64, out: UInt64) -> None:
    for i in range(len(offsets) - 1):
        h = seed ^ np.uint64(offsets[i + 1] - offsets[i])
        word, filled = np.uint64(0), 0
        for p in range(offsets[i], offsets[i + 1]):
            word = (word << np.uint64(8)) | np.uint64(data[p])
            filled += 1
            if filled == 8:
                h = _mix(h ^ word) + np.uint64(1)
                word, filled = np.uint64(0), 0
        out[i] = _mix(h ^ word)


def _lane(column: pa.Array, seed: int) -> tuple[UInt64, NDArray[np.bool_]]:
    """A column's values as 64-bit words, and which are not NULL."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
    elif pa.types.is_duration(kind):
        column = column.cast(pa.duration("us"), safe=False)
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        whole = pa.uint64() if kind == pa.uint64() else pa.int64()
        values = pc.fill_null(column.cast(whole), 0).to_numpy(zero_copy_only=False)
        return values.astype(values.dtype, copy=True).view(np.uint64), valid
    if pa.types.is_floating(kind):
        reals = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False) + 0.0
        reals[np.isnan(reals)] = np.nan
        return reals.view(np.uint64), valid
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        text = column.cast(pa.large_string())
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        text = column.cast(pa.large_binary())
    else:
        text = pa.array([json.dumps(v, sort_keys=True, default=str) for v in column.to_pylist()],
                        pa.large_string())
    text = pc.fill_null(text, b"" if pa.types.is_large_binary(text.type) else "")
    _, offsets, data = text.buffers()
    # copies: Arrow's memory is read-only, and numba would compile the loop once more for that
    ends = np.array(np.frombuffer(offsets, np.int64)[text.offset: text.offset + len(text) + 1])
    bytes_ = np.zeros(0, np.uint8) if data is None else np.array(np.frombuffer(data, np.uint8))
    out = np.empty(len(text), np.uint64)
    _text_words(ends, bytes_, np.uint64(seed), out)
    return out, valid


def _name_seed(name: str, seed: int) -> np.uint64:
    data = np.array(np.frombuffer(name.encode(), np.uint8))
    out = np.empty(1, np.uint64)
    _text_words(np.array([0, len(data)]), data, np.uint64(seed), out)
    return out[0]


def content_ids(rows: pa.RecordBatch, without: str | None) -> UInt64:
    """Two words a row: the hash of its values in all columns but `without`."""
    out = np.empty((2, rows.num_rows), np.uint64)
    for lane, seed in enumerate(_SEEDS):
        out[lane] = np.uint64(seed)
    for name in sorted(rows.schema.names):
        if name == without:
            continue
        column = rows.column(name)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        for lane, seed in enumerate(_SEEDS):
            words, valid = _lane(column, seed)
            _add_words(out[lane], words, valid, _name_seed(name, seed))
    return out


def occurrences(ids: UInt64, n: Int64) -> Int64:
    """Number equal events by arrival: 0 for the first of a kind, 1 for the next…"""
    order = np.lexsort((n, ids[1], ids[0]))
    count = np.zeros(len(n), np.int64)
    if len(n) == 0:
        return count
    a, b = ids[0][order], ids[1][order]
    new = np.concatenate([[True], (a[1:] != a[:-1]) | (b[1:] != b[:-1])])
    first = np.maximum.accumulate(np.where(new, np.arange(len(n)), 0))
    count[order] = np.arange(len(n)) - first
    return count


@njit(cache=True)
def _combine(ids: UInt64, rows: Int64, counts: Int64, m: int, out: UInt64) -> None:
    for lane in range(2):
        at = 0
        for i in range(out.shape[1]):
            h = np.uint64(m)
            for c in range(m):
                for _ in range(counts[i * m + c]):
                    h = _mix(h ^ ids[lane, rows[at]]) + np.uint64(c + 1)
                    at += 1
            out[lane, i] = _mix(h)


@njit(cache=True)
def number_ids(ids: UInt64, occurrence: Int64) -> None:
    """Make the ids of equal events different."""
    for lane in range(2):
        for i in range(len(occurrence)):
            if occurrence[i]:
                ids[lane, i] = _mix(ids[lane, i] + np.uint64(occurrence[i]))


def match_ids(ids: UInt64, rows: Int64, counts: Int64, m: int) -> UInt64:
    """Two words a match; `rows` index the columns of `ids`."""
    out = np.empty((2, len(counts) // m), np.uint64)
    _combine(ids, rows, counts, m, out)
    return out


def hex_ids(words: UInt64) -> pa.Array:
    """As text: 32 hexadecimal digits."""
    digits = np.ascontiguousarray(words.T).astype(">u8").tobytes().hex()
    return pa.array([digits[i:i + 32] for i in range(0, len(digits), 32)], pa.string())
