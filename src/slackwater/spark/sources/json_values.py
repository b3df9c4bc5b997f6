"""Text to columns, with the text kept where that fails."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from slackwater.pipeline.columns import ARRIVAL, RAW, ddl
from slackwater.spark.runner.columns import quoted

__all__ = ["from_json_text"]

_VALUE, _TEXT = "_value", "_text"
_SEVERAL = r"\}\s*\n\s*\{"  # in one object only a comma can part them; texts hold no bare line end


def from_json_text(df: DataFrame, text: Column, arrival: Column, columns: Mapping[str, str],
                   beside: Mapping[str, Column] | None = None) -> DataFrame:
    """The columns of a JSON object a row, those `beside` it, ``_arrival``, and ``_raw``.

    A value that is not a JSON object, or has a field that is not of its column's type, gives null
    columns and its text in ``_raw``: half a row would pass for a whole one.  So do several objects
    on lines of their own, of which Spark would take the first and drop the others; and an object
    with none of the columns keeps its text, or it would leave no trace of what it said.
    """
    schema = f"{ddl(columns)}, {quoted(RAW)} string"
    value = F.from_json(text, schema, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW})
    # two steps, or each column would parse the text again
    parsed = df.select(value.alias(_VALUE), text.alias(_TEXT), arrival.alias(ARRIVAL),
                       *[column.alias(name) for name, column in (beside or {}).items()])
    several = (F.instr(F.col(_TEXT), "\n") > 0) & F.col(_TEXT).rlike(_SEVERAL)
    bad = F.col(_VALUE).isNull() | F.col(f"{_VALUE}.{quoted(RAW)}").isNotNull() | several
    fields = [F.col(f"{_VALUE}.{quoted(name)}") for name in columns]
    empty = reduce(Column.__and__, [field.isNull() for field in fields])
    good = [F.when(~bad, field).alias(name) for field, name in zip(fields, columns, strict=True)]
    more = [F.col(quoted(name)) for name in beside or ()]
    return parsed.select(*good, *more, F.col(ARRIVAL), F.when(bad | empty, F.col(_TEXT)).alias(RAW))
