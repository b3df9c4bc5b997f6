"""JSON lines, a folder a micro-batch."""

from __future__ import annotations

from slackwater.pipeline.connectors import JsonSink
from slackwater.spark.sinks.batch_folders import BatchFolders
from slackwater.spark.sinks.texts import JSON

__all__ = ["open_sink"]


def open_sink(config: JsonSink, name: str) -> BatchFolders:
    """Write to the folder that the configuration names."""
    return BatchFolders(config.path, "json", JSON)
