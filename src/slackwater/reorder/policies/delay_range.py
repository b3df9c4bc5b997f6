"""Buffer time from the spread of the recent delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.reorder.estimator import Float64, Int64
from slackwater.reorder.policies.recent import GREATEST, SMALLEST, RecentDelays, remember

__all__ = ["DelayRange"]


@njit(cache=True, _nrt=False)
def _run(delay: Float64, group: Int64, state: Float64, before: Float64, after: Float64,
         offset: float, wait: bool) -> None:
    for j in range(len(delay)):
        s = state[group[j]]
        before[j] = s[0]
        if remember(s, delay[j]) or not wait:
            s[0] = s[GREATEST] - s[SMALLEST] + offset
        after[j] = s[0]


@dataclass(frozen=True)
class DelayRange(RecentDelays):
    """Greatest minus smallest of the last n delays, plus an offset.

    Constant delays cause no disorder, so only their spread needs a buffer. Blind to a delay that
    grows while its spread stays the same.
    Parameters: see `RecentDelays`.

    Examples
    --------
    >>> import numpy as np
    >>> policy = DelayRange(n=2, offset="10ms")
    >>> before, after = np.empty(3), np.empty(3)
    >>> state = np.array([policy.initial_state()], float)
    >>> policy.buffers(np.array([100e3, 150e3, 130e3]), np.zeros(3, int), state, before, after)
    >>> (after / 1000).tolist()
    [10.0, 60.0, 30.0]

    References
    ----------
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020, section 5.4 (BSTTD).
    """

    paper: ClassVar[str] = "BSTTD"
    loop = staticmethod(_run)
