"""What running queries lose by their watermarks, live."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from slackwater.core.html import html_table
from slackwater.evaluate.progress import Progress, QueryNumbers

__all__ = ["Watch", "watch"]

_LOG = logging.getLogger("slackwater.watch")


class Watch(StreamingQueryListener):
    """Hears every query of a session; `queries` has their numbers at any time.

    A micro-batch that dropped rows is logged as a warning by the logger ``slackwater.watch``, any
    other as information.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._progress = Progress()
        self._lock = threading.Lock()

    @property
    def queries(self) -> dict[str, QueryNumbers]:
        """The numbers of each query, by its name (or the beginning of its id)."""
        with self._lock:
            return {query.name: query for query in self._progress.queries.values()}

    def stop(self) -> None:
        """Listen no more; the numbers stay."""
        self._spark.streams.removeListener(self)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Count a micro-batch."""
        report = json.loads(event.progress.json)
        with self._lock:
            numbers = self._progress.add(report)
            dropped = numbers.batches[int(report["batchId"])].dropped
            line = numbers.line()
        if dropped:
            _LOG.warning("%s rows dropped in micro-batch %s; %s", f"{dropped:,}",
                         report["batchId"], line)
        else:
            _LOG.info("%s", line)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing to count yet."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing to count."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """The numbers stay."""

    def __repr__(self) -> str:
        return "\n".join(query.line() for query in self.queries.values()) or "no query yet"

    def _repr_html_(self) -> str:
        rows = [query.to_dict() for query in self.queries.values()]
        names = list(rows[0]) if rows else ["no query yet"]
        return html_table("streaming queries", names, [[row[n] for n in names] for row in rows])


def watch(spark: SparkSession) -> Watch:
    """Say what the watermarks of this session's queries drop, as it happens.

    Parameters
    ----------
    spark
        The session; queries that run already are heard too.

    Returns
    -------
    Watch
        Readable at any time: ``watch(spark).queries["orders"].dropped``.
    """
    found = Watch(spark)
    spark.streams.addListener(found)
    return found
