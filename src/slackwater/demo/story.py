"""Run it: Spark alone and Slackwater on one feed, one after the other, in one session."""

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
from slackwater.demo.warm import TOGETHER
from slackwater.pipeline import Pipeline, load

__all__ = ["WATERMARK", "Story", "demo_pipeline", "run_demo"]

WATERMARK = "2 seconds"
"""What is guessed for Spark alone: more than twice what 95 of 100 rows take."""
_APART, _WITHIN = "150 milliseconds", 8  # as the pipeline file says
_TIMES = ("start", "fell", "hissed", "shut")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Story:
    """What both made of the plant.

    Parameters
    ----------
    plant
        The feed and its truth.
    plain, ours
        The results of Spark alone and of Slackwater.
    late
        Rows that Slackwater handed over as late.
    seconds
        How long all of it took.
    """

    plant: Plant
    plain: Given
    ours: Given
    late: int
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
    """All of it, in about a minute.

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
    with _compiling(folder):
        say("starting Spark")
        session, plain_queries, run_pipeline, counters = _spark(pipeline, folder)
        try:
            plain = _run_plain(plain_queries, plant, say)
            say("Slackwater: planning")
            numbers = run_pipeline(
                pipeline, session, until_done=True, warn=lambda words: None,
                each=lambda numbers: say(f"Slackwater: {counters(numbers)}"))
        finally:
            session.stop()
    return Story(plant, plain, _written(folder / "out", plant),
                 int(numbers.summary()["ordered"]["late"]), time.monotonic() - began)


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


def _run_plain(queries: Any, plant: Plant, say: Callable[[str], None]) -> Given:
    ends = plant.batch_ends()
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {"means": [], "leaks": [], "heard": []}

    def take(name: str, batch: int, rows: list[dict[str, Any]]) -> None:
        found[name] += [(ends[min(batch, len(ends) - 1)], row) for row in rows]

    running = queries.start(take)
    while any(query.isActive for query in running):
        done = [(query.lastProgress or {"batchId": -1})["batchId"] + 1 for query in running]
        say(f"Spark alone: micro-batch {min(*done, len(ends))} of {len(ends)}")
        time.sleep(0.5)
    for query in running:
        query.awaitTermination()  # raises what stopped it
    return found


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
def _compiling(folder: Path) -> Iterator[None]:
    """Meanwhile, the loops are compiled: Spark's start leaves half of two cores idle."""
    started = [subprocess.Popen([sys.executable, "-m", "slackwater.demo.warm", str(folder),
                                 *names],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for names in TOGETHER]
    try:
        yield
    finally:
        for one in started:
            one.terminate()
            one.wait()
