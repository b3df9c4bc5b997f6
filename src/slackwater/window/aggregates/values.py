"""Columns as numbers that loops can work on, and results as columns again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.window.compiled import uncounted

__all__ = ["Results", "Values", "add", "answer", "as_numbers", "as_pairs", "join", "number_type",
           "read_only", "typed"]

Float64 = NDArray[np.float64]


class Values(NamedTuple):
    """Rows in time order for each group: numbers, each also as a pair of doubles for sums."""

    group: NDArray[np.int64]
    time: NDArray[np.int64]
    value: NDArray[Any]
    hi: Float64
    lo: Float64
    skip: NDArray[np.bool_]


class Results(NamedTuple):
    """One value for each probe, for what was asked; the other columns are empty."""

    size: NDArray[np.int64]
    hi: Float64
    lo: Float64
    m2: Float64
    least: NDArray[Any]
    most: NDArray[Any]
    first: NDArray[Any]
    last: NDArray[Any]
    quantiles: Float64


@uncounted
def add(hi: float, lo: float, other_hi: float, other_lo: float) -> tuple[float, float]:
    """(hi + lo) + (other_hi + other_lo), to about 106 bits."""
    s = hi + other_hi
    if not np.isfinite(s):
        return s, 0.0
    b = s - hi
    e = (hi - (s - b)) + (other_hi - b) + lo + other_lo
    h = s + e
    return h, e - (h - s)


@uncounted
def join(n: int, mean: float, m2: float, k: int, mean_k: float,
         m2_k: float) -> tuple[float, float]:
    """Mean and sum of squared deviations of n values and k more; neither is 0."""
    total = n + k
    d = mean_k - mean
    return mean + d * k / total, m2 + m2_k + d * d * n * k / total


def number_type(kind: pa.DataType) -> type[np.generic]:
    """The type that a column's values are aggregated in."""
    if pa.types.is_floating(kind):
        return np.float64
    return np.uint64 if pa.types.is_uint64(kind) else np.int64


def as_numbers(column: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """A column as float64, int64 or uint64, and which rows are left out (None: none)."""
    if pa.types.is_floating(column.type):
        value = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        strange = np.isnan(value)  # NULL is NaN here, too
        return value, strange if strange.any() else None
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if not pa.types.is_integer(column.type):
        # times and durations as numbers of their own unit, booleans as 0 and 1
        column = column.cast(pa.int64() if not pa.types.is_boolean(column.type) else pa.int8())
    filled = pc.fill_null(column, 0) if column.null_count else column
    wide = pa.uint64() if pa.types.is_uint64(column.type) else pa.int64()
    return filled.cast(wide).to_numpy(zero_copy_only=False), missing


def as_pairs(value: NDArray[Any]) -> tuple[Float64, Float64]:
    """Each value as the exact sum of two doubles."""
    if value.dtype == np.float64:
        return value, np.zeros(len(value))
    # 32 bits of a whole number at a time are exact
    half, low = value.dtype.type(32), value.dtype.type(0xFFFFFFFF)
    top = ((value >> half) << half).astype(np.float64)
    bottom = (value & low).astype(np.float64)
    hi = top + bottom
    return hi, bottom - (hi - top)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to.

    Arrow's columns are read-only or not by how they came about, and numba compiles a function for
    each: this way there is one.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def answer(function: str, out: Results, kind: pa.DataType | None,
           quantile: int = 0) -> pa.Array:
    """The column of one aggregate; `quantile` says which of those asked for."""
    count = out.size
    if function == "count":
        return pa.array(count)
    assert kind is not None
    empty = count == 0 if (count == 0).any() else None
    if function in ("min", "max", "first", "last"):
        found = {"min": out.least, "max": out.most, "first": out.first, "last": out.last}[function]
        return typed(pa.array(found, mask=empty), kind)
    if function == "sum" and not pa.types.is_floating(kind):
        sums = _whole_sums(out.hi, out.lo, empty)
        return sums if pa.types.is_integer(kind) else typed(sums, kind)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if function == "sum":
            return pa.array(out.hi + out.lo, mask=empty)
        if function == "avg":
            return pa.array(out.hi / count + out.lo / count, mask=empty)
        if function == "stddev":
            return pa.array(np.sqrt(out.m2 / np.maximum(count - 1, 1)), mask=count < 2)
    return pa.array(np.ascontiguousarray(out.quantiles[:, quantile]), mask=empty)


def _whole_sums(hi: Float64, lo: Float64, empty: NDArray[np.bool_] | None) -> pa.Array:
    """Pairs of doubles as int64, NULL where the sum does not fit."""
    top = np.floor(hi / 2.0**32)
    fits = np.abs(top) <= 2.0**31
    whole_top = np.where(fits, top, 0).astype(np.int64)
    rest = (np.where(fits, hi - top * 2.0**32, 0).astype(np.int64)
            + np.where(fits, lo, 0).astype(np.int64))
    # the top half at its ends may go either way: decide by the parts, which cannot overflow
    whole_top, rest = whole_top + (rest >> 32), rest & 0xFFFFFFFF
    fits &= (whole_top >= -(2**31)) & (whole_top < 2**31)
    values = (np.where(fits, whole_top, 0) << 32) + rest
    return pa.array(values, mask=~fits if empty is None else ~fits | empty)


def typed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Numbers as what the column was."""
    if values.type == kind:
        return values
    if pa.types.is_integer(kind):
        return values.cast(kind, safe=False)
    return values.cast(pa.bool_() if pa.types.is_boolean(kind) else kind)
