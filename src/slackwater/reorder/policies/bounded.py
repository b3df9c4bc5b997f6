"""Flink's bounded out-of-orderness: the greatest time seen less a constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration
from slackwater.core.events import NEVER
from slackwater.core.kernel import Store
from slackwater.core.state.pages import Pages
from slackwater.reorder.estimator import Float64, GroupEstimator, Int64, Seen
from slackwater.reorder.policy import Policy, durations

__all__ = ["BoundedOutOfOrderness"]

_GROUP = np.dtype([("top", np.int64), ("seen", np.int64)])


@dataclass(frozen=True)
class BoundedOutOfOrderness(Policy):
    """Release what is older than the greatest time seen so far by `disorder` and a millisecond.

    The watermark of Flink's ``forBoundedOutOfOrderness``, for users who come from there.  It looks
    at the events' times alone: without new events nothing moves, whatever the clock says, unless
    `idleness` is given.  Then a key that has been silent for so long lets go of what it holds.

    Parameters
    ----------
    disorder
        How far events may be out of order (Flink's ``maxOutOfOrderness``).
    idleness
        After so long without an event a key is idle; None: it waits for ever.

    Examples
    --------
    >>> print(BoundedOutOfOrderness("2s"))
    BoundedOutOfOrderness(disorder='2s', idleness=None)
    """

    disorder: Duration = "5s"
    idleness: Duration | None = None

    def __post_init__(self) -> None:
        durations(self, "disorder")
        if self.idleness is not None:
            durations(self, "idleness")

    def estimator(self, store: Store, *, literal: bool = False) -> BoundedEstimator:
        """Start afresh."""
        return BoundedEstimator(self, store)


class BoundedEstimator(GroupEstimator):
    """`BoundedOutOfOrderness` for any number of groups; `buffers` are clock less threshold."""

    def __init__(self, policy: BoundedOutOfOrderness, store: Store) -> None:
        fresh = np.zeros((), _GROUP)
        fresh["top"] = fresh["seen"] = NEVER
        super().__init__(Pages("bounded", {"of": fresh}, store))
        self._less = int(policy.disorder) + 1000  # type: ignore[arg-type]
        self._idleness = -1 if policy.idleness is None else int(policy.idleness)  # type: ignore[arg-type]

    @property
    def last_thresholds(self) -> Int64:
        """Of the last batch, for `slackwater evaluate`: they are not arrivals less a buffer."""
        return self.threshold

    def look(self, seen: Seen) -> Int64:
        """The thresholds themselves."""
        self._groups.touch(seen.group)
        self.threshold, self.buffers = np.empty(len(seen), np.int64), np.empty(len(seen))
        _follow(seen.time, seen.arrival, seen.group, self._groups["of"], self._less,
                self._idleness, self.threshold, self.buffers)
        return self.threshold

    def thresholds(self, groups: Int64, now: Int64) -> Int64:
        """Nothing moves by time alone, but idle keys let go."""
        self._groups.need(groups)
        of = self._groups["of"][groups]
        known = of["top"] != NEVER
        reached = np.where(known, of["top"] - np.where(known, self._less, 0), NEVER)
        if self._idleness >= 0:
            idle = known & (now - np.where(known, of["seen"], 0) >= self._idleness)
            reached = np.where(idle, of["top"], reached)
        return reached


@njit(cache=True)
def _follow(time: Int64, arrival: Int64, group: Int64, of: Any, less: int, idleness: int,
            threshold: Int64, after: Float64) -> None:
    for j in range(len(time)):
        g = of[group[j]]
        threshold[j] = NEVER
        if g.top != NEVER:
            idle = idleness >= 0 and arrival[j] - g.seen >= idleness
            threshold[j] = g.top if idle else g.top - less
        g.top, g.seen = max(g.top, time[j]), max(g.seen, arrival[j])
        after[j] = float(arrival[j] - (g.top - less))
