"""Names of columns as Spark takes them."""

from __future__ import annotations

from pyspark.sql import DataFrame

__all__ = ["numbered", "quoted"]


def quoted(name: str) -> str:
    """A column's name for Spark, which takes a bare dot for the way into a struct."""
    return "`" + name.replace("`", "``") + "`"


def numbered(df: DataFrame) -> DataFrame:
    """The columns under numbers: mapInArrow looks them up by bare name, dots and all.

    The functions that it runs go by position, and know the real names from their schema.
    """
    return df.toDF(*(f"c{i}" for i in range(len(df.columns))))
