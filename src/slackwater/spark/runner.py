"""The one runner that carries every kernel onto Spark.

Streaming: `mapInArrow` packs rows into a blob a shard, `transformWithState` runs the kernel over a
shard's blobs and keeps its state, `mapInArrow` unpacks.  Batch: see `batch`.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from slackwater.core.errors import ConfigError
from slackwater.spark.batch import one_input, two_inputs
from slackwater.spark.carried import Carried, Input, output_schema
from slackwater.spark.packing import (
    PACKED,
    SHARD,
    UNPACKED,
    canonical_schema,
    numbered,
    pack,
    quoted,
    shard_labels,
    spread_and_pack,
    unpack,
)
from slackwater.spark.shard import ShardProcessor
from slackwater.spark.ticks import ticks

__all__ = ["arrow_schema", "carry"]


def arrow_schema(df: DataFrame) -> pa.Schema:
    """The columns of a DataFrame, as kernels see them."""
    return canonical_schema(to_arrow_schema(df.schema, timezone="UTC"))


def carry(dfs: DataFrame | tuple[DataFrame, DataFrame], what: Carried, *,
          shards: int | None = None) -> DataFrame:
    """Run a kernel over one or two streaming or batch DataFrames."""
    sides = (dfs,) if isinstance(dfs, DataFrame) else dfs
    schemas = [arrow_schema(df) for df in sides]
    streaming = any(df.isStreaming for df in sides)
    if len(sides) == 1 and not streaming:
        return one_input(sides[0], what, schemas[0], output_schema(what, schemas))
    session = sides[0].sparkSession
    if shards is None:
        shards = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    if not any(given.shard_by or given.spread for given in what.inputs):
        shards = 1
    labels = shard_labels(shards)
    packed = reduce(DataFrame.unionAll, (
        _packed(df, given, schema, labels, at, what.quiet is not None or len(sides) > 1)
        for at, (df, given, schema) in enumerate(zip(sides, what.inputs, schemas, strict=True))))
    output = output_schema(what, [_seen(given, schema) for given, schema in
                                  zip(what.inputs, schemas, strict=True)])
    if not streaming:
        return two_inputs(packed, what, output, shards)
    _check_state_store(session.conf.get("spark.sql.streaming.stateStore.providerClass", ""),
                       what.step)
    if what.quiet is not None:
        packed = packed.unionAll(ticks(session, _array(labels), what.quiet))
    return (
        packed.groupBy("shard")
        .transformWithState(ShardProcessor(what, shards), UNPACKED, "append", "none")
        .mapInArrow(unpack(output), from_arrow_schema(output))
    )


def _packed(df: DataFrame, given: Input, schema: pa.Schema, labels: list[int], at: int,
            timed: bool) -> DataFrame:
    clock = given.greatest_arrival if timed and given.arrival is not None else None
    if given.spread is not None:
        return numbered(df).mapInArrow(
            spread_and_pack(schema, given.spread, labels, at, clock), PACKED)
    # as text, so that the two sides of a join agree whatever number types their keys have
    keys = [F.col(quoted(c)).cast("string") for c in given.shard_by]
    slot = F.pmod(F.xxhash64(*keys), F.lit(len(labels))).cast("int") if keys else F.lit(0)
    labelled = df.withColumn(SHARD, F.get(_array(labels), slot))
    return numbered(labelled).mapInArrow(pack(schema, at, labels, clock), PACKED)


def _array(labels: list[int]) -> Column:
    return F.array(*[F.lit(label) for label in labels])


def _seen(given: Input, schema: pa.Schema) -> pa.Schema:
    """The columns that the kernel sees, where spreading adds some."""
    if given.spread is None:
        return schema
    return given.spread(pa.RecordBatch.from_pylist([], schema))[0].schema


def _check_state_store(provider: str | None, step: str) -> None:
    if not (provider or "").endswith("RocksDBStateStoreProvider"):
        raise ConfigError(
            "streaming state needs Spark's RocksDB state store", step=step, got=provider,
            hint="set spark.sql.streaming.stateStore.providerClass as slackwater.spark.settings() "
                 "says, before the session starts or with spark.conf.set",
        )
