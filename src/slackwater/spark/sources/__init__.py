"""Where a pipeline's rows come from: one file a kind.

Enters: a session and a source's configuration.  Leaves: a streaming DataFrame with the event's
columns, ``_arrival`` (when it was received) and ``_raw`` (the text of a value that could not be
read, whose columns are then null; null for good rows).  May import: pipeline, gateway.

Each module has ``read(session, config) -> DataFrame``, and perhaps ``settings(config)``: the Spark
settings that a session needs from its start to read such a source.
"""

from __future__ import annotations

import importlib
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from slackwater.pipeline.connectors import SourceConfig
from slackwater.spark.runner.position import POSITION

__all__ = ["read_source", "source_settings"]


def _home(config: SourceConfig) -> Any:
    return importlib.import_module(f"slackwater.spark.sources.{config.kind}")


def is_python(config: SourceConfig) -> bool:
    """Whether the source is one of ours, and not of Spark's own."""
    return hasattr(_home(config), "python_stream")


def read_source(session: SparkSession, config: SourceConfig, *,
                placed: bool = False) -> DataFrame:
    """The stream of a source; with `placed`, where it knows the place of its rows, that too."""
    df: DataFrame = _home(config).read(session, config)
    return df if placed else df.drop(POSITION)


def source_settings(config: SourceConfig) -> dict[str, str]:
    """The Spark settings that a source needs from the session's start."""
    asked = getattr(_home(config), "settings", None)
    return {} if asked is None else dict(asked(config))
