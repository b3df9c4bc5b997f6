"""Names of columns as Spark takes them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

__all__ = ["loosened", "numbered", "quoted"]


def quoted(name: str) -> str:
    """A column's name for Spark, which takes a bare dot for the way into a struct."""
    return "`" + name.replace("`", "``") + "`"


def numbered(df: DataFrame) -> DataFrame:
    """The columns under numbers: mapInArrow looks them up by bare name, dots and all.

    The functions that it runs go by position, and know the real names from their schema.
    """
    return df.toDF(*(f"c{i}" for i in range(len(df.columns))))


def loosened(df: DataFrame) -> DataFrame:
    """The same rows, with fields of structs that may be null.

    A struct that is null has no fields: to Spark they are not null even so, to Arrow they are.
    """
    strict = {f.name: F.col(quoted(f.name)).cast(kind) for f in df.schema.fields
              if (kind := _loosened(f.dataType)) != f.dataType}
    return df.withColumns(strict) if strict else df


def _loosened(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, _loosened(f.dataType), metadata=f.metadata)
                           for f in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_loosened(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _loosened(kind.valueType), kind.valueContainsNull)
    return kind
