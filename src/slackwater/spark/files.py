"""A whole table through Spark: what ``--engine spark`` runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from slackwater.core.errors import ConfigError
from slackwater.core.kernel import Kernel
from slackwater.core.outcome import outcome_schema
from slackwater.spark.runner.carry import carry
from slackwater.spark.runner.operator_spec import operator_spec
from slackwater.spark.runner.packing import ROW
from slackwater.spark.session.session import local_session

__all__ = ["run_table"]


def run_table(table: pa.Table, kernel: Kernel,
              session: SparkSession | None = None) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Run a kernel over a table on Spark (batch): what is ready, late and quarantined."""
    with tempfile.TemporaryDirectory() as folder:
        spark = session or local_session(log=Path(folder) / "spark.log")
        # Spark reads no nanoseconds; inside, times are microseconds anyway
        pq.write_table(table, Path(folder) / "rows.parquet", coerce_timestamps="us",
                       allow_truncated_timestamps=True)
        out = _carry(spark.read.parquet(str(Path(folder) / "rows.parquet")), kernel, table.schema)
        found = out.toArrow()
    ready = found.filter(pc.equal(found["_status"], "ready"))
    rows = outcome_schema(table.schema)
    # results of another shape than the input have no reason of their own, as in-process
    added = ("_status", ROW, "_reason", "_released") if ROW in found.column_names else ("_status",)
    parts = [ready.select([n for n in found.column_names if n not in added])]
    for status in ("late", "quarantined"):
        part = found.filter(pc.equal(found["_status"], status))
        if ROW in found.column_names:
            inner = pa.Table.from_struct_array(part[ROW].combine_chunks())
            for name in ("_reason", "_released"):
                inner = inner.append_column(name, part[name])
            part = inner
        parts.append(part.select(rows.names).cast(rows))
    return tuple(parts)


def _carry(df: DataFrame, kernel: Kernel, schema: pa.Schema) -> DataFrame:
    what = operator_spec(kernel, schema, None, type(kernel).__name__.lower())
    if what.inputs[0].arrival is None:
        raise ConfigError("on Spark rows have no order of their own", step=what.step,
                          expected="an arrival column (--arrival)",
                          hint="without one, use the local engine: there the file's order counts")
    return carry(df, what)
