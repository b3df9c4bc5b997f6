"""Queries over two streams on Spark: filter each side, correlate, select from the pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from slackwater.core.errors import ConfigError
from slackwater.core.names import ADDED, column_names
from slackwater.query import parse_as
from slackwater.query.correlate.names import PAIR
from slackwater.query.correlate.plan import CorrelatePlan, plan_correlate
from slackwater.query.correlate.tree import CorrelateTree
from slackwater.spark.operators.correlate import correlate
from slackwater.spark.runner.arrow_types import to_spark
from slackwater.spark.runner.carry import arrow_schema

__all__ = ["OPTIONS", "pairs_of_views"]

OPTIONS = ("time_min", "time_max", "max_delay", "shortest", "longest", "distribution")
"""What the operator has to be told beside the query."""

Batches = Iterator[pa.RecordBatch]
Planned = Callable[[], CorrelatePlan]


def pairs_of_views(data: DataFrame | SparkSession, text: str, *, by: str | Sequence[str] = (),
                   **options: Any) -> DataFrame:
    """Run a query over two streams that are tables or views of a session.

    Rows that WHERE leaves out move no clock.  Late and quarantined rows come whole, as from
    `correlate`.
    """
    tree = parse_as(CorrelateTree, text)
    if isinstance(data, DataFrame):
        one, two = (stream.name for stream in tree.streams)
        raise ConfigError("a query over two streams needs both of them", step="query",
                          expected=f"the session, with views named {one} and {two}",
                          got="a DataFrame", hint="df.createOrReplaceTempView(name)")
    sides = [data.table(stream.name) for stream in tree.streams]
    schemas = [arrow_schema(df) for df in sides]

    def planned() -> CorrelatePlan:
        # made again on each worker: a plan holds functions, which do not travel
        return plan_correlate(parse_as(CorrelateTree, text), *schemas)

    plan = plan_correlate(tree, *schemas)
    plan.correlate()  # mistakes are to be told now, not on an executor
    filtered = [df if plan.before[side] is None
                else df.mapInArrow(_filter(planned, side), df.schema)
                for side, df in enumerate(sides)]
    more = column_names(by)
    pairs = correlate(*filtered, **{**plan.options, **options, "by": (*more, *plan.by)})
    added = pa.schema([f for f in arrow_schema(pairs) if f.name in ADDED])
    output = pa.schema([*plan.schema, *added])
    return pairs.mapInArrow(_select(planned, output), to_spark(output))


def _filter(planned: Planned, side: int) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        plan = planned()
        for batch in batches:
            yield plan.keep(batch, side)

    return run


def _select(planned: Planned, output: pa.Schema) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        plan = planned()
        for batch in batches:
            paired = pc.equal(batch.column("_status"), "ready")
            pairs = plan.keep(batch.filter(paired), PAIR)
            aside = batch.filter(pc.invert(paired))
            if pairs.num_rows:
                yield _joined(plan.results(pairs).columns, pairs, output)
            if aside.num_rows:
                nothing = [pa.nulls(aside.num_rows, field.type) for field in plan.schema]
                yield _joined(nothing, aside, output)

    return run


def _joined(selected: list[pa.Array], rows: pa.RecordBatch, output: pa.Schema) -> pa.RecordBatch:
    added = [rows.column(name) for name in output.names[len(selected):]]
    return pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in
         zip([*selected, *added], output, strict=True)], schema=output)
