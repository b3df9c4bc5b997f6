"""Spark's types as Arrow's, and back: all times with a zone are UTC, those without stay without."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, is_variant, to_arrow_schema
from pyspark.sql.types import StructType

from slackwater.core.errors import ConfigError
from slackwater.spark.session.versions import BEFORE_4_2

__all__ = ["has_variant", "to_arrow", "to_spark"]

# Spark 4.1 knows no other zone
_ZONE = {} if BEFORE_4_2 else {"timezone": "UTC"}


def to_arrow(schema: StructType) -> pa.Schema:
    """Columns of Spark as Arrow has them."""
    try:
        return to_arrow_schema(schema, **_ZONE)
    except (TypeError, ValueError) as error:
        if len(schema) == 1:
            (one,) = schema
            raise ConfigError("Arrow has no columns of this type", step="columns",
                              got=f"{one.name} {one.dataType.simpleString()}",
                              hint=f"cast it in SQL, as in CAST({one.name} AS string)") from error
        for field in schema:
            to_arrow(StructType([field]))
        raise


def to_spark(schema: pa.Schema) -> StructType:
    """Columns of Arrow as Spark has them."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def has_variant(kind: pa.DataType) -> bool:
    """Whether a type is Spark's variant, or has one inside.

    Examples
    --------
    >>> from pyspark.sql.types import ArrayType, IntegerType, StructType, VariantType
    >>> columns = StructType().add("a", ArrayType(VariantType())).add("b", IntegerType())
    >>> [has_variant(kind) for kind in to_arrow(columns).types]
    [True, False]
    """
    if pa.types.is_struct(kind) and is_variant(kind):
        return True
    return pa.types.is_nested(kind) and any(
        has_variant(kind.field(i).type) for i in range(kind.num_fields))
