"""What running queries say of themselves: rows dropped by the watermark, and what would keep them.

Enters: progress reports of Structured Streaming, live, as JSON lines, or in a Spark event log.
Leaves: numbers per query.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from slackwater.core.errors import DataError
from slackwater.core.html import html_pairs

__all__ = ["Batch", "Progress", "QueryNumbers", "read_progress"]

_CODECS = {".zstd": "zstd", ".zst": "zstd", ".gz": "gzip", ".lz4": "lz4"}


@dataclass(frozen=True)
class Batch:
    """One micro-batch; times in milliseconds, None where it had no row with one."""

    number: int
    rows: int
    dropped: int
    least: int | None
    greatest: int | None
    watermark: int | None
    end: int


@dataclass(frozen=True)
class _Earlier:
    """The sum of micro-batches that are no longer kept one by one."""

    batches: int = 0
    rows: int = 0
    dropped: int = 0
    lag_sum: float = 0.0
    lags: int = 0
    delay: int | None = None
    greatest: tuple[int | None, int | None] = (None, None)
    needs: Mapping[int, int] = field(default_factory=dict)


@dataclass
class QueryNumbers:
    """What a query has said.

    `dropped` are the rows that its stateful operators dropped.  Behind a partial aggregation Spark
    counts groups instead of rows there, so a window's count is a lower bound.
    """

    name: str
    batches: dict[int, Batch] = field(default_factory=dict)
    _earlier: _Earlier = field(default_factory=_Earlier, repr=False)

    @property
    def count(self) -> int:
        """Micro-batches."""
        return self._earlier.batches + len(self.batches)

    @property
    def rows(self) -> int:
        """Rows read."""
        return self._earlier.rows + sum(batch.rows for batch in self.batches.values())

    @property
    def dropped(self) -> int:
        """Rows dropped because they were behind the watermark."""
        return self._earlier.dropped + sum(batch.dropped for batch in self.batches.values())

    @property
    def loss(self) -> float:
        """The share of the rows that was dropped."""
        return self.dropped / self.rows if self.rows else 0.0

    @property
    def delay_ms(self) -> int | None:
        """The query's own ``withWatermark`` delay, worked out from its watermarks; None: none."""
        found = [] if self._earlier.delay is None else [self._earlier.delay]
        for greatest, batch in zip(self._greatest()[1:], self._in_order(), strict=False):
            if greatest is not None and batch.watermark:
                found.append(greatest - batch.watermark)
        return max(found, default=None)

    @property
    def lag_ms(self) -> float | None:
        """How far the watermark is behind the clock, on average: how long results take."""
        total, count = self._lags()
        return total / count if count else None

    def needs(self) -> list[tuple[int, int]]:
        """For each micro-batch with rows the least delay that keeps them all, and their number."""
        found = list(self._earlier.needs.items())
        # what rows are judged by is two micro-batches old
        for before, batch in zip(self._greatest(), self._in_order(), strict=False):
            if batch.least is not None:
                need = 0 if before is None else max(before - batch.least + 1, 0)
                found.append((need, batch.rows))
        return found

    def least_delay(self, loss: float) -> int:
        """The smallest delay that certainly drops no more than that share of the rows.

        Only the oldest row of each micro-batch is known, so a smaller one may do as well.
        """
        may_go = int(loss * self.rows)
        needs = sorted(self.needs(), reverse=True)
        for need, rows in needs:
            may_go -= rows
            if may_go < 0:
                return need
        return 0

    def bound(self, most: int) -> None:
        """Sum up all but the latest `most` micro-batches, once there are twice as many.

        A listener hears a query for months.  All numbers stay exact, but that the delays which
        earlier micro-batches needed are rounded up, by less than one in a hundred.
        """
        if len(self.batches) < 2 * most:
            return
        ordered = self._in_order()
        old = QueryNumbers(self.name, {one.number: one for one in ordered[:-most]}, self._earlier)
        self.batches = {one.number: one for one in ordered[-most:]}
        needs: Counter[int] = Counter()
        for need, rows in old.needs():
            needs[_rounded_up(need)] += rows
        latest = old._greatest()
        self._earlier = _Earlier(old.count, old.rows, old.dropped, *old._lags(), old.delay_ms,
                                 (latest[-2], latest[-1]), needs)

    def line(self) -> str:
        """One line for a log."""
        read = f"{self.name}: {self.rows:,} rows in {self.count:,} micro-batches"
        if self.delay_ms is None and not self.dropped:
            return f"{read}, no watermark yet"
        delay = "delay unknown" if self.delay_ms is None else f"delay {self.delay_ms / 1000:g} s"
        lag = "" if self.lag_ms is None else f", results {self.lag_ms / 1000:.1f} s behind"
        return (f"{read}, {self.dropped:,} dropped by the watermark ({100 * self.loss:.4g} %), "
                f"{delay}, a delay of {self.least_delay(0) / 1000:g} s would have kept all{lag}")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"query": self.name, "rows": self.rows, "batches": self.count,
                "dropped": self.dropped, "loss": round(self.loss, 8), "delay_ms": self.delay_ms,
                "lag_ms": self.lag_ms, "keeps_all_ms": self.least_delay(0)}

    def _repr_html_(self) -> str:
        return html_pairs(self.name, self.to_dict())

    def _in_order(self) -> list[Batch]:
        return [self.batches[number] for number in sorted(self.batches)]

    def _lags(self) -> tuple[float, int]:
        """Sum and number of the watermark's lags."""
        lags = [batch.end - batch.watermark for batch in self.batches.values() if batch.watermark]
        return self._earlier.lag_sum + sum(lags), self._earlier.lags + len(lags)

    def _greatest(self) -> list[int | None]:
        """The greatest time up to each micro-batch, in order, with those two before in front."""
        found = list(self._earlier.greatest)
        for batch in self._in_order():
            known = [t for t in (found[-1], batch.greatest) if t is not None]
            found.append(max(known, default=None))
        return found


