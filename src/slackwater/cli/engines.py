"""Which engine takes rows through a kernel; Spark is imported only when asked for."""

from __future__ import annotations

import importlib

from slackwater.cli.options import EngineName
from slackwater.core.errors import ConfigError
from slackwater.evaluate.run import Engine, reorder_table

__all__ = ["engine_named"]


def engine_named(name: EngineName) -> Engine:
    """The engine of that name."""
    if name is EngineName.local:
        return reorder_table
    try:
        files = importlib.import_module("slackwater.spark.files")
    except ImportError as error:
        raise ConfigError("Spark is not installed", step="--engine spark", got=str(error),
                          hint="pip install 'slackwater[spark]'") from None
    engine: Engine = files.run_table
    return engine
