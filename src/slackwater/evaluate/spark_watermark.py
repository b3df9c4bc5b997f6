"""What ``withWatermark`` does with a recorded stream: Spark's own rule, without Spark.

Spark keeps the greatest event time of each micro-batch, in whole milliseconds.  In micro-batch n it
drops a row if its time is ≤ the greatest time of the micro-batches up to n − 2, less the delay: the
watermark that rows are judged by is one micro-batch behind the one that closes windows, which knows
those up to n − 1.  An interval without rows makes one micro-batch without data, if the one before
has moved the watermark.  So how much is lost depends on where the stream is cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.core.errors import ConfigError
from slackwater.evaluate.run import Events

__all__ = ["Cuts", "Fixed", "FixedWatermark", "by_count", "by_trigger"]

Int64 = NDArray[np.int64]
_NEVER = -(1 << 62)


@dataclass(frozen=True)
class Cuts:
    """How a stream is cut: the micro-batch of each row, and when each micro-batch ends.

    Micro-batches without rows that Spark would run are counted too.
    """

    of_row: Int64
    end: Int64
    words: str
    trigger: int | None = None

    def __len__(self) -> int:
        return len(self.end)


def by_trigger(arrival: Int64, trigger: int) -> Cuts:
    """One micro-batch per interval of `trigger` microseconds, as ``Trigger.ProcessingTime`` does.

    Examples
    --------
    >>> by_trigger(np.array([0, 5, 12, 45]), 10).of_row.tolist()
    [0, 0, 1, 3]
    """
    interval = arrival // trigger
    used, place = np.unique(interval, return_inverse=True)
    gap = np.concatenate([[0], (np.diff(used) > 1).astype(np.int64)])
    number = np.arange(len(used)) + np.cumsum(gap)
    end = np.zeros(int(number[-1]) + 1 if len(number) else 0, np.int64)
    end[number] = (used + 1) * trigger
    empty = number[gap > 0] - 1
    end[empty] = end[empty - 1] + trigger
    return Cuts(number[place], end, f"a micro-batch every {format_duration(trigger)}", trigger)


def by_count(arrival: Int64, batches: int) -> Cuts:
    """So many micro-batches of equally many rows, without a pause between them.

    Examples
    --------
    >>> by_count(np.array([0, 5, 12, 45]), 2).end.tolist()
    [5, 45]
    """
    if batches < 1:
        raise ConfigError("there is at least one micro-batch", step="batches", expected="≥ 1",
                          got=batches)
    parts = [part for part in np.array_split(np.arange(len(arrival)), batches) if len(part)]
    of_row = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return Cuts(of_row, np.array([arrival[part].max() for part in parts], np.int64),
                f"{len(parts):,} micro-batches of {len(parts[0]) if parts else 0:,} rows")


@dataclass(frozen=True)
class Fixed:
    """A fixed delay on a stream: rows dropped, and how long results take (milliseconds).

    `latency_ms` is from a row's time to the micro-batch that closes what it belongs to; `open` rows
    were not closed when the stream ended.
    """

    delay_ms: int
    rows: int
    dropped: int
    open: int
    latency_ms: dict[str, float | None]

    @property
    def loss(self) -> float:
        """The share of the rows that was dropped."""
        return self.dropped / self.rows if self.rows else 0.0


class FixedWatermark:
    """A stream, cut into micro-batches, under any delay.

    Examples
    --------
    >>> time = np.array([0, 10, 20, 11, 21]) * 1_000_000 + 1_700_000_000_000_000
    >>> stream = Events("tiny", time, time, np.zeros(5, int), None, None, (), 0)
    >>> marked = FixedWatermark(stream, by_count(np.arange(5), 5))
    >>> [marked.under(delay).dropped for delay in (0, 8000, 9000, 10000)]
    [0, 0, 0, 0]
    >>> marked = FixedWatermark(stream, Cuts(np.array([0, 1, 2, 4, 5]), np.arange(6), ""))
    >>> [marked.under(delay).dropped for delay in (0, 8000, 9000, 10000)]
    [1, 1, 1, 0]
    """

    def __init__(self, events: Events, cuts: Cuts) -> None:
        self.events, self.cuts = events, cuts
        greatest = np.full(len(cuts), _NEVER)
        np.maximum.at(greatest, cuts.of_row, events.time // 1000)
        self._greatest = np.maximum.accumulate(greatest) if len(greatest) else greatest

    @cached_property
    def needed_ms(self) -> Int64:
        """The least delay in milliseconds at which each row is kept; none is needed below zero."""
        known = np.concatenate([[_NEVER] * 2, self._greatest])[self.cuts.of_row]
        need = known + (-self.events.time // 1000) + 1  # −(−t // 1000): rounded up
        need = np.where(known == _NEVER, 0, np.maximum(need, 0))
        # a watermark begins in 1970, so no delay keeps a row that is older still
        return np.where(self.events.time <= 0, 1 << 62, need)

    def under(self, delay_ms: int) -> Fixed:
        """What a fixed delay does."""
        kept = self.needed_ms <= delay_ms
        closes = np.concatenate([[_NEVER], self._greatest[:-1]]) - delay_ms
        due = np.searchsorted(closes, -(-self.events.time[kept] // 1000))
        due = np.maximum(due, self.cuts.of_row[kept])
        closed = due < len(self.cuts)
        waits = self.cuts.end[due[closed]] - self.events.time[kept][closed]
        return Fixed(delay_ms, len(self.events), int((~kept).sum()), int((~closed).sum()),
                     _figures(waits))

    def least_delay(self, loss: float) -> int:
        """The smallest delay in milliseconds that drops at most that share of the rows."""
        need = np.sort(self.needed_ms)[::-1]
        return int(need[int(loss * len(need))]) if int(loss * len(need)) < len(need) else 0

    def longest_delay(self, latency_ms: float) -> int | None:
        """The longest delay with at most that mean latency; None: not even a delay of zero."""
        low, high = 0, int(self.needed_ms[self.events.time > 0].max(initial=0)) + 1
        if (self.under(low).latency_ms["mean"] or 0.0) > latency_ms:
            return None
        while low < high:
            middle = (low + high + 1) // 2
            mean = self.under(middle).latency_ms["mean"]
            if mean is not None and mean <= latency_ms:
                low = middle
            else:
                high = middle - 1
        return low

    def released_ms(self, released: Int64) -> dict[str, float | None]:
        """Latencies of rows that another rule releases: at the end of a micro-batch too.

        Slackwater lets time pass when nothing comes, so it need not wait for the next rows.
        """
        trigger = self.cuts.trigger
        ends = released if trigger is None else -(-released // trigger) * trigger
        return _figures(np.maximum(ends, self.cuts.end[self.cuts.of_row]) - self.events.time)


def _figures(waits: Int64) -> dict[str, float | None]:
    if not len(waits):
        return {"mean": None, "p50": None, "p99": None}
    p50, p99 = np.percentile(waits, (50, 99))
    return {"mean": float(waits.mean()) / 1000, "p50": float(p50) / 1000, "p99": float(p99) / 1000}
