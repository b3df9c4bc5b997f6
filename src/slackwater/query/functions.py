"""The scalar functions of the language, as column operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["FUNCTIONS", "Function", "finite"]

Value = Any  # an Arrow array or scalar


@dataclass(frozen=True)
class Function:
    """A function: the kinds of its arguments, the kind of its result, and how it is done.

    `args` names a kind for each argument; the last repeats if `many`; "any" takes every kind, and
    all "any" arguments must be of one.  `optional` of the last arguments may be left out.  The
    result "same" is the kind of the first argument.
    """

    args: tuple[str, ...]
    result: str
    run: Callable[..., Value]
    optional: int = 0
    many: bool = False


def finite(value: Value) -> Value:
    """NULL where arithmetic has no finite result."""
    if not pa.types.is_floating(value.type):
        return value
    return pc.if_else(pc.is_finite(value), value, pa.scalar(None, value.type))


def _real(run: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda x: finite(run(pc.cast(x, pa.float64(), safe=False)))


def _power(x: Value, y: Value) -> Value:
    x, y = (pc.cast(v, pa.float64(), safe=False) for v in (x, y))
    return finite(pc.power(x, y))


def _round(x: Value, digits: Value | None = None) -> Value:
    if pa.types.is_integer(x.type) and digits is None:
        return x
    if digits is None:
        return pc.round(x, round_mode="half_towards_infinity")
    return pc.round_binary(pc.cast(x, pa.float64(), safe=False), pc.cast(digits, pa.int32()),
                           round_mode="half_towards_infinity")


def _whole(run: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda x: x if pa.types.is_integer(x.type) else run(x)


def _absolute(x: Value) -> Value:
    return pc.abs(x)  # of the smallest int64 it is itself, as in C


def _null_if(x: Value, y: Value) -> Value:
    return pc.if_else(pc.fill_null(pc.equal(x, y), False), pa.scalar(None, x.type), x)


def _epoch(x: Value) -> Value:
    return pc.divide(pc.cast(pc.cast(x, pa.int64()), pa.float64()), 1e6)


def _part(run: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda x: pc.cast(run(x), pa.int64())


def _concat(*parts: Value) -> Value:
    return pc.binary_join_element_wise(*parts, "")


FUNCTIONS: dict[str, Function] = {
    "abs": Function(("number",), "same", _absolute),
    "sign": Function(("number",), "same", pc.sign),
    "round": Function(("number", "number"), "same", _round, optional=1),
    "floor": Function(("number",), "same", _whole(pc.floor)),
    "ceil": Function(("number",), "same", _whole(pc.ceil)),
    "sqrt": Function(("number",), "real", _real(pc.sqrt)),
    "exp": Function(("number",), "real", _real(pc.exp)),
    "ln": Function(("number",), "real", _real(pc.ln)),
    "log10": Function(("number",), "real", _real(pc.log10)),
    "power": Function(("number", "number"), "real", _power),
    "least": Function(("any",), "same", lambda *x: pc.min_element_wise(*x), many=True),
    "greatest": Function(("any",), "same", lambda *x: pc.max_element_wise(*x), many=True),
    "coalesce": Function(("any",), "same", lambda *x: pc.coalesce(*x), many=True),
    "nullif": Function(("any", "any"), "same", _null_if),
    "lower": Function(("text",), "text", pc.utf8_lower),
    "upper": Function(("text",), "text", pc.utf8_upper),
    "trim": Function(("text",), "text", pc.utf8_trim_whitespace),
    "length": Function(("text",), "integer", lambda x: pc.cast(pc.utf8_length(x), pa.int64())),
    "concat": Function(("text",), "text", _concat, many=True),
    "year": Function(("timestamp",), "integer", _part(pc.year)),
    "month": Function(("timestamp",), "integer", _part(pc.month)),
    "day": Function(("timestamp",), "integer", _part(pc.day)),
    "hour": Function(("timestamp",), "integer", _part(pc.hour)),
    "minute": Function(("timestamp",), "integer", _part(pc.minute)),
    "second": Function(("timestamp",), "integer", _part(pc.second)),
    "epoch": Function(("timestamp",), "real", _epoch),
}
"""Every scalar function, by its name."""
