"""Arithmetic over Arrow columns of int64 and float64: NULL where there is no finite, whole result.

These are the Arrow side of the table in `operators`; the compiled side is in
`slackwater.pattern.program`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.query.expr.kinds import TYPES

__all__ = ["add_i", "divide_f", "finite", "floor_divide_i", "modulo_f", "modulo_i", "multiply_i",
           "read", "real", "round_digits_f", "round_digits_i", "subtract_i", "to_whole"]

Value = Any  # an Arrow array or scalar
_INT, _REAL = TYPES["integer"], TYPES["real"]
_LEAST = -(2**63)


def read(column: Value, want: pa.DataType) -> Value:
    """A column as the type that expressions use for it."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.type == want:
        return column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(want):
        # nanoseconds are cut, a missing zone is UTC
        stamps = pc.cast(column, pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
        return pc.cast(pc.cast(stamps, _INT), want)
    return pc.cast(column, want, safe=not pa.types.is_floating(want)
                   and not pa.types.is_duration(want))


def real(value: Value) -> Value:
    """Numbers as float64; whole numbers beyond 2^53 are rounded."""
    return value if value.type == _REAL else pc.cast(value, _REAL, safe=False)


def finite(value: Value) -> Value:
    """NULL where a real result is not finite."""
    return pc.if_else(pc.is_finite(value), value, pa.scalar(None, _REAL))


def to_whole(value: Value) -> Value:
    """Reals as int64, ties to even; NULL where they do not fit."""
    fits = pc.and_(pc.greater_equal(value, -(2.0**63)), pc.less(value, 2.0**63))
    return pc.cast(pc.round(pc.if_else(fits, value, pa.scalar(None, _REAL))), _INT)


def _unless(overflows: Callable[[Any, Any], Any], plain: Callable[[Value, Value], Value],
            checked: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    """Arrow's own checked kernel; one overflow in a batch makes it find out which rows."""
    def run(a: Value, b: Value) -> Value:
        try:
            return checked(a, b)
        except pa.ArrowInvalid:
            x, y = _numpy(a), _numpy(b)
            with np.errstate(over="ignore"):
                bad = np.atleast_1d(overflows(x, y))
            wrapped = plain(a, b)
            if isinstance(wrapped, pa.Scalar):
                return pa.scalar(None, _INT) if bad[0] else wrapped
            return pc.if_else(pa.array(np.broadcast_to(bad, len(wrapped))),
                              pa.scalar(None, _INT), wrapped)

    return run


def _numpy(value: Value) -> Any:
    if isinstance(value, pa.Scalar):
        return np.int64(value.as_py() or 0)
    return pc.fill_null(value, 0).to_numpy(zero_copy_only=False)


def _add_overflows(x: Any, y: Any) -> Any:
    total = x + y
    return ((x ^ total) & (y ^ total)) < 0


def _subtract_overflows(x: Any, y: Any) -> Any:
    difference = x - y
    return ((x ^ y) & (x ^ difference)) < 0


def _multiply_overflows(x: Any, y: Any) -> Any:
    x, y = np.broadcast_arrays(np.atleast_1d(x), np.atleast_1d(y))
    safe = np.where((x == 0) | (x == -1), 1, x)  # the smallest int64 has no opposite
    wrong = np.floor_divide(x * y, safe) != y
    return np.where(x == 0, False, np.where(x == -1, y == _LEAST, wrong | (
        np.remainder(x * y, safe) != 0)))


add_i = _unless(_add_overflows, pc.add, pc.add_checked)
subtract_i = _unless(_subtract_overflows, pc.subtract, pc.subtract_checked)
multiply_i = _unless(_multiply_overflows, pc.multiply, pc.multiply_checked)


def _divisor(b: Value) -> Value:
    """The divisor, NULL instead of 0, and 1 instead of −1 (which alone can overflow)."""
    safe = pc.if_else(pc.equal(b, 0), pa.scalar(None, _INT), b)
    return pc.if_else(pc.equal(safe, -1), pa.scalar(1, _INT), safe)


def modulo_i(a: Value, b: Value) -> Value:
    """The remainder with the sign of `a`."""
    safe = _divisor(b)
    return pc.subtract(a, pc.multiply(safe, pc.divide(a, safe)))


def floor_divide_i(a: Value, b: Value) -> Value:
    """Whole division downwards, by a positive number."""
    safe = pc.if_else(pc.greater(b, 0), b, pa.scalar(None, _INT))
    quotient = pc.divide(a, safe)
    down = pc.less(modulo_i(a, safe), 0)
    return pc.subtract(quotient, pc.cast(down, _INT))


def divide_f(a: Value, b: Value) -> Value:
    """The quotient; Arrow gives an infinity by zero, which is not finite."""
    return finite(pc.divide(a, b))


def modulo_f(a: Value, b: Value) -> Value:
    """The remainder with the sign of `a`."""
    return finite(pc.subtract(a, pc.multiply(b, pc.trunc(finite(pc.divide(a, b))))))


def round_digits_f(x: Value, digits: Value) -> Value:
    """Ties away from zero; a number that has no such digits stays what it is."""
    def run(value: Any, places: Any) -> Any:
        with np.errstate(all="ignore"):
            scale = np.power(10.0, np.abs(places).astype(np.float64))
            scaled = np.where(places >= 0, value * scale, value / scale)
            whole = np.copysign(np.floor(np.abs(scaled) + 0.5), value)
            done = np.where(places >= 0, whole / scale, whole * scale)
            done = np.where((places >= 0) & ~(np.abs(scaled) < 2.0**52), value, done)
            return np.where((places < 0) & ~np.isfinite(scale), 0.0 * value, done)

    return finite(_rowwise(run, x, digits, np.float64, _REAL))


def round_digits_i(x: Value, digits: Value) -> Value:
    """Whole numbers to tens, hundreds… (digits < 0), ties away from zero; NULL if too great."""
    def run(value: Any, places: Any) -> Any:
        out = value.astype(object)
        for i in np.flatnonzero(places < 0):
            number, step = int(value[i]), 10 ** min(-int(places[i]), 20)
            size = (abs(number) + step // 2) // step * step
            size = -size if number < 0 else size
            out[i] = size if _LEAST <= size < 2**63 else None
        return out

    return _rowwise(run, x, digits, np.int64, _INT)


def _rowwise(run: Callable[[Any, Any], Any], x: Value, digits: Value, kind: Any,
             result: pa.DataType) -> Value:
    """Run a numpy function over two operands, either of them a scalar, with NULLs left out."""
    scalar = isinstance(x, pa.Scalar) and isinstance(digits, pa.Scalar)
    length = 1 if scalar else len(digits if isinstance(x, pa.Scalar) else x)
    x, digits = (pa.repeat(v, length) if isinstance(v, pa.Scalar) else v for v in (x, digits))
    known = pc.and_(pc.is_valid(x), pc.is_valid(digits))
    value = np.asarray(pc.fill_null(x, 0).to_numpy(zero_copy_only=False), kind)
    places = np.asarray(pc.fill_null(digits, 0).to_numpy(zero_copy_only=False), np.int64)
    places = np.clip(places, -400, 400)
    found = pc.if_else(known, pa.array(run(value, places), result), pa.scalar(None, result))
    return found[0] if scalar else found
