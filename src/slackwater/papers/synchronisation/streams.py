"""The paper's generator, and the methods as they are measured over its streams."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.evaluate import pictures
from slackwater.synchronise import (
    FrontierSync,
    MergedTreeSync,
    RedBlackSync,
    Synchroniser,
    TreeSync,
)
from slackwater.synchronise.structure import ClassicLogic

__all__ = ["METHODS", "ROLES", "START", "Streams", "draw_methods", "measure"]

START = 1_700_000_000_000_000
ROLES = Roles("time", "arrival", source="source", unit="us")
METHODS: dict[str, type[Synchroniser]] = {
    "method 1": TreeSync, "method 2": MergedTreeSync, "method 2, red-black": RedBlackSync,
    "FrontierSync": FrontierSync}
"""What is compared, by the name that the legends use."""


@dataclass(frozen=True)
class Streams:
    """The paper's generator: streams in step, some delayed, some faster than others.

    Parameters
    ----------
    streams
        How many data streams.
    events
        How many events in all.
    interval
        Microseconds between two events of a stream of throughput 1.
    delay
        Transport delay in microseconds of stream 0, 1, …; streams beyond the list have none.
    throughput
        Relative throughput of stream 0, 1, …; streams beyond the list have 1.

    Examples
    --------
    >>> batch = Streams(2, 4, interval=10, delay=(15,)).batch()
    >>> [(t % 100, s) for t, s in zip(batch["time"].to_pylist(), batch["source"].to_pylist())]
    [(5, '1'), (0, '0'), (15, '1'), (10, '0')]
    """

    streams: int
    events: int = 10_000
    interval: int = 100_000
    delay: tuple[int, ...] = ()
    throughput: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.streams < 1 or self.events < 0 or self.interval < 1:
            raise ConfigError("there must be a stream, and time must pass", step="Streams",
                              got=f"{self.streams} streams, {self.events} events, "
                                  f"interval {self.interval} µs")

    @property
    def names(self) -> tuple[str, ...]:
        """The sources, for declaring them."""
        return tuple(str(s) for s in range(self.streams))

    def batch(self) -> pa.RecordBatch:
        """The events in arrival order, with columns time, arrival and source."""
        rate, delay = np.ones(self.streams), np.zeros(self.streams, np.int64)
        rate[: len(self.throughput)] = self.throughput[: self.streams]
        delay[: len(self.delay)] = self.delay[: self.streams]
        # each stream starts a little after the one before it, so that no two events coincide
        offset = np.arange(self.streams) * self.interval // self.streams
        each = np.ceil(self.events * rate / rate.sum()).astype(np.int64) + 1
        source = np.repeat(np.arange(self.streams), each)
        number = np.arange(len(source)) - np.repeat(np.cumsum(each) - each, each)
        at = offset[source] + (number * self.interval / rate[source]).astype(np.int64)
        first = np.argsort(at, kind="stable")[: self.events]
        at, source = START + at[first], source[first]
        order = np.argsort(at + delay[source], kind="stable")
        return pa.record_batch({
            "time": at[order], "arrival": (at + delay[source])[order],
            "source": pa.array(source[order]).cast(pa.string())})


def measure(method: type[Synchroniser], streams: Streams, repeats: int) -> tuple[float, int]:
    """Processor seconds for the events (the best of some runs), and nodes visited."""
    config = method(ROLES, sources=streams.names, max_delay=None)
    batch, best, visited = streams.batch(), float("inf"), 0
    for _ in range(repeats):
        logic = config.start()
        begin = time.process_time()
        logic.push(batch)
        best = min(best, time.process_time() - begin)
        visited = logic.counters["visited"] if isinstance(logic, ClassicLogic) else 0
    return best, visited


def draw_methods(axes: Axes, points: list[tuple[str, int, float]]) -> None:
    """One line per method: (method, x, y)."""
    for n, label in enumerate(METHODS):
        mine = [(x, y) for m, x, y in points if m == label]
        if mine:
            axes.plot(*zip(*mine, strict=True), label=label,
                      linestyle="--" if label == "FrontierSync" else "-", **pictures.style_of(n))
