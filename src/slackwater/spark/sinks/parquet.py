"""Parquet files, a folder a micro-batch."""

from __future__ import annotations

from slackwater.pipeline.connectors import ParquetSink
from slackwater.spark.sinks.batch_folders import BatchFolders

__all__ = ["open_sink"]


def open_sink(config: ParquetSink, name: str) -> BatchFolders:
    """Write to the folder that the configuration names."""
    return BatchFolders(config.path, "parquet")
