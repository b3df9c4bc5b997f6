"""A session fit for a pipeline."""

from __future__ import annotations

from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from slackwater.core.errors import ConfigError
from slackwater.pipeline.document import Pipeline
from slackwater.spark.run.failures import words_of
from slackwater.spark.session.session import open_session
from slackwater.spark.sources import source_settings

__all__ = ["open_for"]

# progress is looked at once a second; short micro-batches must not have gone by unseen
_KEPT = {"spark.sql.streaming.numRecentProgressUpdates": "1000"}


def open_for(pipeline: Pipeline, *, master: str | None = None, remote: str | None = None,
             log: Path | None = None) -> SparkSession:
    """Open a session with what the pipeline's sources need and its ``spark:`` settings ask for.

    Parameters
    ----------
    pipeline
        What is to run.
    master, remote, log
        As for `slackwater.spark.open_session`.
    """
    wanted: dict[str, str] = dict(_KEPT)
    for source in pipeline.sources.values():
        for name, value in source_settings(source.config).items():
            joined = name in wanted and name in ("spark.jars.packages", "spark.jars")
            wanted[name] = f"{wanted[name]},{value}" if joined else value
    try:
        return open_session(pipeline.name, master=master, remote=remote, log=log,
                            extra={**wanted, **pipeline.spark})
    except (PySparkException, RuntimeError, OSError) as error:
        raise ConfigError(
            f"Spark cannot be started or reached: {pipeline.secrets.redact(words_of(error))}",
            step="spark", got=remote or master or "this machine",
            hint=None if log is None else f"Spark's own words: {log}") from None