def _rounded_up(need: int) -> int:
    """To 128 steps per doubling.

    >>> _rounded_up(100), _rounded_up(1000), _rounded_up(1001), _rounded_up(123_456)
    (100, 1000, 1004, 123904)
    """
    step = 1 << max(need.bit_length() - 8, 0)
    return -(-need // step) * step


class Progress:
    """The numbers of all queries, by their ids, as their reports come in."""

    def __init__(self) -> None:
        self.queries: dict[str, QueryNumbers] = {}

    def add(self, report: Mapping[str, Any]) -> QueryNumbers:
        """Take one progress report; one that comes again counts once."""
        mine = self.queries.setdefault(
            str(report["id"]), QueryNumbers(report.get("name") or str(report["id"])[:8]))
        times = report.get("eventTime") or {}
        rows = report.get("numInputRows")
        if rows is None:  # an event log leaves it out
            rows = sum(source.get("numInputRows", 0) for source in report.get("sources", ()))
        took = (report.get("durationMs") or {}).get("triggerExecution", 0)
        batch = Batch(
            int(report["batchId"]), int(rows),
            sum(op.get("numRowsDroppedByWatermark", 0) for op in report.get("stateOperators", ())),
            _ms(times.get("min")), _ms(times.get("max")), _ms(times.get("watermark")),
            (_ms(report["timestamp"]) or 0) + int(took))
        old = mine.batches.get(batch.number)
        # a query that waits repeats its last number, without rows
        if old is None or batch.rows or not old.rows:
            mine.batches[batch.number] = batch
        return mine


def read_progress(path: Path | str) -> Progress:
    """Read progress reports from a file, or a Spark event log (a file or its folder).

    A file has one report per line, or all in a JSON array; ``json.dumps(query.recentProgress)`` and
    lines of ``progress.json`` do.
    """
    path, found = Path(path), Progress()
    files = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith(".")
                   ) if path.is_dir() else [path]
    for file in files:
        for report in _reports(file):
            found.add(report)
    if not found.queries:
        raise DataError("there is no progress report of a streaming query", step=f"reading {path}",
                        expected="progress JSON or a Spark event log",
                        hint="spark.eventLog.enabled=true, or query.recentProgress")
    return found


def _reports(file: Path) -> Iterator[dict[str, Any]]:
    try:
        with pa.input_stream(str(file), compression=_CODECS.get(file.suffix)) as stream:
            text = stream.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("cannot be read as text", step=f"reading {file.name}",
                        got=str(error)) from None
    if text.lstrip().startswith("["):
        yield from _objects(json.loads(text))
        return
    for line in text.splitlines():
        # an event log is mostly about other things; those lines need not be parsed
        if '"batchId"' in line:
            try:
                yield from _objects([json.loads(line)])
            except json.JSONDecodeError:
                continue  # the last line of a log that is still being written


def _objects(values: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for value in values:
        inner = value.get("progress", value) if isinstance(value, dict) else None
        if isinstance(inner, dict) and "batchId" in inner and "id" in inner:
            yield inner


def _ms(text: str | None) -> int | None:
    if text is None:
        return None
    return round(1000 * datetime.fromisoformat(text).timestamp())
