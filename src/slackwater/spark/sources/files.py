"""Files that appear in a folder, the oldest first."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from slackwater.core.errors import ConfigError
from slackwater.pipeline.columns import ARRIVAL, RAW, ddl
from slackwater.pipeline.connectors import MAX_BYTES, FilesSource
from slackwater.spark.runner.columns import quoted

__all__ = ["read"]


def read(session: SparkSession, config: FilesSource) -> DataFrame:
    """The rows of a folder's files; a file's modification time is its rows' arrival.

    A line that cannot be read as its columns comes with nulls and its text in ``_raw``.
    """
    reader = session.readStream.format(config.format)
    if config.max_files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", config.max_files_per_batch)
    else:
        reader = reader.option("maxBytesPerTrigger", MAX_BYTES)
    arrival = F.col("_metadata.file_modification_time").alias(ARRIVAL)
    if config.format == "parquet":
        schema = ddl(config.columns) if config.columns else _inferred(session, config.path)
        df = reader.schema(schema).load(config.path)
        return df.select("*", arrival, F.lit(None).cast("string").alias(RAW))
    reader = (reader.schema(f"{ddl(config.columns)}, `{RAW}` string")
              .option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", RAW))
    if config.format == "csv":
        # names are checked against the header: a column in another place is not to be misread
        reader = reader.option("header", config.header).option("enforceSchema", False)
    df = reader.load(config.path)
    raw = F.col(quoted(RAW))
    good = [F.when(raw.isNull(), F.col(quoted(c))).alias(c) for c in config.columns]
    return df.select(*good, arrival, raw)


def _inferred(session: SparkSession, path: str) -> object:
    try:
        return session.read.parquet(path).schema
    except AnalysisException as error:
        raise ConfigError(
            "the columns cannot be told: there is no Parquet file yet", step="files", got=path,
            hint="give them: columns: {time: timestamp, …}") from error
