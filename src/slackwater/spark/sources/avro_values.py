"""Avro to columns, with the bytes kept where that fails.

Many producers put five bytes before the value, as Confluent's registry asks: a zero and the number
of the schema.  Read as plain Avro such a value gives columns full of nonsense and no error, for
Avro has no mark of its own.  So a value that starts with a zero is taken for plain Avro only if its
columns, written again, give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from slackwater.core.errors import ConfigError
from slackwater.pipeline.avro_schema import avro_fields, avro_schema
from slackwater.pipeline.columns import ARRIVAL, RAW
from slackwater.spark.runner.columns import quoted
from slackwater.spark.session.kafka_classes import needs_classes
from slackwater.spark.sources.schema_registry import SchemaRegistry

__all__ = ["from_avro_bytes"]

_VALUE, _BYTES, _STRANGE = "_value", "_bytes", "_strange"
_MODE = {"mode": "PERMISSIVE"}
_FRAME = 5
_GREATEST = 1 << 24
"""Registries count from 1: a greater number is no schema's."""


def from_avro_bytes(df: DataFrame, value: Column, arrival: Column, schema: str,
                    schemas: Mapping[str, str], beside: Mapping[str, Column],
                    registry: str | None = None) -> DataFrame:
    """The fields of an Avro record a row, the columns `beside` it, ``_arrival`` and ``_raw``.

    Parameters
    ----------
    df, value, arrival
        Records, their bytes and their arrival.
    schema
        The schema of the columns.
    schemas
        By its number, the schema with which framed values were written; empty: values are plain.
    beside
        More columns.
    registry
        Where schemas come from.  A value of one that was registered after they were read ends the
        query, for a restart reads that one too; only a number that the registry does not know
        either is a bad value's.
    """
    text = avro_schema(schema)
    names = avro_fields(text)
    number = F.conv(F.hex(F.substring(F.col(_BYTES), 2, 4)), 16, 10).cast("long")
    framed = (F.hex(F.substring(F.col(_BYTES), 1, 1)) == "00") & (
        F.length(_BYTES) > _FRAME) & number.between(1, _GREATEST)
    try:
        with needs_classes("kafka", avro=True):
            some = df.select(value.alias(_BYTES), arrival.alias(ARRIVAL),
                             *[column.alias(name) for name, column in beside.items()])
            parsed = some.withColumn(_VALUE, _by_number(framed, number, text, schemas) if schemas
                                     else from_avro(F.col(_BYTES), text, _MODE))
            if schemas:
                strange = F.lit(False)
            else:
                # only what could be read can be written again
                strange = F.when(framed & ~_all_null(names), ~to_avro(
                    F.col(_VALUE), text).eqNullSafe(F.col(_BYTES))).otherwise(framed)
            parsed = parsed.withColumn(_STRANGE, strange)
            parsed.schema  # noqa: B018  (Spark reads the schemas here)
    except PySparkException as error:
        raise ConfigError("Spark cannot read the Avro schema", step="kafka",
                          got=str(error).splitlines()[0]) from None
    fields = [F.when(~F.col(_STRANGE), F.col(f"{_VALUE}.{quoted(name)}")) for name in names]
    # a value that cannot be read comes as a record of nulls; one that is really all nulls has no
    # time either, and it does no harm that its bytes are kept
    bad = F.coalesce(F.col(_STRANGE), F.lit(True)) | _all_null(names)
    hint = "say schemas: {number: file}, or registry: http://host:8081"
    if schemas:
        hint = ("schemas: has no such number" if registry is None else
                "the registry has no such number")
    note = F.when(framed, F.concat(F.lit("in a Confluent frame, schema "), number.cast("string"),
                                   F.lit(f"; {hint}: "))).otherwise(F.lit(""))
    if schemas:
        note = F.when(number.isin(*map(int, schemas)), F.lit("")).otherwise(note)
    else:
        note = F.when(F.col(_STRANGE), note).otherwise(F.lit(""))
    raw = F.when(bad, F.concat(note, F.base64(_BYTES)))
    if registry is not None:
        unknown = F.when(framed & ~number.isin(*map(int, schemas)), number)
        raw = F.when(_registered(registry)(unknown), F.raise_error(F.concat(
            F.lit("schema "), number.cast("string"),
            F.lit(" was registered after this run had started: a restart reads it")))
        ).otherwise(raw)
    return parsed.select(
        *(field.alias(name) for field, name in zip(fields, names, strict=True)),
        *[F.col(quoted(name)) for name in beside], F.col(ARRIVAL), raw.alias(RAW))


def _registered(url: str) -> Callable[[Column], Column]:
    """Whether a registry has schemas of these numbers; of null it is not asked."""
    registry = SchemaRegistry(url)

    def has(numbers: pa.Array) -> pa.Array:
        return pa.array([number is not None and registry.has(number)
                         for number in numbers.to_pylist()], pa.bool_())

    asked: Callable[[Column], Column] = F.arrow_udf(has, "boolean")
    return asked


def _all_null(names: list[str]) -> Column:
    return reduce(lambda a, b: a & b,
                  [F.col(f"{_VALUE}.{quoted(name)}").isNull() for name in names])


def _by_number(framed: Column, number: Column, text: str, schemas: Mapping[str, str]) -> Column:
    """Each value by the schema that it was written with, as a record of the schema wanted."""
    inner = F.expr(f"substring({_BYTES}, {_FRAME + 1})")
    found: Column | None = None
    for one, written in schemas.items():
        value = from_avro(inner, avro_schema(written), {**_MODE, "avroSchema": text})
        when = framed & (number == int(one))
        found = F.when(when, value) if found is None else found.when(when, value)
    assert found is not None
    return found
