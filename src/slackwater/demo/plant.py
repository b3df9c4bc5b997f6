"""A compressed-air plant: what happens in it, what its radio nodes report, and when that arrives.

Each line has three nodes.  ``in`` reports the pressure at the inlet and the strokes of the valve,
``out`` the pressure at the outlet and every sudden drop of it, ``mic`` the noise level and every
hiss.  A node delivers in order, but with delays of its own, stalls now and then and then sends all
that it held at once; its clock is off, and drifts.  Everything follows from a seed, so the truth is
known: which drops were leaks, which hiss was whose, and in which windows a line leaked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

__all__ = ["LINES", "WINDOW", "Plant", "make_plant"]

LINES = tuple("ABCDEFGH")
WINDOW = 10
"""Seconds of a window."""
_START = int(datetime(2024, 5, 6, 8, tzinfo=UTC).timestamp())
_STAMP = pa.timestamp("us", "UTC")
_READ_EVERY = {"in": 0.1, "out": 0.1, "mic": 0.5}  # seconds
_RESET_EVERY = 45.0  # seconds between two settings of a microphone's clock
_DRIFT = 0.012       # at most so many seconds does that clock lose or gain in a second
_EXACT = 0.01        # seconds: what is said of the other clocks


@dataclass(frozen=True)
class Plant:
    """What was reported, in arrival order, and what was true.

    Parameters
    ----------
    table
        The rows as they arrived.
    seconds, batch
        How long the plant runs, and how many seconds of arrivals make a micro-batch.
    leaking
        (line, start of the window) where a line lost air throughout the window.
    leaks
        (line, time of the drop) where the pressure fell although the valve was shut.
    pairs
        (line, time of the drop, time of the hiss) that belong together.
    counts
        Readings by (line, start of the window).
    """

    table: pa.Table
    seconds: int
    batch: int
    leaking: set[tuple[str, int]]
    leaks: set[tuple[str, int]]
    pairs: set[tuple[str, int, int]]
    counts: dict[tuple[str, int], int]

    @property
    def judged_until(self) -> int:
        """Results about events up to here count: later ones may be cut off by the end."""
        return (_START + self.seconds - 25) * 1_000_000

    def files(self) -> Iterator[pa.Table]:
        """The rows of each micro-batch."""
        batch = self._micros("received") // (self.batch * 1_000_000)
        for number in range(int(batch[0]), int(batch[-1]) + 1):
            yield self.table.filter(pa.array(batch == number))

    def batch_ends(self) -> list[int]:
        """When each micro-batch could be started at the earliest: its last row is there."""
        return [int(_micros(rows["received"]).max()) for rows in self.files()]

    def _micros(self, name: str) -> np.ndarray:
        return _micros(self.table[name])


@dataclass
class _Rows:
    """Rows of one node, in the order in which it sends them."""

    true: list[float] = field(default_factory=list)
    what: list[str] = field(default_factory=list)
    bar: list[float | None] = field(default_factory=list)

    def add(self, true: float, what: str, bar: float | None = None) -> None:
        self.true.append(true)
        self.what.append(what)
        self.bar.append(bar)


def make_plant(seconds: int = 120, batch: int = 6, seed: int = 16) -> Plant:
    """Run the plant.

    Parameters
    ----------
    seconds, batch
        As in `Plant`.
    seed
        Of everything random.

    Examples
    --------
    >>> plant = make_plant(seconds=60)
    >>> plant.table.column_names
    ['time', 'received', 'line', 'node', 'what', 'inlet', 'outlet', 'time_min', 'time_max']
    >>> plant.table.equals(make_plant(seconds=60).table)
    True
    """
    rng = np.random.default_rng(seed)
    tables, leaking, leaks, pairs = [], set(), set(), set()
    for number, line in enumerate(LINES):
        begin = 10 * rng.integers(3, max((seconds - 60) // 10, 4))
        leaking_at = range(int(begin), int(begin) + 30, WINDOW)
        leaking |= {(line, (_START + at) * 1_000_000) for at in leaking_at}
        nodes, found, heard = _happens(number, seconds, leaking_at, rng)
        stamps = {}
        for node, rows in nodes.items():
            table, stamp = _reported(line, node, rows, seconds, rng)
            tables.append(table)
            stamps[node] = dict(zip(rows.true, stamp, strict=True))
        leaks |= {(line, stamps["out"][at]) for at in found}
        pairs |= {(line, stamps["out"][drop], stamps["mic"][hiss]) for drop, hiss in heard}
    table = pa.concat_tables(tables).sort_by("received")
    return Plant(table, seconds, batch, leaking, leaks, pairs, _counted(table))


def _happens(number: int, seconds: int, leaking: range, rng: np.random.Generator,
             ) -> tuple[dict[str, _Rows], list[float], list[tuple[float, float]]]:
    """What a line's nodes notice; the drops that are leaks; drops with the hiss that they made."""
    events: list[tuple[str, float, str]] = []
    found: list[float] = []
    heard: list[tuple[float, float]] = []
    at = 2.0 + number
    while at < seconds - 12:
        shut = at
        events.append(("in", shut, "CLOSED"))
        opened = shut + rng.uniform(2, 5)
        if rng.random() < 0.35:  # the valve is shut, and yet the pressure falls
            drop = opened
            opened = drop + rng.uniform(2, 4)
            found.append(drop)
            hiss = drop + rng.uniform(0.0, 0.15)
            heard.append((drop, hiss))
            events += [("out", drop, "DROP"), ("mic", hiss, "HISS")]
        after = opened + rng.uniform(0.3, 0.8)
        events += [("in", opened, "OPEN"), ("out", after, "DROP")]
        if rng.random() < 0.5:  # tools hiss too
            events.append(("mic", after + rng.uniform(1.0, 3.0), "HISS"))
        at = after + rng.uniform(5, 8)
    for node, every in _READ_EVERY.items():
        for n in range(int(seconds / every)):
            moment = (n + 0.5) * every
            # the compressor fills the line in 20 s and then rests for 20 s
            swing = 0.8 * abs((moment + 7 * number) % 40 / 20 - 1)
            lost = 0.6 if node == "out" and leaking.start <= moment < leaking.stop else 0.02
            bar = 6.5 + swing + rng.normal(0, 0.03) - (lost if node == "out" else 0.0)
            events.append((node, moment, f"{bar:.3f}"))
    nodes = {node: _Rows() for node in _READ_EVERY}
    for node, moment, what in sorted(events, key=lambda e: e[1]):
        if what[0].isdigit():
            nodes[node].add(moment, "READING", float(what) if node != "mic" else None)
        else:
            nodes[node].add(moment, what)
    return nodes, found, heard


