"""Spark 4.1, where a Python source has to know by itself where a micro-batch starts.

`latestOffset` has no arguments there.  A restarted query tells a source where it is before it asks
for more, by planning an empty micro-batch there; so a reader that remembers the end of what was
planned last knows the start of what comes next, exactly.

Under availableNow it is otherwise.  Spark 4.1 takes a Python source for one that knows no such
trigger, and would take all that *all* sources have in one micro-batch.  The setting of `SETTINGS`
has it ask such sources once for the end, and cut what the others have as usual.  But it asks before
it says where they are: all a source can answer is the end of everything that is there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import StreamingQuery

__all__ = [
    "SETTINGS",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxRows",
    "RememberingReader",
    "SupportsTriggerAvailableNow",
    "caught_up",
]

SETTINGS = {"spark.sql.streaming.triggerAvailableNowWrapper.enabled": "true"}

Offset = dict[str, int]


class ReadLimit:
    """As in `pyspark.sql.streaming.datasource` of later versions, like those that follow."""


class ReadAllAvailable(ReadLimit):
    """No limit."""


@dataclass
class ReadMaxRows(ReadLimit):
    """At most so many rows."""

    max_rows: int


class SupportsTriggerAvailableNow(ABC):
    """For sources that can be bounded by what is there."""

    @abstractmethod
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Go as far as the source goes now."""


def caught_up(query: StreamingQuery) -> bool:
    """Whether a query has had all that its Python sources had when it was started.

    They are only asked for what was there then: there is nothing to do, or the last micro-batch
    had rows of other sources alone.
    """
    if query.status["message"] == "Waiting for data to arrive":
        return True
    last = query.lastProgress
    # one that was planned by an earlier run has asked no source
    return last is not None and "latestOffset" in last["durationMs"] and all(
        source["startOffset"] == source["endOffset"] for source in last["sources"]
        if "PythonMicroBatchStream" in source["description"])


class RememberingReader(DataSourceStreamReader):
    """Tells a reader what Spark 4.1 does not.

    Parameters
    ----------
    reader
        Of the interface of Spark 4.2.
    pace
        See `slackwater.spark.sources.python_source.paced`.
    """

    def __init__(self, reader: Any, pace: str | None) -> None:
        self._reader, self._pace = reader, pace
        self._first: Offset | None = None
        self._at: Offset | None = None
        self._prepared = False

    def initialOffset(self) -> Offset:  # noqa: N802
        """Where a new query starts: the same whenever it is asked for."""
        if self._first is None:
            self._first = self._reader.initialOffset()
        return self._first

    def latestOffset(self) -> Offset:  # noqa: N802
        """The end of the next micro-batch."""
        if self._at is None:
            if self._pace is None:
                return self._reader.everything()
            self._at = self.initialOffset()
        if self._pace == "catch up" and not self._prepared:
            self._reader.prepareForTriggerAvailableNow()
            self._prepared = True
        limit = ReadAllAvailable() if self._pace is None else self._reader.getDefaultReadLimit()
        self._at = self._reader.latestOffset(self._at, limit)
        return self._at

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The reader's; after a restart, before all else, Spark asks for none, at the last end."""
        self._at = end
        return [] if start == end else self._reader.partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The reader's rows."""
        return self._reader.read(partition)

    def commit(self, end: Offset) -> None:
        """Spark will not ask for what is before `end` again."""
        self._reader.commit(end)

    def stop(self) -> None:
        """The query has ended."""
        self._reader.stop()
