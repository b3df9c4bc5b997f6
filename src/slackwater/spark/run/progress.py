"""The progress of a run's queries, as Spark reports it: each micro-batch once, when it is done."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery, StreamingQueryListener

__all__ = ["Progress"]

_PATIENCE = 10.0  # seconds for Spark to deliver what it has to say of a query that has ended


class Progress:
    """Listens to the queries of a session while it is open.

    Spark calls a listener in a thread of its own; here reports wait until they are asked for.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._listener = _Listener()
        session.streams.addListener(self._listener)

    def new(self, queries: dict[str, StreamingQuery]) -> list[tuple[str, Any]]:
        """The reports of these queries since the last call, with the query's name."""
        names = {str(query.runId): name for name, query in queries.items()}
        found: list[tuple[str, Any]] = []
        while True:
            try:
                report = self._listener.reports.get_nowait()
            except queue.Empty:
                return found
            name = names.get(str(report["runId"]))
            if name is not None:  # else another's, in the same session
                found.append((name, report))

    def last(self, queries: dict[str, StreamingQuery]) -> list[tuple[str, Any]]:
        """The reports of queries that have ended, none of them under way any more.

        If Spark drops reports because it has too many to deliver, the queries themselves still
        know the latest.
        """
        until = time.monotonic() + _PATIENCE
        for query in queries.values():
            while str(query.runId) not in self._listener.ended and time.monotonic() < until:
                self._listener.more.wait(0.1)
                self._listener.more.clear()
        return [*self.new(queries), *((name, report) for name, query in queries.items()
                                      for report in query.recentProgress)]

    def close(self) -> None:
        """Listen no longer."""
        self._session.streams.removeListener(self._listener)


class _Listener(StreamingQueryListener):
    def __init__(self) -> None:
        self.reports: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.ended: set[str] = set()
        self.more = threading.Event()

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """No news: the run has started it."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """A micro-batch is done."""
        self.reports.put(event.progress)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """No news."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """All of its reports have been delivered before this."""
        self.ended.add(str(event.runId))
        self.more.set()