def _reported(line: str, node: str, rows: _Rows, seconds: int, rng: np.random.Generator,
              ) -> tuple[pa.Table, list[int]]:
    """A node's rows as they arrive, and the time that its clock gave each."""
    true = np.array(rows.true)
    if node == "mic":
        # it knows for how long its clock has not been set, and how much that may have cost
        since = (true + rng.uniform(0, _RESET_EVERY)) % _RESET_EVERY
        period = np.cumsum(np.diff(since, prepend=since[0]) < 0)
        rate = rng.uniform(-1, 1, period[-1] + 1)[period] * _DRIFT
        error, unsure = rate * since, _EXACT + _DRIFT * since
    else:
        error, unsure = np.full(len(true), rng.uniform(-_EXACT, _EXACT)), np.full(len(true), _EXACT)
    stamp = np.rint((true + error + _START) * 1e6).astype(np.int64)
    unsure_us = np.rint(unsure * 1e6).astype(np.int64)
    arrival = true + rng.lognormal(np.log(0.12), 0.6, len(true))
    for _ in range(rng.poisson(seconds / 170)):
        begin = rng.uniform(10, seconds - 40)
        end = begin + rng.uniform(4, 20)
        stuck = np.flatnonzero((arrival >= begin) & (arrival < end))
        arrival[stuck] = end + 0.002 * np.arange(len(stuck))
    arrival = np.maximum.accumulate(arrival)  # one connection keeps the order
    bar = pa.array(rows.bar, pa.float64())
    none = pa.nulls(len(true), pa.float64())
    return pa.table({
        "time": _stamps(stamp),
        "received": _stamps(np.rint((arrival + _START) * 1e6).astype(np.int64)),
        "line": [line] * len(true), "node": [f"{line}-{node}"] * len(true), "what": rows.what,
        "inlet": bar if node == "in" else none, "outlet": bar if node == "out" else none,
        "time_min": _stamps(stamp - unsure_us), "time_max": _stamps(stamp + unsure_us),
    }), [int(s) for s in stamp]


def _counted(table: pa.Table) -> dict[tuple[str, int], int]:
    width = WINDOW * 1_000_000
    start = _micros(table["time"]) // width * width
    counts = table.select(["line"]).append_column("start", pa.array(start)).group_by(
        ["line", "start"]).aggregate([([], "count_all")])
    return {(row["line"], row["start"]): row["count_all"] for row in counts.to_pylist()}


def _stamps(us: np.ndarray) -> pa.Array:
    return pa.array(us, pa.int64()).cast(_STAMP)


def _micros(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.cast(pa.int64()).to_numpy())
