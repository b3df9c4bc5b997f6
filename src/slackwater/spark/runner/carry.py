"""The one runner that carries every kernel onto Spark.

Streaming: `mapInArrow` packs rows into a blob a shard, `transformWithState` runs the kernel over a
shard's blobs and keeps its state, `mapInArrow` unpacks.  Batch: see `batch`.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from slackwater.core.errors import ConfigError
from slackwater.core.state.ipc import empty_rows
from slackwater.pipeline.steps import OUTCOMES
from slackwater.spark.ending import finishing
from slackwater.spark.runner.arrow_types import to_arrow, to_spark
from slackwater.spark.runner.batch import one_input, two_inputs
from slackwater.spark.runner.columns import numbered
from slackwater.spark.runner.group import Group, Part, Port
from slackwater.spark.runner.observed import with_numbers
from slackwater.spark.runner.operator_spec import Input, OperatorSpec, output_schema
from slackwater.spark.runner.owed import MOST
from slackwater.spark.runner.packing import (
    PACKED,
    UNPACKED,
    Target,
    canonical_schema,
    pack,
    shard_labels,
    unpack,
)
from slackwater.spark.runner.position import with_position
from slackwater.spark.runner.processor import GroupProcessor
from slackwater.spark.runner.shipped import shipped
from slackwater.spark.session.zones import warn_of_zone
from slackwater.spark.sources.ticks import ticks

__all__ = ["arrow_schema", "carry", "default_shards", "packed_for", "run_groups", "shards_of",
           "target_of"]

_SHARDS = 8
_RESULTS = "spark.slackwater.maxResultBytes"
"""The setting for how many bytes a shard gives in a micro-batch; the rest comes with the next."""


def arrow_schema(df: DataFrame) -> pa.Schema:
    """The columns of a DataFrame, as kernels see them."""
    return canonical_schema(to_arrow(df.schema))


def carry(dfs: DataFrame | tuple[DataFrame, DataFrame], what: OperatorSpec, *,
          shards: int | None = None) -> DataFrame:
    """Run a kernel over one or two streaming or batch DataFrames."""
    sides = (dfs,) if isinstance(dfs, DataFrame) else dfs
    schemas = [arrow_schema(df) for df in sides]
    for given, schema in zip(what.inputs, schemas, strict=True):
        warn_of_zone(sides[0].sparkSession, what, given, schema)
    streaming = any(df.isStreaming for df in sides)
    if len(sides) == 1 and not streaming:
        return one_input(sides[0], what, schemas[0], output_schema(what, schemas))
    session = sides[0].sparkSession
    ports = tuple(Port() for _ in sides)
    group = Group((Part(what, ports, wanted=frozenset(OUTCOMES)),),
                  shard_labels(shards_of(session, what, shards)))
    packed = reduce(DataFrame.unionAll, (
        packed_for(df, target_of(group, group.parts[0], at)) for at, df in enumerate(sides)))
    output = output_schema(what, [seen_columns(given, schema) for given, schema in
                                  zip(what.inputs, schemas, strict=True)])
    if not streaming:
        return two_inputs(packed, what, output, len(group.labels))
    if len(sides) == 1:
        # also without quiet: a restart may change it, and Spark counts the sources of a query
        packed = packed.unionAll(ticks(session, group.labels, what.quiet, finish=finishing()))
    elif finishing():
        raise ConfigError("two streams cannot be told that nothing more comes", step=what.step,
                          hint="a pipeline can: slackwater run --until-done")
    found = with_numbers(run_groups(packed, (group,), what.step), None, what.loss_bound)
    return found.where(F.col("blob").isNotNull()).mapInArrow(
        unpack(output), to_spark(output))


def shards_of(session: SparkSession, what: OperatorSpec, shards: int | None) -> int:
    """How many shards a kernel has: as many as asked for, but one if its rows must be together."""
    if not any(given.shard_by or given.spread for given in what.inputs):
        return 1
    return shards or default_shards(session)


def default_shards(session: SparkSession) -> int:
    """How many shards there are where nobody says.

    A shard's state is never divided, so their number is fixed by the checkpoint; Spark's state
    partitions, which the tasks of a query work on, have some of them each, and their number can
    change (see `slackwater.spark.run.partitions`).  So there are more shards than a small machine
    has use for, and not so many that their fixed cost per micro-batch is felt.
    """
    return max(_SHARDS, int(session.conf.get("spark.sql.shuffle.partitions") or 1))


def target_of(group: Group, part: Part, at: int) -> Target:
    """Where the rows of an input of a step go."""
    given = part.spec.inputs[at]
    timed = part.spec.quiet is not None or len(part.ports) > 1
    clock = given.greatest_arrival if timed and given.arrival is not None else None
    schema = part.ports[at].schema
    return Target(part.name, at, group.labels, given.shard_by, given.spread, clock,
                  None if schema is None else tuple(schema.names))


def packed_for(df: DataFrame, *targets: Target) -> DataFrame:
    """The rows of a DataFrame, packed for those that take them."""
    df = with_position(df)
    return numbered(df).mapInArrow(shipped(pack(arrow_schema(df), targets)), PACKED)


def run_groups(packed: DataFrame, groups: tuple[Group, ...], step: str) -> DataFrame:
    """Run groups of steps over their packed input."""
    session = packed.sparkSession
    _check_state_store(session.conf.get("spark.sql.streaming.stateStore.providerClass", ""), step)
    most = int(session.conf.get(_RESULTS, None) or MOST)
    return packed.groupBy("shard").transformWithState(
        GroupProcessor(groups, most), UNPACKED, "append", "none")


def seen_columns(given: Input, schema: pa.Schema) -> pa.Schema:
    """The columns that the kernel sees, where spreading adds some."""
    if given.spread is None:
        return schema
    return given.spread(empty_rows(schema))[0].schema


def _check_state_store(provider: str | None, step: str) -> None:
    if not (provider or "").endswith("RocksDBStateStoreProvider"):
        raise ConfigError(
            "streaming state needs Spark's RocksDB state store", step=step, got=provider,
            hint="set spark.sql.streaming.stateStore.providerClass as slackwater.spark.settings() "
                 "says, before the session starts or with spark.conf.set",
        )
