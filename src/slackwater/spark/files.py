"""A whole table through Spark: what ``--engine spark`` runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from slackwater.outcome import outcome_schema
from slackwater.reorder import Reorder
from slackwater.spark.operators.reorder import reorder
from slackwater.spark.session import local_session

__all__ = ["reorder_table"]



def reorder_table(table: pa.Table, kernel: Reorder,
                  session: SparkSession | None = None) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Run a kernel over a table on Spark (batch): the rows ready, late and quarantined.

    Without an arrival column the rows' order is the order of arrival, as in-process.
    """
    if table.num_rows == 0:
        return (outcome_schema(table.schema).empty_table(),) * 3
    spark = session or local_session()
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, Path(folder) / "rows.parquet")
        roles = kernel.roles
        out = reorder(
            spark.read.parquet(folder), kernel.policy, time=roles.time, arrival=roles.arrival,
            source=roles.source, sequence=roles.sequence, by=roles.key, scope=kernel.scope,
            unit=roles.unit, max_future_skew=kernel.max_future_skew, max_delay=kernel.max_delay,
        ).toArrow()
    schema = outcome_schema(table.schema)
    parts = []
    for status in ("ready", "late", "quarantined"):
        rows = out.filter(pa.compute.equal(out["_status"], status))
        parts.append(rows.select(schema.names).cast(schema))
    return tuple(parts)  # type: ignore[return-value]
