"""Buffer time from the two greatest recent delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration
from slackwater.core.kernel import Store
from slackwater.core.state.pages import Pages
from slackwater.reorder.estimator import BufferEstimator, Float64, Int64, Seen
from slackwater.reorder.policies.recent import check_window
from slackwater.reorder.policy import DelayPolicy, durations

__all__ = ["MaxDelay", "RateMaxDelay"]


@dataclass(frozen=True)
class MaxDelay(DelayPolicy):
    """The greatest delay, brought half-way down to the next greatest after every n quiet arrivals.

    m1 is the greatest delay in force; a greater one takes its place at once.  When n arrivals have
    passed without one, m = (m1 + m2) / 2, m2 being the greatest delay among those n.  Loses little,
    but nothing ties n to the share that is lost.

    Parameters
    ----------
    n
        Arrivals from one decrease to the next (the paper's W); not fewer than arrive in a second.
    initial
        Buffer time before the first event.

    Examples
    --------
    >>> import numpy as np
    >>> policy = MaxDelay(n=2)
    >>> before, after = np.empty(4), np.empty(4)
    >>> state = np.array([policy.initial_state()], float)
    >>> policy.buffers(np.array([800e3, 100e3, 200e3, 900e3]), np.zeros(4, int), state, before,
    ...                after)
    >>> (after / 1000).tolist()
    [800.0, 800.0, 500.0, 900.0]

    References
    ----------
    Srivastava, Widom: Flexible Time Management in Data Stream Systems. PODS 2004.  As in Kim, Kim,
    Kim: Adaptive Disorder Control in Data Stream Processing. Computing and Informatics 31, 2012,
    section 2 (the adaptive method).
    """

    n: int = 10_000
    initial: Duration = "750ms"

    paper: ClassVar[str] = "ADAPTIVE"

    def __post_init__(self) -> None:
        durations(self, "initial")
        check_window(self, self.n)

    def initial_state(self) -> list[float]:
        """Buffer time, m1, m2, arrivals since the last change."""
        return [self.initial, float("-inf"), float("-inf"), 0.0]  # type: ignore[list-item]

    def buffers(self, delay: Float64, group: Int64, state: Float64, before: Float64,
                after: Float64) -> None:
        """Run the rule over a batch."""
        _run(delay, group, state, before, after, self.n)


@njit(cache=True, _nrt=False)
def _run(delay: Float64, group: Int64, state: Float64, before: Float64, after: Float64,
         n: int) -> None:
    for j in range(len(delay)):
        s = state[group[j]]
        before[j] = s[0]
        if delay[j] >= s[1]:
            s[1], s[2], s[3] = delay[j], -float("inf"), 0.0
        else:
            s[2] = max(s[2], delay[j])
            s[3] += 1
            if s[3] >= n:
                s[1] = (s[1] + s[2]) / 2
                s[2], s[3] = -float("inf"), 0.0
        after[j] = s[0] = max(s[1], 0.0)


class RateMaxDelay(BufferEstimator):
    """The rule of `MaxDelay` with W no smaller than the arrivals of the last whole second.

    Paper 4 sets W ≥ λ where it falls back on this method; λ is not known beforehand, so it is
    counted.  Numbers of a group: buffer time, m1, m2, arrivals since the last change, W, begin of
    the second being counted, arrivals in it.
    """

    def __init__(self, initial: float, store: Store) -> None:
        super().__init__(Pages("rate-max-delay", {"state": np.array(
            [initial, -np.inf, -np.inf, 0.0, np.inf, -np.inf, 0.0])}, store))

    def follow(self, seen: Seen, before: Float64, after: Float64) -> None:
        """Run the rule."""
        _run_by_rate(seen.time, seen.arrival, seen.group, self._groups["state"], before, after)

    def in_force(self, groups: Int64) -> Float64:
        """The first number of each state."""
        return np.asarray(self._groups["state"][groups, 0])


@njit(cache=True)
def _run_by_rate(time: Int64, arrival: Int64, group: Int64, state: Float64, before: Float64,
                 after: Float64) -> None:
    for j in range(len(time)):
        s = state[group[j]]
        before[j] = s[0]
        now, delay = float(arrival[j]), float(arrival[j] - time[j])
        if now - s[5] >= 1e6:
            if s[5] > -np.inf:
                s[4] = max(s[6], 1.0)
            s[5], s[6] = now, 0.0
        s[6] += 1
        if delay >= s[1]:
            s[1], s[2], s[3] = delay, -np.inf, 0.0
        else:
            s[2] = max(s[2], delay)
            s[3] += 1
            if s[3] >= s[4]:
                s[1] = (s[1] + s[2]) / 2
                s[2], s[3] = -np.inf, 0.0
        after[j] = s[0] = max(s[1], 0.0)
