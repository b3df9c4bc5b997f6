"""Key columns of any Arrow type as cells that compare by value.

A cell is a tag and a number (`low`), or a tag and bytes (`data[low:high]`).  Two values are the
same key exactly if their cells are equal: whole numbers have one form whatever their width or type
(1, 1.0 and decimal 1.00 are one key, and so are 0.0 and −0.0), moments one form whatever their
unit, NaN equals NaN, null equals null, and text never equals a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.errors import DataError
from slackwater.core.state.decimals import decimal_cells

__all__ = ["BIG", "BINARY", "BOOL", "BYTES", "DATE", "DECIMAL", "FLOAT", "INT", "MOMENT", "NULL",
           "SPAN", "TEXT", "TIME", "UNITS", "ZONED", "Cells", "cells_of", "plain_type"]

NULL, BOOL, INT, BIG, FLOAT, DATE, TIME = range(7)  # BIG: a whole number from 2⁶³ up to 2⁶⁴ − 1
MOMENT, ZONED, SPAN = 8, 12, 16  # + the coarsest of `UNITS` in which the value is whole
TEXT, BINARY, DECIMAL = 32, 33, 34  # DECIMAL: one that is not a whole number of 64 bits
BYTES = 32  # cells with this tag or a greater one have bytes
UNITS = ("s", "ms", "us", "ns")
_TOP = 2.0 ** 63


@dataclass(frozen=True)
class Cells:
    """The cells of one or several columns, a row of the arrays per column."""

    tag: NDArray[np.uint8]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    data: NDArray[np.uint8]


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values behind dictionaries, runs and extensions."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def cells_of(columns: list[pa.Array], names: tuple[str, ...]) -> Cells:
    """Turn key columns into cells; no bytes are copied if there is but one column."""
    parts = [_column(column, name) for column, name in zip(columns, names, strict=True)]
    if len(parts) == 1:
        tag, low, high, data = parts[0]
        return Cells(tag[None, :], low[None, :], high[None, :], data)
    lows, highs, base = [], [], 0
    for tag, low, high, data in parts:
        text = tag >= BYTES
        lows.append(low + base * text if base and text.any() else low)
        highs.append(high + base * text if base and text.any() else high)
        base += len(data)
    return Cells(np.stack([p[0] for p in parts]), np.stack(lows), np.stack(highs),
                 np.concatenate([p[3] for p in parts]))


_Part = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]
_NO_DATA = np.zeros(0, np.uint8)


def _column(column: pa.Array, name: str) -> _Part:
    column = _decoded(column)
    kind, types = column.type, pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return _bytes(column, TEXT, 4 if types.is_string(kind) else 8)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return _bytes(column, BINARY, 4 if types.is_binary(kind) else 8)
    if types.is_null(kind):
        none = np.zeros(len(column), np.int64)
        return np.zeros(len(column), np.uint8), none, none, _NO_DATA
    if types.is_decimal(kind):
        return decimal_cells(_values(column, np.uint8, kind.bit_width // 8), kind.bit_width // 8,
                             kind.scale, _valid(column))
    tag, low = _number(column, name)
    tag = np.full(len(low), tag, np.uint8) if np.ndim(tag) == 0 else tag
    if column.null_count:
        tag = np.where(_valid(column), tag, np.uint8(NULL))
    return tag, low, low, _NO_DATA


def _decoded(column: pa.Array) -> pa.Array:
    """The column as plain values of one of the types with offsets, numbers or bits."""
    types = pa.types
    while column.type != (plain := plain_type(column.type)):
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        elif types.is_dictionary(column.type):
            column = column.dictionary_decode()
        elif types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        else:
            column = column.cast(plain)
    if types.is_string_view(column.type):
        return column.cast(pa.large_string())
    if types.is_binary_view(column.type) or types.is_fixed_size_binary(column.type):
        return column.cast(pa.large_binary())
    return column


def _number(column: pa.Array, name: str) -> tuple[Any, NDArray[np.int64]]:
    kind, types = column.type, pa.types
    if types.is_boolean(kind):
        return BOOL, _values(column.cast(pa.uint8()), np.uint8).astype(np.int64)
    if types.is_uint64(kind):
        low = _values(column, np.int64)
        return np.where(low < 0, np.uint8(BIG), np.uint8(INT)), low
    if types.is_integer(kind):
        return INT, _values(column, np.dtype(kind.to_pandas_dtype())).astype(np.int64, copy=False)
    if types.is_floating(kind):
        return _floats(_values(column, np.dtype(kind.to_pandas_dtype())).astype(np.float64))
    if types.is_date(kind):
        return DATE, _values(column.cast(pa.date32(), safe=False), np.int32).astype(np.int64)
    if types.is_time(kind):
        wide = np.int32 if kind.bit_width == 32 else np.int64
        return TIME, _values(column, wide).astype(np.int64) * 1000 ** (3 - UNITS.index(kind.unit))
    if types.is_timestamp(kind):
        return _coarsest(column, ZONED if kind.tz else MOMENT)
    if types.is_duration(kind):
        return _coarsest(column, SPAN)
    raise DataError(f"column {name!r} cannot be a key", step="key", got=kind,
                    expected="text, numbers, booleans, dates or times")


def _floats(value: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    whole = np.floor(value) == value
    small = whole & (value >= -_TOP) & (value < _TOP)
    big = whole & (value >= _TOP) & (value < 2 * _TOP)
    value[np.isnan(value)] = np.nan  # one bit pattern
    low = value.view(np.int64).copy()
    low[small] = value[small].astype(np.int64)
    low[big] = value[big].astype(np.uint64).view(np.int64)
    tag = np.full(len(value), FLOAT, np.uint8)
    tag[small], tag[big] = INT, BIG
    return tag, low


def _coarsest(column: pa.Array, base: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Moments or spans in the coarsest unit that holds them: one form for each value."""
    low = _values(column, np.int64)
    unit = UNITS.index(column.type.unit)
    tag = np.full(len(low), base + unit, np.uint8)
    if unit == 0 or len(low) == 0:
        return tag, low
    low, rest = low.copy(), np.arange(len(low))
    for coarser in range(unit - 1, -1, -1):
        rest = rest[low[rest] % 1000 == 0]
        low[rest] //= 1000
        tag[rest] = base + coarser
    return tag, low


def _bytes(column: pa.Array, tag: int, width: int) -> _Part:
    _, offsets, data = column.buffers()
    n = len(column)
    at = (np.frombuffer(offsets, np.int32 if width == 4 else np.int64)
          [column.offset:column.offset + n + 1].astype(np.int64, copy=False)
          if offsets is not None and offsets.size else np.zeros(n + 1, np.int64))
    tags = np.full(n, tag, np.uint8)
    if column.null_count:
        tags[~_valid(column)] = NULL
    return (tags, at[:-1], at[1:], _NO_DATA if data is None else np.frombuffer(data, np.uint8))


def _values(column: pa.Array, dtype: Any, width: int = 1) -> NDArray[Any]:
    """The values as they lie in memory; what stands where there is a null means nothing."""
    data = column.buffers()[1]
    if data is None or len(column) == 0:
        return np.zeros(len(column) * width, dtype)
    first = column.offset * width
    return np.frombuffer(data, dtype)[first:first + len(column) * width]


def _valid(column: pa.Array) -> NDArray[np.bool_]:
    if column.null_count == 0:
        return np.ones(len(column), bool)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
