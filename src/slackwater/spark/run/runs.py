"""Run a pipeline: start its queries, watch them, stop them all together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from slackwater.core.durations import micros
from slackwater.core.errors import SlackwaterError
from slackwater.pipeline.document import Branch, Pipeline
from slackwater.pipeline.metrics import Numbers
from slackwater.spark.run.branch import BatchWriter, Outlet
from slackwater.spark.run.build import Builder
from slackwater.spark.run.checkpoint import Checkpoint
from slackwater.spark.run.failures import words_of
from slackwater.spark.run.observe import Observer
from slackwater.spark.sinks import open_sink

__all__ = ["RunError", "run_pipeline"]

_LOOK, _TELL = 0.1, 1.0  # seconds between looks at the queries, and at their progress


class RunError(SlackwaterError):
    """A pipeline that stopped because one of its queries failed."""


def run_pipeline(pipeline: Pipeline, session: SparkSession, *, until_done: bool = False,
                 fresh: bool = False, stop: threading.Event | None = None,
                 started: Callable[[list[str]], None] | None = None) -> Numbers:
    """Run a pipeline in this process.

    Parameters
    ----------
    pipeline
        From `slackwater.pipeline.load`.
    session
        From `slackwater.spark.open_session`, or any with `slackwater.spark.settings`.
    until_done
        Take what is there and end (Spark's availableNow); else run until `stop`.
    fresh
        Put an old checkpoint aside and begin anew.
    stop
        Set it to end the run.
    started
        Called, once all queries run, with what is worth saying about the start.

    Returns
    -------
    Numbers
        About every stream.

    Raises
    ------
    RunError
        One query failed; all were stopped.
    """
    numbers = Numbers(pipeline)
    stop = threading.Event() if stop is None else stop
    with closing(Checkpoint(pipeline, session)) as checkpoint:
        told = checkpoint.open(fresh=fresh)
        with numbers.told():
            run = _Run(pipeline, session, checkpoint, numbers)
            try:
                run.start(until_done)
                if started is not None:
                    started(told)
                run.wait(stop)
            except (Py4JNetworkError, ConnectionError) as error:
                raise RunError(f"Spark is gone: {words_of(error)}", step=pipeline.name,
                               hint="a restart goes on from the last micro-batch") from None
            finally:
                run.stop()
    return numbers


class _Run:
    def __init__(self, pipeline: Pipeline, session: SparkSession, checkpoint: Checkpoint,
                 numbers: Numbers) -> None:
        self._pipeline, self._session = pipeline, session
        self._checkpoint, self._numbers = checkpoint, numbers
        self._queries: dict[str, StreamingQuery] = {}
        self._observer = Observer(pipeline, numbers)

    def start(self, until_done: bool) -> None:
        # all plans first: a mistake that only Spark can find must not leave half a pipeline running
        planned = [(branch, self._plan(branch)) for branch in self._pipeline.branches]
        for branch, df in planned:
            # a new checkpoint counts its batches from 0: to a sink that remembers which it has had,
            # they are others than those of an old one
            outlets = tuple(
                Outlet(open_sink(s.config, f"{self._pipeline.name}.{s.name}.{self._checkpoint.id}"),
                       s.stream.outcome) for s in branch.sinks)
            writer = df.writeStream.foreachBatch(
                BatchWriter(self._pipeline.steps.get(branch.node), outlets))
            writer = (writer.queryName(f"{self._pipeline.name}.{branch.node}")
                      .option("checkpointLocation", self._checkpoint.of(branch.node))
                      .outputMode("append"))
            if until_done:
                writer = writer.trigger(availableNow=True)
            elif self._pipeline.trigger is not None:
                ms = micros(self._pipeline.trigger) // 1000
                writer = writer.trigger(processingTime=f"{ms} milliseconds")
            try:
                self._queries[branch.node] = writer.start()
            except PySparkException as error:
                raise self._failed(branch.node, error) from None

    def _plan(self, branch: Branch) -> DataFrame:
        watch = self._observer.watch(branch.node)
        try:
            return Builder(self._session, self._pipeline, self._checkpoint.shards,
                           watch).node(branch.node)
        except PySparkException as error:
            raise self._failed(branch.node, error) from None

    def wait(self, stop: threading.Event) -> None:
        """Until all have ended, or one has failed, or `stop`."""
        told = time.monotonic()
        while not stop.wait(_LOOK):
            active = {name: query.isActive for name, query in self._queries.items()}
            if time.monotonic() - told >= _TELL or not all(active.values()):
                told = time.monotonic()
                self._tell()
            for name, query in self._queries.items():
                if not active[name] and (error := query.exception()) is not None:
                    raise self._failed(name, error)
            if not any(active.values()):
                break
        self._tell()

    def stop(self) -> None:
        for query in self._queries.values():
            try:
                query.stop()
            except PySparkException:  # it may have ended just now
                if query.isActive:
                    raise
            except (Py4JNetworkError, ConnectionError):
                return  # Spark is gone, and its queries with it

    def _tell(self) -> None:
        for name, query in self._queries.items():
            self._observer.take(name, query.recentProgress)
        self._numbers.tell()

    def _failed(self, node: str, error: BaseException) -> RunError:
        words = self._pipeline.secrets.redact(words_of(error))
        hint = ("all queries were stopped; what is in the sinks stands, and a restart goes on from "
                "there")
        if "No module named 'slackwater'" in words:
            hint = "install slackwater where Spark's workers run, and PYSPARK_PYTHON with it"
        return RunError(words, step=f"{self._pipeline.name}.{node}", hint=hint)


