"""What a Spark column is in PostgreSQL, and how its values are written as CSV for COPY."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from slackwater.spark.runner.columns import quoted
from slackwater.spark.sinks.texts import JSON

__all__ = ["fits", "for_copy", "postgres_type"]

_PLAIN: dict[type[DataType], str] = {
    BooleanType: "boolean", ByteType: "smallint", ShortType: "smallint", IntegerType: "integer",
    LongType: "bigint", FloatType: "real", DoubleType: "double precision", StringType: "text",
    BinaryType: "bytea", DateType: "date", TimestampType: "timestamp with time zone",
    TimestampNTZType: "timestamp without time zone",
    ArrayType: "jsonb", MapType: "jsonb", StructType: "jsonb",
}
_NUL_IN_JSON = r"(?<!\\)((?:\\\\)*)\\u0000"  # an escaped backslash before u0000 is no NUL
_WHOLE = {"smallint", "integer", "bigint"}
_NUMBERS = {*_WHOLE, "real", "double precision", "numeric"}
_TIMES = {"timestamp with time zone", "timestamp without time zone"}


def postgres_type(kind: DataType) -> str:
    """The type of a column that is made for it.

    Examples
    --------
    >>> postgres_type(DecimalType(10, 2)), postgres_type(ArrayType(LongType()))
    ('numeric(10,2)', 'jsonb')
    """
    if isinstance(kind, DecimalType):
        return f"numeric({kind.precision},{kind.scale})"
    return _PLAIN.get(type(kind), "text")


def for_copy(field: StructField) -> Column:
    """The column as something that Arrow writes as PostgreSQL reads it.

    PostgreSQL has no place for the character U+0000 in a text: U+FFFD stands for it there, since a
    row that cannot be written would end the query, and end it again after every restart.
    """
    column = F.col(quoted(field.name))
    if isinstance(field.dataType, (ArrayType, MapType, StructType)):
        column = F.regexp_replace(F.to_json(column, JSON), _NUL_IN_JSON, r"$1\\ufffd")
    elif isinstance(field.dataType, StringType):
        column = F.translate(column, "\0", "\ufffd")
    elif isinstance(field.dataType, BinaryType):
        column = F.concat(F.lit("\\x"), F.hex(column))
    elif type(field.dataType) not in _PLAIN and not isinstance(field.dataType, DecimalType):
        column = column.cast("string")
    return column.alias(field.name)


def fits(ours: str, theirs: str) -> bool:
    """Whether values of a type of ours can stand in a column of a table that was there.

    Examples
    --------
    >>> fits("integer", "numeric(10,2)"), fits("double precision", "bigint"), fits("text", "uuid")
    (True, False, True)
    """
    ours, theirs = ours.partition("(")[0], theirs.partition("(")[0]
    if ours == theirs or theirs in ("text", "character varying"):
        return True
    if ours in _WHOLE:
        return theirs in _NUMBERS
    if ours in _NUMBERS:
        return theirs in _NUMBERS - _WHOLE
    if ours in _TIMES or ours == "date":
        return theirs in _TIMES
    if ours == "text":  # enumerations, uuid, inet and such are written as text
        return theirs not in {*_NUMBERS, *_TIMES, "date", "boolean", "bytea"}
    return ours == "jsonb" and theirs == "json"
