"""Buffer time from an exponentially weighted mean of the recent delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration
from slackwater.reorder.estimator import Float64, Int64
from slackwater.reorder.policies.recent import COUNT, NEXT, RING, RecentDelays, remember

__all__ = ["WeightedMean"]

_LOOK_BACK = 64  # weights halve with age: what is older adds less than a double can hold


@njit(cache=True, _nrt=False)
def _run(delay: Float64, group: Int64, state: Float64, before: Float64, after: Float64,
         offset: float, wait: bool) -> None:
    for j in range(len(delay)):
        s = state[group[j]]
        before[j] = s[0]
        if remember(s, delay[j]) or not wait:
            n = len(s) - RING
            weight, weights, total = 0.5, 0.0, 0.0
            at = int(s[NEXT])
            for _ in range(min(int(s[COUNT]), _LOOK_BACK)):
                at = at - 1 if at > 0 else n - 1
                total += weight * s[RING + at]
                weights += weight
                weight *= 0.5
            s[0] = max(total / weights + offset, 0.0)
        after[j] = s[0]


@dataclass(frozen=True)
class WeightedMean(RecentDelays):
    """Σ delay_i·w_i / Σ w_i over the last n, w_i = 2^(n−i)/n with i = 1 the newest, plus an offset.

    Calm over a long time; single outliers pass it by, and so do sudden changes.
    Parameters: see `RecentDelays`.

    Examples
    --------
    >>> import numpy as np
    >>> policy = WeightedMean(n=2, offset="10ms")
    >>> before, after = np.empty(3), np.empty(3)
    >>> state = np.array([policy.initial_state()], float)
    >>> policy.buffers(np.array([90e3, 150e3, 30e3]), np.zeros(3, int), state, before, after)
    >>> (after / 1000).tolist()
    [100.0, 140.0, 80.0]

    References
    ----------
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020, section 5.3 (BSTTWA).
    """

    n: int = 100
    offset: Duration = "750ms"

    paper: ClassVar[str] = "BSTTWA"
    loop = staticmethod(_run)
