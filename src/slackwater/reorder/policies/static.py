"""A constant buffer time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.durations import Duration, micros
from slackwater.reorder.estimator import Float64, Int64
from slackwater.reorder.policy import DelayPolicy, durations

__all__ = ["Static"]


@dataclass(frozen=True)
class Static(DelayPolicy):
    """Wait the same time for everything: what a fixed watermark delay does.

    Parameters
    ----------
    buffer
        The buffer time.

    Examples
    --------
    >>> print(Static("2s"))
    Static(buffer='2s')

    References
    ----------
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020, section 5.1 (SBA).
    """

    buffer: Duration = "1s"

    paper: ClassVar[str] = "SBA"
    learns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        durations(self, "buffer")

    def initial_state(self) -> list[float]:
        """The buffer time."""
        return [self.buffer]  # type: ignore[list-item]

    def buffers(self, delay: Float64, group: Int64, state: Float64, before: Float64,
                after: Float64) -> None:
        """It never changes, except by a restart with another setting."""
        state[:, 0] = micros(self.buffer)
        before[:] = after[:] = micros(self.buffer)
