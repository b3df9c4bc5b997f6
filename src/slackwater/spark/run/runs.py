"""Run a pipeline: start its queries, watch them, stop them all together."""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from slackwater.core.durations import micros
from slackwater.core.errors import SlackwaterError
from slackwater.pipeline.document import MAIN, Pipeline, Query
from slackwater.pipeline.metrics import Numbers
from slackwater.spark.run.batch_writer import COUNTED, RECENT, BatchWriter, BranchWriter, Outlet
from slackwater.spark.run.build import Builder
from slackwater.spark.run.checkpoint import Checkpoint
from slackwater.spark.run.dead_letters import REFUSED, dead_letters_of
from slackwater.spark.run.failures import words_of
from slackwater.spark.run.main_query import plan_main
from slackwater.spark.run.observe import Observer
from slackwater.spark.run.progress import Progress
from slackwater.spark.run.streams import sink_columns
from slackwater.spark.session.versions import BEFORE_4_2
from slackwater.spark.sinks import open_sink
from slackwater.spark.sources import is_python
from slackwater.spark.sources.python_source import Pace, paced
from slackwater.spark.sources.spark_4_1 import caught_up

__all__ = ["RunError", "run_pipeline"]

Trigger = Callable[[DataStreamWriter], DataStreamWriter]
"""Tells a writer when micro-batches are to run."""


@dataclass(frozen=True)
class _Leg:
    """A part of a run: how its streams are read, when micro-batches run, and when it is done."""

    pace: Pace | None
    trigger: Trigger
    done: Callable[[StreamingQuery], bool] | None = None
    """None: it ends by itself, or never."""


_LOOK, _TELL = 0.1, 1.0  # seconds between looks at the queries, and at their progress


class RunError(SlackwaterError):
    """A pipeline that stopped because one of its queries failed."""


def run_pipeline(pipeline: Pipeline, session: SparkSession, *, until_done: bool = False,
                 keep_held: bool = False, fresh: bool = False, stop: threading.Event | None = None,
                 started: Callable[[list[str]], None] | None = None,
                 warn: Callable[[str], None] | None = None,
                 each: Callable[[Numbers], None] | None = None,
                 listeners: tuple[Callable[[dict[str, Any]], None], ...] = ()) -> Numbers:
    """Run a pipeline in this process.

    Parameters
    ----------
    pipeline
        From `slackwater.pipeline.load`.
    session
        From `slackwater.spark.open_session`, or any with `slackwater.spark.settings`.
    until_done
        Take what is there and end (Spark's availableNow); else run until `stop`.
    keep_held
        With `until_done`: what is held at the end stays held, for a later run to go on with. Else
        everything is released, as at the end of all input.
    fresh
        Put an old checkpoint aside and begin anew.
    stop
        Set it to end the run.
    started
        Called, once all queries run, with what is worth saying about the start.
    warn
        Called with what someone should look at while the pipeline goes on; default: a warning.
    each
        Called about once a second with the numbers so far.
    listeners
        Called with each line of the run log, in the thread of this call.

    Returns
    -------
    Numbers
        About every stream.

    Raises
    ------
    RunError
        One query failed; all were stopped.
    """
    numbers = Numbers(pipeline, warn=warn or _warn, listeners=listeners)
    stop = threading.Event() if stop is None else stop
    with closing(Checkpoint(pipeline, session)) as checkpoint:
        told = checkpoint.open(fresh=fresh)
        unfinished = checkpoint.unfinished()
        with numbers.told():
            run = _Run(pipeline, session, checkpoint, numbers, each)
            try:
                if unfinished is not None:
                    _finish(*unfinished, session, checkpoint, stop)
                    told.append("the pending micro-batch was finished first, as it was planned")
                    if stop.is_set():
                        return numbers
                for leg in run.legs(until_done):
                    run.plan(pace=leg.pace)
                    checkpoint.keep()
                    run.start(leg.trigger)
                    if started is not None:
                        started(told)
                        started = None
                    run.wait(stop, leg.done)
                    if stop.is_set():
                        return numbers
                if until_done and not keep_held:
                    run.drain(stop)
                    if not stop.is_set():
                        checkpoint.drained()
            except (Py4JNetworkError, ConnectionError) as error:
                raise RunError(f"Spark is gone: {words_of(error)}", step=pipeline.name,
                               hint="a restart goes on from the last micro-batch") from None
            finally:
                run.stop()
    return numbers


