"""The few kinds of value that expressions know, and the Arrow types that stand for them."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["TYPES", "as_kind", "exact_kind", "kind_of", "scalar_of"]

TYPES: dict[str, pa.DataType] = {
    "integer": pa.int64(), "real": pa.float64(), "number": pa.float64(), "text": pa.string(),
    "boolean": pa.bool_(), "timestamp": pa.timestamp("us", "UTC"), "duration": pa.duration("us"),
    "null": pa.null(),
}
"""The type that a value of each kind has inside an expression."""


def kind_of(kind: pa.DataType) -> str | None:
    """The kind of an Arrow type, or None if expressions cannot use it."""
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "timestamp"
    if pa.types.is_duration(kind):
        return "duration"
    return "null" if pa.types.is_null(kind) else None


def as_kind(kind: pa.DataType) -> pa.DataType:
    """The type that a column of this type is read as.

    Whole numbers become int64 (uint64, which does not fit, and decimals become float64).
    """
    if pa.types.is_dictionary(kind):
        return as_kind(kind.value_type)
    if pa.types.is_integer(kind):
        return pa.float64() if kind == pa.uint64() else pa.int64()
    found = kind_of(kind)
    assert found is not None
    return TYPES[found]


def exact_kind(kind: pa.DataType) -> str:
    """The kind of a type that expressions use inside, whole numbers and reals told apart."""
    return next(name for name, known in TYPES.items() if known == kind)


def scalar_of(value: object, kind: str) -> pa.Scalar:
    """A constant as an Arrow scalar."""
    return pa.scalar(value, TYPES[kind])
