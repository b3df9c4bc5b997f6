"""JSON lines, a folder a micro-batch."""

from __future__ import annotations

from slackwater.pipeline.connectors import JsonSink
from slackwater.spark.sinks.batch_folders import BatchFolders

__all__ = ["open_sink"]

# microseconds are what the rows have; a field that is null is told as such
_OPTIONS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}


def open_sink(config: JsonSink, name: str) -> BatchFolders:
    """Write to the folder that the configuration names."""
    return BatchFolders(config.path, "json", _OPTIONS)
