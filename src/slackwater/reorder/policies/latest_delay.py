"""Buffer time from the latest delay alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.numbers import finite_fields
from slackwater.reorder.policy import DelayPolicy, Float64, Int64, durations

__all__ = ["LatestDelay"]


@dataclass(frozen=True)
class LatestDelay(DelayPolicy):
    """Grow fast when a delay comes near the buffer time, shrink slowly when it stays well below.

    If delay + offset > B: B·increase + offset; else if delay + offset < B − threshold: B·decrease.
    (The paper prints delay − offset; taken at its word that leaves most of the out-of-order events
    of its own recordings uncompensated, against its findings.)

    Parameters
    ----------
    initial
        Buffer time to start with.
    threshold
        Damps the shrinking.
    increase, decrease
        Factors.
    offset
        Safety margin.

    Examples
    --------
    >>> import numpy as np
    >>> policy = LatestDelay()
    >>> before, after = np.empty(3), np.empty(3)
    >>> state = np.array([policy.initial_state()], float)
    >>> policy.buffers(np.array([300e3, 300e3, 300e3]), np.zeros(3, int), state, before, after)
    >>> (after / 1000).tolist()
    [1500.0, 1485.0, 1470.15]

    References
    ----------
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020, section 5.2 (BSTT).
    """

    initial: Duration = "500ms"
    threshold: Duration = "100ms"
    increase: float = 2.0
    decrease: float = 0.99
    offset: Duration = "500ms"

    paper: ClassVar[str] = "BSTT"

    def __post_init__(self) -> None:
        durations(self, "initial", "threshold", "offset")
        finite_fields(self)
        if self.increase < 1:
            raise ConfigError("would shrink the buffer where it must grow",
                              step="LatestDelay.increase", expected="≥ 1", got=self.increase)
        if not 0 < self.decrease <= 1:
            raise ConfigError("would not shrink the buffer", step="LatestDelay.decrease",
                              expected="in (0, 1]", got=self.decrease)

    def initial_state(self) -> list[float]:
        """The buffer time."""
        return [self.initial]  # type: ignore[list-item]

    def buffers(self, delay: Float64, group: Int64, state: Float64, before: Float64,
                after: Float64) -> None:
        """Run the rule over a batch."""
        _run(delay, group, state, before, after, float(micros(self.threshold)), self.increase,
             self.decrease, float(micros(self.offset)))


@njit(cache=True)
def _run(delay: Float64, group: Int64, state: Float64, before: Float64, after: Float64,
         threshold: float, increase: float, decrease: float, offset: float) -> None:
    for j in range(len(delay)):
        s = state[group[j]]
        before[j] = s[0]
        needed = delay[j] + offset
        if needed > s[0]:
            s[0] = s[0] * increase + offset
        elif needed < s[0] - threshold:
            s[0] = s[0] * decrease
        after[j] = s[0]
