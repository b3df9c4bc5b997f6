"""The scalar functions of the language, as operations over Arrow columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.events import event_times
from slackwater.core.plain import plain
from slackwater.query.expr.arithmetic import finite
from slackwater.query.expr.kinds import TYPES

__all__ = ["absolute_i", "by_row", "concat", "epoch", "greatest", "least", "negate_i", "null_if",
           "part", "real_function", "replaced", "round_half_away", "substring"]

Value = Any  # an Arrow array or scalar
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST = pa.scalar(-(2**63), pa.int64())


def absolute_i(x: Value) -> Value:
    """NULL for the smallest int64, which has no opposite."""
    return pc.if_else(pc.equal(x, _LEAST), pa.scalar(None, pa.int64()), pc.abs(x))


def negate_i(x: Value) -> Value:
    """NULL for the smallest int64, which has no opposite."""
    return pc.if_else(pc.equal(x, _LEAST), pa.scalar(None, pa.int64()), pc.negate(x))


def real_function(run: Callable[..., Value]) -> Callable[..., Value]:
    """NULL where the result is not finite."""
    return lambda *x: finite(run(*x))


def round_half_away(x: Value) -> Value:
    """To the next whole number, ties away from zero."""
    return finite(pc.round(x, round_mode="half_towards_infinity"))


def least(x: Value, y: Value) -> Value:
    """The lesser; NULL and NaN give way to the other."""
    return pc.min_element_wise(x, y)


def greatest(x: Value, y: Value) -> Value:
    """The greater; NULL and NaN give way to the other."""
    return pc.max_element_wise(x, y)


def null_if(x: Value, y: Value) -> Value:
    """NULL where both are equal."""
    return pc.if_else(pc.fill_null(pc.equal(x, y), False), pa.scalar(None, x.type), x)


def epoch(x: Value) -> Value:
    """Microseconds as seconds since 1970."""
    return pc.divide(pc.cast(x, pa.float64(), safe=False), 1e6)


def part(run: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """A field of a time, in UTC."""
    return lambda x: pc.cast(run(pc.cast(x, pa.timestamp("us", "UTC"))), pa.int64())


def concat(x: Value, y: Value) -> Value:
    """The texts one after the other."""
    return pc.binary_join_element_wise(x, y, "")


def by_row(run: Callable[..., Any], kind: str) -> Callable[..., Value]:
    """A function of single values, NULL where one of them is: for what no kernel of Arrow does."""
    def over(*values: Value) -> Value:
        length = next((len(v) for v in values if not isinstance(v, pa.Scalar)), None)
        columns = [[v.as_py()] * (1 if length is None else length) if isinstance(v, pa.Scalar)
                   else v.to_pylist() for v in values]
        found = pa.array([None if None in row else run(*row)
                          for row in zip(*columns, strict=True)], TYPES[kind])
        return found[0] if length is None else found

    return over


def substring(text: str, start: int, length: int | None = None) -> str:
    """From the character of this number on, which counts from 1, or from the end if negative."""
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else first + max(length, 0)
    return text[max(first, 0):max(end, 0)]


def replaced(text: str, old: str, new: str) -> str:
    """Every `old` of the text by `new`; an empty `old` is nowhere."""
    return text.replace(old, new) if old else text


def when(condition: Value, value: Value) -> Value:
    """The value where the condition is true, else NULL."""
    return pc.if_else(pc.fill_null(condition, False), value, pa.scalar(None, value.type))


def truncated(x: Value) -> Value:
    """Reals cut to whole numbers; NULL where they do not fit."""
    whole = pc.trunc(x)
    fits = pc.and_(pc.greater_equal(whole, -(2.0**63)), pc.less(whole, 2.0**63))
    return pc.cast(pc.if_else(fits, whole, pa.scalar(None, whole.type)), pa.int64())


def read_text(read: Callable[[Any], Any], kind: str) -> Callable[[Value], Value]:
    """Read values one by one: no kernel of Arrow gives NULL where it cannot."""
    def run(x: Value) -> Value:
        if isinstance(x, pa.Scalar):
            return pa.scalar(None if x.as_py() is None else read(x.as_py()), TYPES[kind])
        return pa.array([None if v is None else read(v) for v in x.to_pylist()], TYPES[kind])

    return run


def text_time(x: Value) -> Value:
    """ISO 8601 as a time, UTC where it has no zone."""
    one = isinstance(x, pa.Scalar)
    texts = pa.array([x.as_py()], pa.string()) if one else x
    value, readable = event_times(texts, unit=None, name="CAST")
    found = pa.array(value, mask=~readable).cast(TYPES["timestamp"])
    return found[0] if one else found


def time_text(x: Value) -> Value:
    """A time as JSON has it; NULL beyond the years that it can have."""
    return read_text(_written, "text")(pc.cast(x, pa.int64()))


def _written(micros: int) -> str | None:
    try:
        return str(plain(_EPOCH + timedelta(microseconds=micros)))
    except OverflowError:
        return None


def whole_of(text: str) -> int | None:
    """A text as a whole number of 64 bits."""
    found = int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,30}\s*", text) else None
    return found if found is not None and -(2**63) <= found < 2**63 else None


def real_of(text: str) -> float | None:
    """A text as a finite number."""
    shape = r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?\s*"
    found = float(text) if re.fullmatch(shape, text) else math.inf
    return found if math.isfinite(found) else None


def truth_of(text: str) -> bool | None:
    """A text as a truth value."""
    return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(
        text.strip().lower())
