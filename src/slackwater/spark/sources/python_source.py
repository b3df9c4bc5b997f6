"""What Slackwater's own sources stand on, and the one place that knows what a Spark lacks for them.

A source is written once, for the interface that Spark has since 4.2: `latestOffset` is told where a
micro-batch starts and how large it may be, and `prepareForTriggerAvailableNow` when only what is
there is wanted.  Its stream comes from `python_stream`, and its reader goes through `fitted`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.streaming.readwriter import DataStreamReader

from slackwater.spark.session.versions import BEFORE_4_2

if TYPE_CHECKING or BEFORE_4_2:
    from slackwater.spark.sources.spark_4_1 import (
        SETTINGS,
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        RememberingReader,
        SupportsTriggerAvailableNow,
    )
else:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    SETTINGS: dict[str, str] = {}

__all__ = ["SETTINGS", "PythonReader", "ReadAllAvailable", "ReadLimit", "ReadMaxRows",
           "fitted", "paced", "python_stream"]

Pace = Literal["live", "catch up"]

_pace: ContextVar[Pace | None] = ContextVar("pace", default=None)
_OPTION = "slackwaterPace"


class PythonReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader that bounds its micro-batches."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """No bound, where a source needs none."""
        return ReadAllAvailable()

    @abstractmethod
    def everything(self) -> dict[str, int]:
        """The end of all that is there, for a Spark that does not say where to start."""


@contextmanager
def paced(pace: Pace | None) -> Iterator[None]:
    """Say how the streams that are made now will be run, to a Spark that does not tell the sources.

    ``live``: on and on; ``catch up``: on and on, but only with what is there; None: not known, as
    under availableNow.
    """
    before = _pace.set(pace)
    try:
        yield
    finally:
        _pace.reset(before)


def python_stream(session: SparkSession, source: type[DataSource]) -> DataStreamReader:
    """The beginning of a stream from a source of ours."""
    session.dataSource.register(source)
    reader = session.readStream.format(source.name())
    pace = _pace.get()
    return reader.option(_OPTION, pace) if BEFORE_4_2 and pace is not None else reader


def fitted(reader: PythonReader, options: Mapping[str, Any]) -> DataSourceStreamReader:
    """The reader as this Spark wants it."""
    return RememberingReader(reader, options.get(_OPTION)) if BEFORE_4_2 else reader
