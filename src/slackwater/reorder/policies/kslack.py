"""Buffer time from the greatest delay ever seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration
from slackwater.core.errors import ConfigError
from slackwater.core.numbers import finite_fields
from slackwater.reorder.estimator import Float64, Int64
from slackwater.reorder.policy import DelayPolicy, durations

__all__ = ["KSlack"]


@dataclass(frozen=True)
class KSlack(DelayPolicy):
    """Greatest delay so far plus λ times the standard deviation of all delays.

    Loses next to nothing, but never comes down again after one long delay.
    (The paper's equation 9 prints the variance for σ; the standard deviation is meant.)

    Parameters
    ----------
    scale
        λ.
    initial
        Buffer time before the first event.

    Examples
    --------
    >>> import numpy as np
    >>> policy = KSlack(scale=1.0)
    >>> before, after = np.empty(3), np.empty(3)
    >>> state = np.array([policy.initial_state()], float)
    >>> policy.buffers(np.array([100e3, 300e3, 200e3]), np.zeros(3, int), state, before, after)
    >>> (after / 1000).round(3).tolist()
    [100.0, 441.421, 400.0]

    References
    ----------
    Mutschler, Philippsen: Distributed Low-Latency Out-of-Order Event Processing for High Data Rate
    Sensor Streams. IPDPS 2013. As in Weiss et al. 2020, section 5.7 (KSLACK).
    """

    scale: float = 0.8
    initial: Duration = "750ms"

    paper: ClassVar[str] = "KSLACK"

    def __post_init__(self) -> None:
        durations(self, "initial")
        finite_fields(self)
        if self.scale < 0:
            raise ConfigError("would take the margin off instead of adding it",
                              step="KSlack.scale", expected="≥ 0", got=self.scale)

    def initial_state(self) -> list[float]:
        """Buffer time, count, mean, sum of squared deviations, greatest delay."""
        return [self.initial, 0.0, 0.0, 0.0, float("-inf")]  # type: ignore[list-item]

    def buffers(self, delay: Float64, group: Int64, state: Float64, before: Float64,
                after: Float64) -> None:
        """Run the rule over a batch."""
        _run(delay, group, state, before, after, self.scale)


@njit(cache=True, _nrt=False)
def _run(delay: Float64, group: Int64, state: Float64, before: Float64, after: Float64,
         scale: float) -> None:
    for j in range(len(delay)):
        s = state[group[j]]
        before[j] = s[0]
        s[1] += 1
        step = delay[j] - s[2]
        s[2] += step / s[1]
        s[3] += step * (delay[j] - s[2])
        s[4] = max(s[4], delay[j])
        deviation = (s[3] / (s[1] - 1)) ** 0.5 if s[1] > 1 else 0.0
        s[0] = max(s[4] + scale * deviation, 0.0)
        after[j] = s[0]
