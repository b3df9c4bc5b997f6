"""The last n delays of a group, in a ring: what the window policies have in common.

A group's state is one row of numbers: buffer time, how many delays are in the ring, where the next
one goes, their sum, smallest and greatest, then the ring itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.reorder.estimator import Float64, Int64
from slackwater.reorder.policy import DelayPolicy, Policy, durations

__all__ = ["COUNT", "GREATEST", "NEXT", "RING", "SMALLEST", "SUM", "RecentDelays", "check_window",
           "remember"]

COUNT, NEXT, SUM, SMALLEST, GREATEST, RING = 1, 2, 3, 4, 5, 6


@dataclass(frozen=True)
class RecentDelays(DelayPolicy):
    """Base of the policies that look back over the last n delays.

    Parameters
    ----------
    n
        How many delays to look back over.
    initial
        Buffer time before the first arrival; with ``fill="wait"``, until n delays have been seen.
    offset
        Safety margin.
    fill
        What to do while fewer than n delays have been seen: ``"use"`` those there are, or
        ``"wait"`` with `initial` in force.  The paper does not say which; its printed standard
        deviation of BSTTD's buffer time on G-1, 12.7 ms, is that of ``"use"`` (11.4 to 14.0 ms
        over ten seeds; ``"wait"`` has 55.6 to 55.7 ms).
    """

    n: int = 600
    initial: Duration = "750ms"
    offset: Duration = "350ms"
    fill: str = "use"

    loop: ClassVar[Callable[..., None]]
    """The compiled rule over a batch; its last arguments are the offset and whether to wait."""

    def __post_init__(self) -> None:
        durations(self, "initial", "offset")
        check_window(self, self.n)
        if self.fill not in ("use", "wait"):
            raise ConfigError("does not say what to do while the window fills",
                              step=f"{type(self).__name__}.fill", expected="use or wait",
                              got=self.fill)

    def initial_state(self) -> list[float]:
        """An empty ring."""
        head = [float(micros(self.initial)), 0, 0, 0, float("inf"), float("-inf")]
        return head + [0.0] * self.n

    def buffers(self, delay: Float64, group: Int64, state: Float64, before: Float64,
                after: Float64) -> None:
        """Run the rule over a batch."""
        type(self).loop(delay, group, state, before, after, float(micros(self.offset)),
                        self.fill == "wait")


def check_window(policy: Policy, n: int) -> None:
    """Refuse a window that holds nothing."""
    if not isinstance(n, int) or n < 1:
        raise ConfigError("a window of delays needs at least one",
                          step=f"{type(policy).__name__}.n", expected="a whole number ≥ 1", got=n)


@njit(cache=True)
def _smallest(s: Float64) -> float:
    found = s[RING]
    for i in range(RING, len(s)):
        found = min(found, s[i])
    return found


@njit(cache=True)
def _greatest(s: Float64) -> float:
    found = s[RING]
    for i in range(RING, len(s)):
        found = max(found, s[i])
    return found


@njit(cache=True)
def remember(s: Float64, delay: float) -> bool:
    """Put a delay into the ring; True once the ring has filled.

    Delays are whole microseconds, so the running sum is exact.  The extremes are looked for again
    only when one of them leaves: seldom, and over n numbers that lie side by side.
    """
    n = len(s) - RING
    at = RING + int(s[NEXT])
    if s[COUNT] < n:
        s[COUNT] += 1
        s[SUM] += delay
        s[at] = delay
        s[SMALLEST] = min(s[SMALLEST], delay)
        s[GREATEST] = max(s[GREATEST], delay)
    else:
        gone = s[at]
        s[SUM] += delay - gone
        s[at] = delay
        if gone == s[SMALLEST] and delay > gone:
            s[SMALLEST] = _smallest(s)
        else:
            s[SMALLEST] = min(s[SMALLEST], delay)
        if gone == s[GREATEST] and delay < gone:
            s[GREATEST] = _greatest(s)
        else:
            s[GREATEST] = max(s[GREATEST], delay)
    s[NEXT] = (s[NEXT] + 1) % n
    return bool(s[COUNT] == n)
