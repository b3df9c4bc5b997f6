"""The scalar functions of the language, as operations over Arrow columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from slackwater.query.expr.arithmetic import finite

__all__ = ["absolute_i", "concat", "epoch", "greatest", "least", "negate_i", "null_if", "part",
           "real_function", "round_half_away"]

Value = Any  # an Arrow array or scalar
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
