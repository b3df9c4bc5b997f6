"""Run it: Spark alone and Slackwater on one feed, side by side, in one session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from slackwater.core.errors import ConfigError
from slackwater.demo.plant import WINDOW, Plant, make_plant
from slackwater.demo.score import Given, Scores, score_all
from slackwater.pipeline import Pipeline, load

__all__ = ["WATERMARK", "Story", "demo_pipeline", "run_demo"]

WATERMARK = "2 seconds"
"""What is guessed for Spark alone: more than twice what 95 of 100 rows take."""
_APART, _WITHIN = "150 milliseconds", 8  # as the pipeline file says
_TIMES = ("start", "fell", "hissed", "shut")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KERNELS = (("Static", "Tide", "SELECT: sliding, of keys", "many rows at once"),
           ("EVENT: negation", "correlate"))
"""Workloads of `slackwater.warm` whose loops the pipeline uses, for two processes."""


@dataclass(frozen=True)
class Story:
    """What both made of the plant.

    Parameters
    ----------
    plant
        The feed and its truth.
    plain, ours
        The results of Spark alone and of Slackwater.
    late, policy
        Rows that Slackwater handed over as late, and how it decided.
    seconds
        How long all of it took.
    """

    plant: Plant
    plain: Given
    ours: Given
    late: int
    policy: str
    seconds: float

    @property
    def scores(self) -> tuple[Scores, Scores]:
        """Of Spark alone, and of Slackwater."""
        return score_all(self.plant, self.plain), score_all(self.plant, self.ours)


def demo_pipeline(folder: Path) -> Pipeline:
    """The demo's pipeline, written to a folder that has its feed."""
    text = (resources.files("slackwater.demo") / "pipeline.yaml").read_text(encoding="utf-8")
    file = folder / "pipeline.yaml"
    file.write_text(text, encoding="utf-8")
    return load(file)


def run_demo(folder: Path, say: Callable[[str], None]) -> Story:
    """All of it, in about a minute on two cores.

    Parameters
    ----------
    folder
        Where feed, results and logs go; what an earlier demo left there is replaced.
    say
        Called with what is being done.
    """
    began = time.monotonic()
    say("running the plant")
    plant = make_plant()
    _clear(folder)
    _write_feed(plant, folder / "feed")
    pipeline = demo_pipeline(folder)
    with _compiling():
        say("starting Spark")
        session, queries, run_pipeline, counters = _spark(pipeline, folder)
        try:
            # both mostly wait for Spark to plan the next micro-batch, so they share two cores well
            alone = _Alone(queries, plant)
            say(f"both at work: {alone.progress()}; Slackwater: being planned")
            numbers = run_pipeline(
                pipeline, session, until_done=True, warn=lambda words: None,
                each=lambda numbers: say(
                    f"both at work: {alone.progress()}; Slackwater: {counters(numbers)}"))
            alone.wait(say)
        finally:
            session.stop()
    return Story(plant, alone.found, _written(folder / "out", plant),
                 int(numbers.summary()["ordered"]["late"]),
                 str(pipeline.steps["ordered"].options["policy"]), time.monotonic() - began)


def _spark(pipeline: Pipeline, folder: Path) -> tuple[Any, Any, Any, Callable[[Any], str]]:
    try:
        from slackwater.spark.plain import PlainQueries
        from slackwater.spark.run import open_for, run_pipeline
    except ImportError as error:
        raise ConfigError("Spark is not installed", step="demo", got=str(error),
                          hint="pip install 'slackwater[spark]'") from None
    session = open_for(pipeline, log=folder / "spark.log")
    queries = PlainQueries(session, folder / "feed", folder / "plain", watermark=WATERMARK,
                           apart=_APART, within=_WITHIN, window=WINDOW)

    def counters(numbers: Any) -> str:
        rows = numbers.summary()
        return (f"{rows['plant']['ready']:,} rows in, {rows['ordered']['ready']:,} in order, "
                f"{rows['means']['ready']:,} windows, {rows['leaks']['ready']:,} leaks")

    return session, queries, run_pipeline, counters


class _Alone:
    """Spark's own queries, under way."""

    def __init__(self, queries: Any, plant: Plant) -> None:
        self._ends = plant.batch_ends()
        self.found: dict[str, list[tuple[int, dict[str, Any]]]] = {
            "means": [], "leaks": [], "heard": []}
        self._running = queries.start(self._take)

    def _take(self, name: str, batch: int, rows: list[dict[str, Any]]) -> None:
        known = self._ends[min(batch, len(self._ends) - 1)]
        self.found[name] += [(known, row) for row in rows]

    def progress(self) -> str:
        """How far the slowest is."""
        done = [(query.lastProgress or {"batchId": -1})["batchId"] + 1 for query in self._running]
        return f"Spark alone: micro-batch {min(*done, len(self._ends))} of {len(self._ends)}"

    def wait(self, say: Callable[[str], None]) -> None:
        """Until all have ended; raises what stopped one."""
        while any(query.isActive for query in self._running):
            say(self.progress())
            time.sleep(0.2)
        for query in self._running:
            query.awaitTermination()


def _written(out: Path, plant: Plant) -> Given:
    """What is in the sinks; a result was known when its micro-batch could be started."""
    ends = plant.batch_ends()
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for name in ("means", "leaks", "heard"):
        found[name] = []
        for file in sorted((out / name).glob("batch_id=*/part-*")):
            known = ends[min(int(file.parent.name.partition("=")[2]), len(ends) - 1)]
            for line in file.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                found[name].append((known, {
                    key: _micros(value) if key in _TIMES else value for key, value in row.items()}))
    return found


def _micros(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def _write_feed(plant: Plant, folder: Path) -> None:
    folder.mkdir(parents=True)
    for number, rows in enumerate(plant.files()):
        file = folder / f"{number:04}.parquet"
        pq.write_table(rows, file)
        os.utime(file, (1_700_000_000 + number,) * 2)  # Spark takes the oldest file first


def _clear(folder: Path) -> None:
    """Remove what a demo makes, and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("feed", "out", "plain", ".slackwater"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "run.jsonl").unlink(missing_ok=True)


@contextmanager
def _compiling() -> Iterator[None]:
    """Meanwhile, what is not compiled yet is: Spark's start leaves half of two cores idle."""
    started = [subprocess.Popen([sys.executable, "-m", "slackwater.warm", *names],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for names in KERNELS]
    try:
        yield
    finally:
        for one in started:
            one.terminate()
            one.wait()
