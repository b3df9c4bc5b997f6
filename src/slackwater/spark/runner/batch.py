"""Batch DataFrames through the same kernels: everything is there, so nothing need be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from slackwater.core.state.ipc import ipc_batch, joined
from slackwater.spark.runner.arrow_types import to_spark
from slackwater.spark.runner.columns import numbered, quoted
from slackwater.spark.runner.operator_spec import OperatorSpec, row_column, statuses
from slackwater.spark.runner.packing import cast_to, with_status
from slackwater.spark.runner.shipped import shipped

__all__ = ["one_input", "two_inputs"]

_POSITION = "_position"

Batches = Iterator[pa.RecordBatch]


def one_input(df: DataFrame, what: OperatorSpec, schema: pa.Schema, output: pa.Schema) -> DataFrame:
    """Spark sorts each partition by arrival; the kernel runs through it once."""
    given = what.inputs[0]
    # ties of one arrival go by input position; the sort alone would not keep it
    placed = df.withColumn(_POSITION, F.monotonically_increasing_id())
    spread = (placed.repartition(*[F.col(quoted(c)) for c in given.shard_by]) if given.shard_by
              else placed.coalesce(1))
    arrival = F.col(quoted(given.arrival or _POSITION))
    ordered = spread.sortWithinPartitions(arrival, _POSITION).drop(_POSITION)
    return numbered(ordered).mapInArrow(shipped(_run_through(what, schema, output)),
                                        to_spark(output))


def _run_through(what: OperatorSpec, schema: pa.Schema,
                 output: pa.Schema) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        logic = what.kernel.start()
        for batch in batches:
            for status, rows in statuses(what.push(logic, 0, cast_to(batch, schema))):
                yield from with_status(rows, status, row_column(what, 0), output)
        for status, rows in statuses(logic.finish()):
            yield from with_status(rows, status, row_column(what, 0), output)

    return run


def two_inputs(packed: DataFrame, what: OperatorSpec, output: pa.Schema, shards: int) -> DataFrame:
    """Each shard's two sides, from their blobs, through one kernel."""
    return packed.repartition(shards, "shard").mapInArrow(_run_shards(what, output),
                                                          to_spark(output))


def _run_shards(what: OperatorSpec, output: pa.Schema) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        blobs: dict[int, list[tuple[int, int, int, pa.RecordBatch]]] = {}
        for packed in batches:
            for row in packed.to_pylist():
                if row["blob"] is None:  # how far a partition has come: of no interest here
                    continue
                blobs.setdefault(row["shard"], []).append(
                    (row["input"], row["part"], row["chunk"], ipc_batch(row["blob"])))
        for shard in sorted(blobs):
            logic = what.kernel.start()
            parts = sorted(blobs.pop(shard), key=lambda b: b[:3])
            for at in range(len(what.inputs)):
                mine = [batch for i, _, _, batch in parts if i == at]
                if mine:
                    for status, rows in statuses(what.push(logic, at, joined(mine))):
                        yield from with_status(rows, status, row_column(what, at), output)
            for status, rows in statuses(logic.finish()):
                yield from with_status(rows, status, row_column(what, 0), output)

    return run