def _finish(before: Pipeline, names: tuple[str, ...], session: SparkSession,
            checkpoint: Checkpoint, stop: threading.Event) -> None:
    """Run the pending micro-batch of these queries under the plan that it was planned with.

    It is not in the numbers of the run, which may have other streams.
    """
    run = _Run(before, session, checkpoint, Numbers(before, warn=_warn))
    try:
        run.plan(names)
        run.start(lambda writer: writer.trigger(once=True))
        run.wait(stop)
    finally:
        run.stop()


def _to_the_end(writer: DataStreamWriter) -> DataStreamWriter:
    return writer.trigger(availableNow=True)


def _without_pause(writer: DataStreamWriter) -> DataStreamWriter:
    return writer.trigger(processingTime="0 seconds")


def _warn(words: str) -> None:
    warnings.warn(words, RuntimeWarning, stacklevel=2)


class _Run:
    def __init__(self, pipeline: Pipeline, session: SparkSession, checkpoint: Checkpoint,
                 numbers: Numbers, each: Callable[[Numbers], None] | None = None) -> None:
        self._pipeline, self._session, self._each = pipeline, session, each
        self._checkpoint, self._numbers = checkpoint, numbers
        self._queries: dict[str, StreamingQuery] = {}
        self._observer = Observer(pipeline, numbers)
        self._counted = uuid.uuid4().hex
        self._progress = Progress(session)

    def legs(self, until_done: bool) -> list[_Leg]:
        """The parts of the run, one after the other."""
        if not until_done:
            return [_Leg("live", self.at_its_pace)]
        sources = [source.config for source in self._pipeline.sources.values()]
        if BEFORE_4_2 and any(map(is_python, sources)):
            return [_Leg("catch up", _without_pause, caught_up), _Leg(None, _to_the_end)]
        return [_Leg(None, _to_the_end)]

    def plan(self, names: tuple[str, ...] | None = None, *, pace: Pace | None = None) -> None:
        """Plan all queries, or some.

        A mistake that only Spark can find must not leave half a pipeline running.
        """
        with paced(pace):
            self._planned = [(query, *self._plan(query, finish=False))
                             for query in self._pipeline.queries
                             if names is None or query.name in names]

    def start(self, trigger: Trigger) -> None:
        """Start what is planned."""
        for query, df, writer in self._planned:
            self._start(query, df, writer, trigger)

    def at_its_pace(self, writer: DataStreamWriter) -> DataStreamWriter:
        """The trigger of the pipeline."""
        if self._pipeline.trigger is None:
            return writer
        ms = micros(self._pipeline.trigger) // 1000
        return writer.trigger(processingTime=f"{ms} milliseconds")

    def drain(self, stop: threading.Event) -> None:
        """Tell the main query that nothing more comes, until it has given all that it held."""
        for query in self._pipeline.queries:
            if query.name != MAIN:
                continue
            while True:
                self._start(query, *self._plan(query, finish=True), _to_the_end)
                self.wait(stop)
                if stop.is_set() or not self._observer.owed:
                    break

    def _start(self, query: Query, df: DataFrame, write: Callable[[DataFrame, int], None],
               trigger: Trigger) -> None:
        writer = (df.writeStream.foreachBatch(write)
                  .queryName(f"{self._pipeline.name}.{query.name}")
                  .option("checkpointLocation", self._checkpoint.of(query.name))
                  .outputMode("append"))
        try:
            self._queries[query.name] = trigger(writer).start()
        except PySparkException as error:
            raise self._failed(query.name, error) from None

    def _plan(self, query: Query,
              finish: bool) -> tuple[DataFrame, Callable[[DataFrame, int], None]]:
        watch = self._observer.watch(query.name)
        # a new checkpoint counts its batches from 0: to a sink that remembers which it has had,
        # they are others than those of an old one
        outlets = tuple(
            Outlet(s.name, open_sink(s.config, self._sink_name(s.name)), s.stream,
                   dead_letters_of(self._pipeline.dead_letters, self._counted, s.name,
                                   self._sink_name(f"dead_letters.{s.name}")))
            for s in query.sinks)
        try:
            if query.name != MAIN:
                builder = Builder(self._session, self._pipeline, self._checkpoint.shards, watch)
                return (builder.node(query.name),
                        BranchWriter(self._pipeline.steps.get(query.name), outlets))
            main = plan_main(self._session, self._pipeline, query, shards=self._checkpoint.shards,
                             numbers=self._checkpoint.groups, lives=self._checkpoint.lives,
                             watch=watch, finish=finish)
        except PySparkException as error:
            raise self._failed(query.name, error) from None
        steps = {n: self._pipeline.steps[n] for n in query.nodes if n in self._pipeline.steps}
        told = tuple(
            replace(o, columns=sink_columns(self._session, main.outputs[o.stream.node],
                                            steps.get(o.stream.node), o.stream.outcome))
            if o.stream.node in main.outputs else o for o in outlets)
        return main.df, BatchWriter(self._counted, steps, main.outputs, told)

    def _sink_name(self, name: str) -> str:
        return f"{self._pipeline.name}.{name}.{self._checkpoint.id}"

    def wait(self, stop: threading.Event,
             done: Callable[[StreamingQuery], bool] | None = None) -> None:
        """Until all have ended or are done, or one has failed, or `stop`."""
        told = time.monotonic()
        while not stop.wait(_LOOK):
            active = {name: query.isActive for name, query in self._queries.items()}
            if time.monotonic() - told >= _TELL:
                told = time.monotonic()
                self._tell()
                self._checkpoint.check()
            for name, query in self._queries.items():
                if not active[name] and (error := query.exception()) is not None:
                    self._tell()
                    raise self._failed(name, error)
            if done is not None and all(map(done, self._queries.values())):
                self._stop_queries()
                active = {}
            if not any(active.values()):
                self._tell(ended=True)
                return
        self._tell()

    def _stop_queries(self) -> None:
        for query in self._queries.values():
            try:
                query.stop()
            except PySparkException:  # it may have ended just now
                if query.isActive:
                    raise

    def stop(self) -> None:
        try:
            self._stop_queries()
            self._progress.close()
        except (Py4JNetworkError, ConnectionError):
            return  # Spark is gone, and its queries with it

    def _tell(self, *, ended: bool = False) -> None:
        """Count what the queries have reported."""
        reports = self._progress.last if ended else self._progress.new
        for name, report in reports(self._queries):
            self._observer.take(name, report)
        self._observer.count(COUNTED.get(self._counted, {}))
        self._observer.show(RECENT.pop(self._counted, {}))
        self._numbers.refused(REFUSED.get(self._counted, {}))
        self._numbers.tell()
        if self._each is not None:
            self._each(self._numbers)

    def _failed(self, node: str, error: BaseException) -> RunError:
        words = self._pipeline.secrets.redact(words_of(error))
        hint = ("all queries were stopped; what is in the sinks stands, and a restart goes on from "
                "there")
        if "No module named 'slackwater'" in words:
            hint = "install slackwater where Spark's workers run, and PYSPARK_PYTHON with it"
        if "UNFINISHED_REPARTITION" in words:
            hint = "a `slackwater state migrate` was interrupted: give the same command again"
        return RunError(words, step=f"{self._pipeline.name}.{node}", hint=hint)


