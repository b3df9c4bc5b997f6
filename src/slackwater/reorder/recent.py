"""The last n delays of a group, in a ring: what the window policies have in common.

A group's state is one row of numbers: buffer time, how many delays are in the ring, where the next
one goes, their sum, smallest and greatest, then the ring itself.
"""

from __future__ import annotations

from numba import njit

from slackwater.errors import ConfigError
from slackwater.reorder.policy import Float64, Policy

__all__ = ["COUNT", "GREATEST", "NEXT", "RING", "SMALLEST", "SUM", "check_window", "remember",
           "ring_state"]

COUNT, NEXT, SUM, SMALLEST, GREATEST, RING = 1, 2, 3, 4, 5, 6


def ring_state(initial: int, n: int) -> list[float]:
    """The state of a new group."""
    return [float(initial), 0, 0, 0, float("inf"), float("-inf")] + [0.0] * n


def check_window(policy: Policy, n: int) -> None:
    """Refuse a window that holds nothing."""
    if not isinstance(n, int) or n < 1:
        raise ConfigError("a window of delays needs at least one",
                          step=f"{type(policy).__name__}.n", expected="a whole number ≥ 1", got=n)


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
            s[SMALLEST] = s[RING:].min()
        else:
            s[SMALLEST] = min(s[SMALLEST], delay)
        if gone == s[GREATEST] and delay < gone:
            s[GREATEST] = s[RING:].max()
        else:
            s[GREATEST] = max(s[GREATEST], delay)
    s[NEXT] = (s[NEXT] + 1) % n
    return bool(s[COUNT] == n)
