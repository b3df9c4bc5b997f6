"""What running queries lose, live: by Spark's watermarks, and as late rows of our operators."""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from slackwater.core.html import html_table
from slackwater.evaluate.progress import Progress, QueryNumbers
from slackwater.pipeline.metrics import QUANTILES, StreamNumbers
from slackwater.spark.runner.observed import operators_told
from slackwater.spark.runner.owed import OWED
from slackwater.spark.runner.stats import merged_stats
from slackwater.spark.watch_log import WatchLog

__all__ = ["Watch", "watch"]

_LOG = logging.getLogger("slackwater.watch")
_MOST_BATCHES = 1000  # of a query, kept one by one; a session is watched for months
_MOST_ENDED = 200     # queries that have ended: a job may start one every minute


class Watch(StreamingQueryListener):
    """Hears every query of a session; `queries` has their numbers at any time.

    A micro-batch that dropped rows is logged as a warning by the logger ``slackwater.watch``, any
    other as information.  So is a share of late rows that is above what a policy promises, once
    when it goes above.
    """

    def __init__(self, spark: SparkSession, log: str | Path | None = None) -> None:
        self._spark = spark
        self._progress = Progress()
        self._lock = threading.Lock()
        self._operators: dict[str, dict[str, StreamNumbers]] = {}
        self._over: set[tuple[str, str]] = set()
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._log = None if log is None else WatchLog(
            Path(log), spark.conf.get("spark.app.name", "Spark") or "Spark")

    @property
    def queries(self) -> dict[str, QueryNumbers]:
        """The numbers of each query, by its name (or the beginning of its id)."""
        with self._lock:
            return {query.name: replace(query, batches=dict(query.batches))
                    for query in self._progress.queries.values()}

    @property
    def operators(self) -> dict[str, dict[str, StreamNumbers]]:
        """The numbers of our operators by query and operator, since this began to listen.

        Two operators of one name in a query are counted together.
        """
        with self._lock:
            return {query: {step: replace(one) for step, one in steps.items()}
                    for query, steps in self._operators.items()}

    def stop(self) -> None:
        """Listen no more; the numbers stay."""
        self._spark.streams.removeListener(self)
        with self._lock:
            log, self._log = self._log, None
        if log is not None:
            log.close()

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Count a micro-batch."""
        report = json.loads(event.progress.json)
        with self._lock:
            known = self._progress.queries.get(str(report["id"]))
            # a query that waits, or starts again, repeats the number of its last micro-batch
            repeats = known is not None and int(report["batchId"]) in known.batches
            numbers = self._progress.add(report)
            dropped = 0 if repeats else numbers.batches[int(report["batchId"])].dropped
            line = numbers.line()
            for words in self._count(numbers.name, event.progress):
                _LOG.warning("%s", words)
            if self._log is not None and not repeats:
                self._log.batch(report, numbers, self._operators.get(numbers.name, {}))
            numbers.bound(_MOST_BATCHES)
        if dropped:
            _LOG.warning("%s rows dropped in micro-batch %s; %s", f"{dropped:,}",
                         report["batchId"], line)
        else:
            _LOG.info("%s", line)

    def _count(self, query: str, report: Any) -> Iterator[str]:
        """Add what our operators have told; gives what someone should look at."""
        for steps, bound in operators_told(report):
            for step, told in steps.items():
                if step == OWED:
                    continue
                one = self._operators.setdefault(query, {}).setdefault(step, StreamNumbers())
                one.bound = bound
                one.add(merged_stats(told, QUANTILES))
                share = one.late_share
                if bound is None or share is None or share <= bound:
                    self._over.discard((query, step))
                elif (query, step) not in self._over:
                    self._over.add((query, step))
                    yield (f"{query}: {100 * share:.3g} % of the rows of {step} are late, and its "
                           f"policy promises {100 * bound:.3g} %; their _reason says why")

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing to count yet."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing to count."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """The numbers stay, until many more queries have ended."""
        with self._lock:
            ended = self._progress.queries.get(str(event.id))
            if ended is None:
                return
            if self._log is not None:
                self._log.ended(ended.name, _first_line(event.exception))
            self._ended[str(event.id)] = None
            self._ended.move_to_end(str(event.id))
            while len(self._ended) > _MOST_ENDED:
                old = self._progress.queries.pop(self._ended.popitem(last=False)[0])
                if not any(one.name == old.name for one in self._progress.queries.values()):
                    self._operators.pop(old.name, None)
                    self._over = {one for one in self._over if one[0] != old.name}

    def __repr__(self) -> str:
        return "\n".join(query.line() for query in self.queries.values()) or "no query yet"

    def _repr_html_(self) -> str:
        rows = [query.to_dict() for query in self.queries.values()]
        names = list(rows[0]) if rows else ["no query yet"]
        return html_table("streaming queries", names, [[row[n] for n in names] for row in rows])


def _first_line(error: str | None) -> str | None:
    """Of an exception of Spark's, which has the whole stack behind it."""
    return None if error is None else next(iter(error.splitlines()), "")


def watch(spark: SparkSession, *, log: str | Path | None = None) -> Watch:
    """Say what this session's queries lose, as it happens.

    Parameters
    ----------
    spark
        The session; queries that run already are heard too.
    log
        A file to append the numbers of each micro-batch to: ``slackwater dashboard FILE`` shows
        them as a page that keeps up, ``slackwater report FILE`` as one HTML file.

    Returns
    -------
    Watch
        Readable at any time: ``watch(spark).queries["orders"].dropped`` is what Spark's watermarks
        have dropped, ``.operators["orders"]["reorder"].late_share`` the share of late rows.
    """
    found = Watch(spark, log)
    spark.streams.addListener(found)
    return found
