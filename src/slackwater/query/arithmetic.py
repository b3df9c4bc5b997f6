"""Arithmetic over columns: numbers, times and durations; NULL where there is no finite result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.query.functions import finite
from slackwater.query.kinds import TYPES, kind_of

__all__ = ["apply", "negate", "read", "real", "result_type"]

Value = Any  # an Arrow array or scalar
_INT, _REAL = TYPES["integer"], TYPES["real"]
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_PLAIN = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


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


def result_type(op: str, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type of `left op right`; None if that means nothing.

    ``/`` of numbers is never whole (as in Spark): 7 / 2 is 3.5.
    """
    kinds = kind_of(left), kind_of(right)
    if "null" in kinds:
        other = right if kinds[0] == "null" else left
        return other if kind_of(other) in ("number", "duration", "timestamp", "null") else None
    if kinds == ("number", "number"):
        return _INT if op != "/" and left == right == _INT else _REAL
    if kinds == ("duration", "duration"):
        return {"+": TYPES["duration"], "-": TYPES["duration"], "/": _REAL}.get(op)
    if kinds in (("duration", "number"), ("number", "duration")):
        allowed = op == "*" or (op == "/" and kinds[0] == "duration")
        return TYPES["duration"] if allowed else None
    if kinds == ("timestamp", "duration"):
        return TYPES["timestamp"] if op in "+-" else None
    if kinds == ("duration", "timestamp"):
        return TYPES["timestamp"] if op == "+" else None
    if kinds == ("timestamp", "timestamp"):
        return TYPES["duration"] if op == "-" else None
    return None


def apply(op: str, left: Value, right: Value, result: pa.DataType) -> Value:
    """`left op right`, whose type is `result`."""
    if pa.types.is_null(result):
        return pa.scalar(None)
    a, b = _number(left), _number(right)
    if op == "/" or result == _REAL or _REAL in (a.type, b.type):
        value = _real(op, real(a), real(b))
    else:
        value = _integer(op, a, b)
    if value.type == result:
        return value
    if pa.types.is_floating(value.type):
        inside = pc.less(pc.abs(value), 2.0**63)
        value = pc.cast(pc.round(pc.if_else(inside, value, pa.scalar(None, _REAL))), _INT)
    return pc.cast(value, result)


def negate(value: Value) -> Value:
    """The value with the other sign."""
    zero = pa.scalar(0, _INT)
    kind = value.type
    if pa.types.is_floating(kind):
        return pc.negate(value)
    return pc.cast(_integer("-", zero, pc.cast(value, _INT)), kind)


def real(value: Value) -> Value:
    """Numbers as float64; whole numbers beyond 2^53 are rounded."""
    return value if value.type == _REAL else pc.cast(value, _REAL, safe=False)


def _number(value: Value) -> Value:
    if pa.types.is_null(value.type) or pa.types.is_timestamp(value.type) or pa.types.is_duration(
            value.type):
        return pc.cast(value, _INT)
    return value


def _real(op: str, a: Value, b: Value) -> Value:
    if op in _PLAIN:
        return finite(_PLAIN[op](a, b))
    ratio = finite(pc.divide(a, b))
    if op == "/":
        return ratio
    return finite(pc.subtract(a, pc.multiply(b, pc.trunc(ratio))))


def _integer(op: str, a: Value, b: Value) -> Value:
    if op == "%":
        # a remainder by −1 is 0, and dividing the smallest int64 by −1 would overflow
        safe = pc.if_else(pc.equal(b, 0), pa.scalar(None, _INT), b)
        safe = pc.if_else(pc.equal(safe, -1), pa.scalar(1, _INT), safe)
        return pc.subtract(a, pc.multiply(safe, pc.divide(a, safe)))
    try:
        return _CHECKED[op](a, b)
    except pa.ArrowInvalid:
        rough = _PLAIN[op](real(a), real(b))
        fits = pc.less(pc.abs(rough), float(np.float64(2**63)))
        return pc.if_else(fits, _PLAIN[op](a, b), pa.scalar(None, _INT))
