"""A high percentile of recent delays, from a histogram: what managed services use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration
from slackwater.core.errors import ConfigError
from slackwater.core.events import NEVER
from slackwater.core.kernel import Store
from slackwater.core.state.pages import Pages
from slackwater.reorder.estimator import BufferEstimator, Float64, Int64, Seen
from slackwater.reorder.policy import Policy, durations

__all__ = ["Percentile"]

_PER_DOUBLING = 4   # cells of the histogram: each is 19 % wider than the one before
_CELLS = 42 * _PER_DOUBLING  # from a microsecond to 50 days
_MIN_ROWS = 250     # before so many delays, the least delay to wait is `least`
_FIELDS = np.dtype([("buffer", np.float64), ("begun", np.int64), ("rows", np.float64)])


@dataclass(frozen=True)
class Percentile(Policy):
    """Wait for a high percentile of the recent delays, within bounds.

    The watermark that managed Flink services generate from a histogram of delays, for users who
    come from there: the delays of the last `window` count in full, those of the one before by half,
    and so on.  It knows no sources, and looks at delays, not at lateness: where every event is late
    by the same time it waits for nothing but that.

    Parameters
    ----------
    loss
        The share of delays that may be longer than the buffer time: ``"5%"`` is the 95th
        percentile.
    least, most
        Bounds of the buffer time.
    window
        How long delays count in full.

    Examples
    --------
    >>> print(Percentile("1%"))
    Percentile(loss=0.01, least='50ms', most='7d', window='1h')
    """

    loss: float | str = 0.05
    least: Duration = "50ms"
    most: Duration = "7 days"
    window: Duration = "1 hour"

    bound = "loss"

    def __post_init__(self) -> None:
        from slackwater.reorder.tide.policy import as_share

        object.__setattr__(self, "loss", as_share(self.loss, step="Percentile.loss"))
        durations(self, "least", "most")
        durations(self, "window", least=1)
        if self.most < self.least:  # type: ignore[operator]
            raise ConfigError("is less than `least`", step="Percentile.most",
                              expected=f"at least {self.least} us", got=f"{self.most} us")

    def estimator(self, store: Store, *, literal: bool = False) -> PercentileEstimator:
        """Start afresh."""
        return PercentileEstimator(self, store)


class PercentileEstimator(BufferEstimator):
    """`Percentile` for any number of groups."""

    def __init__(self, policy: Percentile, store: Store) -> None:
        fresh = np.zeros((), _FIELDS)
        fresh["buffer"], fresh["begun"] = float(policy.least), NEVER  # type: ignore[arg-type]
        super().__init__(Pages("percentile", {"of": fresh, "cells": np.zeros(_CELLS)}, store))
        self._policy = policy

    def follow(self, seen: Seen, before: Float64, after: Float64) -> None:
        """Count each delay, and take the percentile again."""
        policy = self._policy
        _follow(seen.time, seen.arrival, seen.group, self._groups["of"], self._groups["cells"],
                policy.loss, float(policy.least), float(policy.most),  # type: ignore[arg-type]
                policy.window, before, after)

    def in_force(self, groups: Int64) -> Float64:
        """As last taken."""
        return np.asarray(self._groups["of"]["buffer"][groups])


@njit(cache=True)
def _follow(time: Int64, arrival: Int64, group: Int64, of: Any, cells: Float64, loss: float,
            least: float, most: float, window: int, before: Float64, after: Float64) -> None:
    for j in range(len(time)):
        g, cell = of[group[j]], cells[group[j]]
        before[j] = g.buffer
        if g.begun == NEVER:
            g.begun = arrival[j]
        while arrival[j] - g.begun >= window and g.rows > 1e-6:
            cell *= 0.5
            g.rows *= 0.5
            g.begun += window
        if arrival[j] - g.begun >= window:
            g.begun = arrival[j]
        delay = max(float(arrival[j] - time[j]), 1.0)
        at = min(int(np.log2(delay) * _PER_DOUBLING), _CELLS - 1)
        cell[at] += 1.0
        g.rows += 1.0
        if g.rows >= _MIN_ROWS:
            beyond, c = loss * g.rows, _CELLS - 1
            while c > 0 and beyond >= cell[c]:
                beyond -= cell[c]
                c -= 1
            g.buffer = min(max(2.0 ** ((c + 1) / _PER_DOUBLING), least), most)
        after[j] = g.buffer
