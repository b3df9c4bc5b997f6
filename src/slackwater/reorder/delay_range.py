"""Buffer time from the spread of the recent delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numba import njit

from slackwater.durations import Duration, micros
from slackwater.reorder.policy import DelayPolicy, Float64, Int64, durations
from slackwater.reorder.recent import GREATEST, SMALLEST, check_window, remember, ring_state

__all__ = ["DelayRange"]


@dataclass(frozen=True)
class DelayRange(DelayPolicy):
    """Greatest minus smallest of the last n delays, plus an offset.

    Constant delays cause no disorder, so only their spread needs a buffer. Blind to a delay that
    grows while its spread stays the same.

    Parameters
    ----------
    n
        How many delays to look back over.
    initial
        Buffer time until n delays have been seen.
    offset
        Safety margin.

    Examples
    --------
    >>> import numpy as np
    >>> policy = DelayRange(n=2, offset="10ms")
    >>> before, after = np.empty(3), np.empty(3)
    >>> state = np.array([policy.initial_state()], float)
    >>> policy.buffers(np.array([100e3, 150e3, 130e3]), np.zeros(3, int), state, before, after)
    >>> (after / 1000).tolist()
    [750.0, 60.0, 30.0]

    References
    ----------
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020, section 5.4 (BSTTD).
    """

    n: int = 600
    initial: Duration = "750ms"
    offset: Duration = "350ms"

    paper: ClassVar[str] = "BSTTD"

    def __post_init__(self) -> None:
        durations(self, "initial", "offset")
        check_window(self, self.n)

    def initial_state(self) -> list[float]:
        """An empty ring."""
        return ring_state(self.initial, self.n)  # type: ignore[arg-type]

    def buffers(self, delay: Float64, group: Int64, state: Float64, before: Float64,
                after: Float64) -> None:
        """Run the rule over a batch."""
        _run(delay, group, state, before, after, float(micros(self.offset)))


@njit(cache=True)
def _run(delay: Float64, group: Int64, state: Float64, before: Float64, after: Float64,
         offset: float) -> None:
    for j in range(len(delay)):
        s = state[group[j]]
        before[j] = s[0]
        if remember(s, delay[j]):
            s[0] = s[GREATEST] - s[SMALLEST] + offset
        after[j] = s[0]
