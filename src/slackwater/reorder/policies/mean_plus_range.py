"""Buffer time from the mean and the spread of the recent delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.reorder.estimator import Float64, Int64
from slackwater.reorder.policies.recent import (
    COUNT,
    GREATEST,
    SMALLEST,
    SUM,
    RecentDelays,
    remember,
)

__all__ = ["MeanPlusRange"]


@njit(cache=True, _nrt=False)
def _run(delay: Float64, group: Int64, state: Float64, before: Float64, after: Float64,
         offset: float, wait: bool) -> None:
    for j in range(len(delay)):
        s = state[group[j]]
        before[j] = s[0]
        if remember(s, delay[j]) or not wait:
            mean = s[SUM] / s[COUNT]
            # skewed clocks can make the mean negative; a buffer time is not
            s[0] = max(mean + s[GREATEST] - s[SMALLEST] + offset, 0.0)
        after[j] = s[0]


@dataclass(frozen=True)
class MeanPlusRange(RecentDelays):
    """Mean of the last n delays, plus their range, plus an offset: the paper's recommendation.

    The mean follows the level of the delays, the range their spread.
    Parameters: see `RecentDelays`.

    Examples
    --------
    >>> import numpy as np
    >>> policy = MeanPlusRange(n=2, offset="10ms")
    >>> before, after = np.empty(3), np.empty(3)
    >>> state = np.array([policy.initial_state()], float)
    >>> policy.buffers(np.array([100e3, 150e3, 130e3]), np.zeros(3, int), state, before, after)
    >>> (after / 1000).tolist()
    [110.0, 185.0, 170.0]

    References
    ----------
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020, section 5.5 (BSTTDA).
    """

    paper: ClassVar[str] = "BSTTDA"
    loop = staticmethod(_run)
