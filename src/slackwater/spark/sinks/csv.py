"""CSV files with a header, a folder a micro-batch; nested columns become JSON."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from slackwater.pipeline.connectors import CsvSink
from slackwater.spark.runner.columns import quoted
from slackwater.spark.sinks.batch_folders import BatchFolders
from slackwater.spark.sinks.rows import Rows
from slackwater.spark.sinks.texts import JSON, TIMES

__all__ = ["open_sink"]

_OPTIONS = {"header": "true", **TIMES}


@dataclass(frozen=True)
class _CsvFolders(BatchFolders):
    def write(self, rows: Rows, batch_id: int) -> None:
        df = rows.frame
        super().write(Rows.of(df.select([_flat(field) for field in df.schema.fields])), batch_id)


def _flat(field: StructField) -> Column:
    column = F.col(quoted(field.name))
    nested = isinstance(field.dataType, (ArrayType, MapType, StructType))
    return F.to_json(column, JSON).alias(field.name) if nested else column


def open_sink(config: CsvSink, name: str) -> BatchFolders:
    """Write to the folder that the configuration names."""
    return _CsvFolders(config.path, "csv", _OPTIONS)
