"""Records of keys back into Arrow columns of the types that the keys came with."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.state.cells import (
    BIG,
    BINARY,
    BOOL,
    BYTES,
    DATE,
    DECIMAL,
    FLOAT,
    INT,
    MOMENT,
    NULL,
    SPAN,
    TEXT,
    TIME,
    UNITS,
    ZONED,
)
from slackwater.core.state.decimals import decimal_of
from slackwater.core.state.index import gather
from slackwater.core.state.memory import byte, half, word

__all__ = ["columns_of", "common_type", "labels_of"]

UInt8 = NDArray[np.uint8]
Int64 = NDArray[np.int64]
_KINDS = {
    TEXT: (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    BINARY: (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
             pa.types.is_fixed_size_binary),
    BOOL: (pa.types.is_boolean,), DATE: (pa.types.is_date,), TIME: (pa.types.is_time,),
}


def common_type(one: pa.DataType | None, other: pa.DataType) -> pa.DataType:
    """The type that holds the values of both; text if there is no other."""
    if one is None or one == other:
        return other
    try:
        unified = pa.unify_schemas([pa.schema([("k", one)]), pa.schema([("k", other)])],
                                   promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.large_string()
    return unified.field(0).type


def columns_of(records: UInt8, at: Int64, types: list[pa.DataType]) -> list[pa.Array]:
    """The columns of the keys whose records begin at `at`."""
    tag, low, high = _parse(records, at, len(types))
    return [_column(kind, tag[c], low[c], high[c], records) for c, kind in enumerate(types)]


def labels_of(columns: list[pa.Array]) -> pa.Array:
    """Each key as text that can be read."""
    texts = [pc.fill_null(_text(column), "null") for column in columns]
    if len(texts) == 1:
        return texts[0]
    return pc.binary_join_element_wise(*texts, pa.scalar(", ", pa.large_string()))


def _column(kind: pa.DataType, tag: UInt8, low: Int64, high: Int64, records: UInt8) -> pa.Array:
    none = tag == NULL
    present = np.unique(tag[~none]).tolist()
    if all(_fits(kind, t) for t in present):
        return _typed(kind, tag, none, low, high, records)
    # keys of several types in one column, which only text can hold
    out = np.full(len(tag), None, object)
    for t in present:
        mine = np.flatnonzero(tag == t)
        part = _typed(_natural(t), tag[mine], none[mine], low[mine], high[mine], records)
        out[mine] = _text(part).to_pylist()
    return pa.array(out, pa.large_string())


def _fits(kind: pa.DataType, tag: int) -> bool:
    """Whether cells with this tag are values of the type."""
    types = pa.types
    if types.is_integer(kind):
        return tag == INT or (tag == BIG and types.is_uint64(kind))
    if types.is_floating(kind):
        return tag in (INT, BIG, FLOAT)
    if types.is_decimal(kind):
        return tag in (INT, BIG, DECIMAL)
    if types.is_timestamp(kind):
        return 0 <= tag - (ZONED if kind.tz else MOMENT) < len(UNITS)
    if types.is_duration(kind):
        return 0 <= tag - SPAN < len(UNITS)
    return any(test(kind) for test in _KINDS.get(tag, ()))


def _natural(tag: int) -> pa.DataType:
    """The type whose values are cells with this tag."""
    if tag >= BYTES:
        return {TEXT: pa.large_string(), BINARY: pa.large_binary(),
                DECIMAL: pa.decimal256(76, 38)}[tag]
    if tag >= MOMENT:
        base = SPAN if tag >= SPAN else ZONED if tag >= ZONED else MOMENT
        unit = UNITS[tag - base]
        return pa.duration(unit) if base == SPAN else pa.timestamp(
            unit, "UTC" if base == ZONED else None)
    return {BOOL: pa.bool_(), INT: pa.int64(), BIG: pa.uint64(), FLOAT: pa.float64(),
            DATE: pa.date32(), TIME: pa.time64("ns")}[tag]


def _typed(kind: pa.DataType, tag: UInt8, none: NDArray[np.bool_], low: Int64, high: Int64,
           records: UInt8) -> pa.Array:
    types = pa.types
    if types.is_null(kind):
        return pa.nulls(len(tag))
    if types.is_decimal(kind):
        return pa.array([_decimal(t, a, b, records)
                         for t, a, b in zip(tag.tolist(), low.tolist(), high.tolist(),
                                            strict=True)], kind)
    if types.is_fixed_size_binary(kind):
        return pa.array(_gathered(pa.large_binary(), none, low, high, records).to_pylist(), kind)
    if not types.is_primitive(kind):
        binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
        plain = pa.large_binary() if binary else pa.large_string()
        return _gathered(plain, none, low, high, records).cast(kind)
    if types.is_boolean(kind):
        return pa.array(low != 0, mask=none)
    if types.is_uint64(kind):
        return pa.array(low.view(np.uint64), mask=none)
    if types.is_floating(kind):
        value = np.select([tag == INT, tag == BIG], [low, low.view(np.uint64).astype(float)],
                          low.view(np.float64))
        return pa.array(value, mask=none).cast(kind, safe=False)
    if types.is_timestamp(kind) or types.is_duration(kind):
        base = SPAN if types.is_duration(kind) else ZONED if kind.tz else MOMENT
        finer = UNITS.index(kind.unit) - np.where(none, 0, tag.astype(np.int64) - base)
        return pa.array(low * 1000 ** np.maximum(finer, 0), mask=none).cast(kind)
    if types.is_time(kind):
        low = low // 1000 ** (3 - UNITS.index(kind.unit))
    if kind.bit_width == 32 and not types.is_integer(kind):  # days, or a short time of day
        return pa.array(low.astype(np.int32), mask=none).cast(kind)
    if types.is_date(kind):
        return pa.array(low.astype(np.int32), mask=none).cast(pa.date32()).cast(kind)
    return pa.array(low, mask=none).cast(kind)


def _decimal(tag: int, low: int, high: int, records: UInt8) -> Decimal | None:
    if tag == NULL:
        return None
    if tag == DECIMAL:
        return decimal_of(records[low:high].tobytes())
    return Decimal(low + (1 << 64) if tag == BIG else low)


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_large_string(column.type):
        return column
    if pa.types.is_floating(column.type):  # a whole number is one key with the integer
        column = column.cast(pa.float64())
    try:
        return column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # bytes that are no text, spans of time
        values = column.to_pylist()
        return pa.array([v.hex() if isinstance(v, bytes) else None if v is None else str(v)
                         for v in values], pa.large_string())


def _gathered(kind: pa.DataType, none: NDArray[np.bool_], low: Int64, high: Int64,
              records: UInt8) -> pa.Array:
    ends = np.zeros(len(low) + 1, np.int64)
    np.cumsum(high - low, out=ends[1:])
    data = np.empty(ends[-1], np.uint8)
    gather(records, low, ends[1:], data)
    valid = pa.py_buffer(np.packbits(~none, bitorder="little")) if none.any() else None
    return pa.Array.from_buffers(kind, len(low), [valid, pa.py_buffer(ends), pa.py_buffer(data)])


@njit(cache=True, nogil=True)
def _parse(records: UInt8, at: Int64, columns: int) -> tuple[UInt8, Int64, Int64]:
    n, base = len(at), records.ctypes.data
    tag = np.empty((columns, n), np.uint8)
    low, high = np.zeros((columns, n), np.int64), np.zeros((columns, n), np.int64)
    for i in range(n):
        p = at[i]
        for c in range(columns):
            t = np.int64(byte(base + p))
            tag[c, i] = t
            p += 1
            if t >= BYTES:
                low[c, i] = p + 4
                p += 4 + np.int64(half(base + p))
                high[c, i] = p
            elif t != NULL:
                low[c, i] = np.int64(word(base + p))
                p += 8
    return tag, low, high
