"""The experiments of the paper on time synchronisation with binary trees: table I, figures 4 to 6.

`sync-table1` repeats the example of figure 2.  The figure's arrival order is partly lost; the one
used here gives the tree of figure 3, event 4 arrives ninth, and processing by method 1 begins with
event 9, as the text says.  The paper's lists hold everything until then; ours let go at once what
may leave, so for this table they are made to wait by a silent fifth source.  The tree then sets 17
bits, the indexed list 39, and the linked list compares 37 times, as printed; the other counts
differ by what the paper leaves open (where a bisection stops, what else counts as a comparison).

`sync-fig4` and `sync-fig5` (10 000 events, no delay, equal throughput): with n streams an event
waits for the n − 1 others, so the tree holds n events in arrival order, which for streams in step
is one long right spine: visited nodes grow linearly with n.  The balanced tree visits log n.

A step at each multiple of 64 streams: a readiness table grows by one 64-bit word there, which the
paper sees as a jump in processor time.  Visited nodes cannot show it, and here time hardly does: a
table is read word by word only until the first word that is not ready, which for a waiting event
is nearly always an early one, and a bit is set in one word however many there are.  What remains
is the writing of a new node's table: one word more per event at each multiple, against a walk over
n nodes.  The sweep has points on both sides of the multiples, so that a step would be seen.  (The
small drop after 256 streams is not of the methods: the notes of a call then no longer list every
source, only those that are not well.)

`sync-fig6` delays the first two of up to 256 streams: the tree's depth, and with it the time, is
ruled by the greatest delay.  In the paper method 2 costs more than method 1, for its mask; here the
mask is a few words that are only read where the walk turns left, and the two cost about the same.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.synchronise import (
    FrontierSync,
    IndexedListSync,
    LinkedListSync,
    MergedTreeSync,
    RedBlackSync,
    Synchroniser,
    TreeSync,
)
from slackwater.synchronise.structure import ClassicLogic

__all__ = ["EXPERIMENTS", "Streams"]

_START = 1_700_000_000_000_000
_ROLES = Roles("time", "arrival", source="source", unit="us")
_LABELS: dict[type[Synchroniser], str] = {
    TreeSync: "method 1", MergedTreeSync: "method 2", RedBlackSync: "method 2, red-black",
    FrontierSync: "FrontierSync"}
_STYLE = {"method 1": ("tab:blue", "-"), "method 2": ("tab:red", "-"),
          "method 2, red-black": ("tab:green", "-"), "FrontierSync": ("black", "--")}
_FIG2 = (6, 0, 10, 12, 3, 5, 1, 2, 4, 7, 8, 9)
_FIG2_SOURCE = {6: "1", 7: "1", 11: "1", 0: "2", 1: "2", 2: "2", 4: "2", 9: "2", 3: "3", 5: "3",
                8: "3", 10: "4", 12: "4"}
_PRINTED = {IndexedListSync: (25, 39), LinkedListSync: (37, 37), TreeSync: (30, 17)}


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
        at, source = _START + at[first], source[first]
        order = np.argsort(at + delay[source], kind="stable")
        return pa.record_batch({
            "time": at[order], "arrival": (at + delay[source])[order],
            "source": pa.array(source[order]).cast(pa.string())})


def _measure(method: type[Synchroniser], streams: Streams, repeats: int) -> tuple[float, int]:
    """Processor seconds for the events (the best of some runs), and nodes visited."""
    config = method(_ROLES, sources=streams.names, max_delay=None)
    batch, best, visited = streams.batch(), float("inf"), 0
    for _ in range(repeats):
        logic = config.start()
        begin = time.process_time()
        logic.push(batch)
        best = min(best, time.process_time() - begin)
        visited = logic.counters["visited"] if isinstance(logic, ClassicLogic) else 0
    return best, visited


def table1(out: Path, quick: bool) -> list[Path]:
    """Comparisons and updates of the methods for the example of figure 2."""
    batch = pa.record_batch({"time": [_START + t for t in _FIG2],
                             "arrival": [_START + 100 + i for i in range(len(_FIG2))],
                             "source": [_FIG2_SOURCE[t] for t in _FIG2]})
    rows = []
    for method in (IndexedListSync, LinkedListSync, TreeSync, MergedTreeSync, RedBlackSync):
        silent = ("5",) if method in (IndexedListSync, LinkedListSync) else ()
        logic = method(_ROLES, sources=("1", "2", "3", "4", *silent), max_delay=None).start()
        logic.push(batch)
        assert isinstance(logic, ClassicLogic)
        count = logic.counters
        printed = _PRINTED.get(method, ("", ""))
        rows.append([method.__name__, count["comparisons"], count["updates"], count["visited"],
                     *printed])
    head = ["method", "comparisons", "updates", "visited", "paper_comparisons", "paper_updates"]
    path = _csv(out / "sync-table1.csv", head, rows)
    figure = Figure(figsize=(7, 3.4), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, column, title in zip(axes, (1, 2), ("comparisons", "updates"), strict=True):
        at = np.arange(len(rows))
        axis.barh(at - 0.2, [r[column] for r in rows], 0.4, label="here", color="tab:blue")
        known = [(i, r[column + 3]) for i, r in enumerate(rows) if r[column + 3] != ""]
        axis.barh([i + 0.2 for i, _ in known], [v for _, v in known], 0.4, label="paper",
                  color="lightgray")
        axis.set_yticks(at, [r[0] for r in rows])
        axis.invert_yaxis()
        axis.set_xlabel(title)
    axes[1].set_yticklabels([])
    axes[1].legend(frameon=False)
    return [path, _png(figure, out / "sync-table1.png")]


def _sweep(quick: bool) -> list[int]:
    if quick:
        return [1, 8, 63, 64, 65, 128]
    around = [m + d for m in (64, 128, 192, 256, 512, 1024) for d in (-1, 0, 1)]
    return sorted({1, 2, 4, 8, 16, 32, 48, 96, 160, 224, 320, 384, 448, 640, 768, 896, 1280, 1500,
                   *around})


def _by_streams(quick: bool) -> list[tuple[str, int, float, int]]:
    events = 1_000 if quick else 10_000
    rows = []
    for method, label in _LABELS.items():
        _measure(method, Streams(2, 10), 1)  # compile
        for n in _sweep(quick):
            seconds, visited = _measure(method, Streams(n, events), 1 if quick else 3)
            rows.append((label, n, seconds, visited))
    return rows


def figure4(out: Path, quick: bool) -> list[Path]:
    """Processing time against the number of data streams."""
    rows = _by_streams(quick)
    path = _csv(out / "sync-fig4.csv", ["method", "streams", "seconds", "visited"], rows)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axis = figure.subplots()
    _lines(axis, [(m, n, 1e3 * s) for m, n, s, _ in rows])
    for m in range(64, max(n for _, n, _, _ in rows) + 1, 64):
        axis.axvline(m, color="gray", lw=0.4, alpha=0.4, zorder=0)
    axis.set(xlabel="data streams (thin lines: multiples of 64)", ylabel="processor time (ms)",
             yscale="log")
    axis.legend(frameon=False)
    return [path, _png(figure, out / "sync-fig4.png")]


def figure5(out: Path, quick: bool) -> list[Path]:
    """Visited nodes against the number of data streams."""
    rows = [row for row in _by_streams(quick) if row[0] != "FrontierSync"]
    path = _csv(out / "sync-fig5.csv", ["method", "streams", "visited"],
                [(m, n, v) for m, n, _, v in rows])
    figure = Figure(figsize=(7, 4), layout="constrained")
    axis = figure.subplots()
    _lines(axis, [(m, n, v) for m, n, _, v in rows])
    axis.set(xlabel="data streams", ylabel="visited nodes", xscale="log", yscale="log")
    axis.legend(frameon=False)
    return [path, _png(figure, out / "sync-fig5.png")]


def figure6(out: Path, quick: bool) -> list[Path]:
    """Processing time when the first two streams are delayed."""
    events = 1_000 if quick else 10_000
    counts = [4, 16] if quick else [2, 4, 8, 16, 32, 63, 64, 65, 96, 128, 160, 192, 224, 256]
    delays = ((0, 0), (100_000, 50_000), (300_000, 100_000))
    rows = []
    for method, label in _LABELS.items():
        _measure(method, Streams(2, 10), 1)
        for delay in delays:
            for n in counts:
                seconds, _ = _measure(method, Streams(n, events, delay=delay), 1 if quick else 3)
                rows.append((label, delay[0] // 1000, delay[1] // 1000, n, seconds))
    path = _csv(out / "sync-fig6.csv",
                ["method", "delay1_ms", "delay2_ms", "streams", "seconds"], rows)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, len(delays), sharey=True)
    for axis, (one, two) in zip(axes, delays, strict=True):
        _lines(axis, [(m, n, 1e3 * s) for m, a, b, n, s in rows
                      if (a, b) == (one // 1000, two // 1000)])
        axis.set(title=f"delays {one // 1000} ms, {two // 1000} ms", xlabel="data streams",
                 yscale="log")
    axes[0].set_ylabel("processor time (ms)")
    axes[0].legend(frameon=False)
    return [path, _png(figure, out / "sync-fig6.png")]


def _lines(axis: Axes, points: Sequence[tuple[str, int, float]]) -> None:
    for label, (colour, dash) in _STYLE.items():
        mine = [(x, y) for m, x, y in points if m == label]
        if mine:
            axis.plot(*zip(*mine, strict=True), dash, color=colour, marker=".", ms=4, lw=1.2,
                      label=label)
    axis.grid(alpha=0.2)
    axis.spines[["top", "right"]].set_visible(False)


def _csv(path: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)
    return path


def _png(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=200)
    return path


EXPERIMENTS: dict[str, Callable[[Path, bool], list[Path]]] = {
    "sync-table1": table1, "sync-fig4": figure4, "sync-fig5": figure5, "sync-fig6": figure6}
