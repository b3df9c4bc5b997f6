"""Buffer time from a Kalman filter's prediction of the next delay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.numbers import finite_fields
from slackwater.reorder.estimator import Float64, Int64
from slackwater.reorder.policy import DelayPolicy, durations

__all__ = ["Kalman"]


@dataclass(frozen=True)
class Kalman(DelayPolicy):
    """Predicted next delay of a scalar random-walk filter, plus an offset.

    Only the ratio of the two noises matters for the prediction.  The paper switched the noise
    vectors off, so process noise is 0 by default: the prediction is then the mean of all delays so
    far, which follows a change ever more slowly.  A ratio of 10⁻⁴ gives a steady gain of about
    0.01: the filter then remembers some hundred events, as long as `WeightedMean` looks back.

    Parameters
    ----------
    initial
        Buffer time before the first event.
    offset
        Safety margin.
    process_noise, measurement_noise
        Variances of the walk and of the observation, in any common unit.

    Examples
    --------
    >>> import numpy as np
    >>> policy = Kalman(offset="10ms")
    >>> before, after = np.empty(3), np.empty(3)
    >>> state = np.array([policy.initial_state()], float)
    >>> policy.buffers(np.array([90e3, 150e3, 30e3]), np.zeros(3, int), state, before, after)
    >>> (after / 1000).round(6).tolist()
    [100.0, 130.0, 100.0]

    References
    ----------
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020, section 5.6 (BSKF).
    """

    initial: Duration = "750ms"
    offset: Duration = "600ms"
    process_noise: float = 0.0
    measurement_noise: float = 1.0

    paper: ClassVar[str] = "BSKF"

    def __post_init__(self) -> None:
        durations(self, "initial", "offset")
        finite_fields(self)
        if self.process_noise < 0 or self.measurement_noise <= 0:
            raise ConfigError("variances cannot be negative, nor the measurement's zero",
                              step="Kalman",
                              got=f"process {self.process_noise}, "
                                  f"measurement {self.measurement_noise}")

    def initial_state(self) -> list[float]:
        """Buffer time, estimate, its variance, whether a delay was seen."""
        return [self.initial, 0.0, 0.0, 0.0]  # type: ignore[list-item]

    def buffers(self, delay: Float64, group: Int64, state: Float64, before: Float64,
                after: Float64) -> None:
        """Run the filter over a batch."""
        _run(delay, group, state, before, after, float(micros(self.offset)), self.process_noise,
             self.measurement_noise)


@njit(cache=True, _nrt=False)
def _run(delay: Float64, group: Int64, state: Float64, before: Float64, after: Float64,
         offset: float, process: float, measurement: float) -> None:
    for j in range(len(delay)):
        s = state[group[j]]
        before[j] = s[0]
        if s[3] == 0:  # the first observation is the estimate: nothing better is known
            s[1], s[2], s[3] = delay[j], measurement, 1.0
        else:
            variance = s[2] + process
            gain = variance / (variance + measurement)
            s[1] += gain * (delay[j] - s[1])
            s[2] = (1 - gain) * variance
        s[0] = max(s[1] + offset, 0.0)
        after[j] = s[0]
