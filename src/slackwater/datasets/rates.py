"""When a source produces its events: one small class a law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.datasets.law import Float64, Law

__all__ = ["RATES", "Bursty", "Changing", "Jittered", "Poisson", "Rate", "Regular"]


class Rate(Law, ABC):
    """A law of production."""

    @abstractmethod
    def moments(self, duration: float, phase: float, rng: np.random.Generator) -> Float64:
        """Moments in [0, duration), rising, in microseconds; phase in [0, 1) shifts the first."""


@dataclass(frozen=True)
class Regular(Rate):
    """One event every interval.

    Examples
    --------
    >>> Regular("200ms").moments(1e6, 0.5, np.random.default_rng(1)).tolist()
    [100000.0, 300000.0, 500000.0, 700000.0, 900000.0]
    """

    interval: Duration = "200ms"

    def moments(self, duration: float, phase: float, rng: np.random.Generator) -> Float64:
        """A grid."""
        count = int(np.ceil(duration / micros(self.interval) - phase))
        return np.asarray((np.arange(max(count, 0)) + phase) * micros(self.interval), np.float64)


@dataclass(frozen=True)
class Jittered(Rate):
    """A grid whose points are off by up to ± jitter intervals each."""

    interval: Duration = "200ms"
    jitter: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.jitter <= 0.5:
            raise ConfigError("would change the order in which the source produces its events",
                              step="Jittered.jitter", expected="between 0 and 0.5", got=self.jitter)

    def moments(self, duration: float, phase: float, rng: np.random.Generator) -> Float64:
        """A grid and noise."""
        grid = Regular(self.interval).moments(duration, phase, rng)
        width = self.jitter * micros(self.interval)
        return np.clip(grid + rng.uniform(-width, width, len(grid)), 0, np.nextafter(duration, 0))


@dataclass(frozen=True)
class Poisson(Rate):
    """Independent events, one every interval on average."""

    interval: Duration = "200ms"

    def moments(self, duration: float, phase: float, rng: np.random.Generator) -> Float64:
        """Given their number, events of a Poisson process are uniform."""
        return np.sort(rng.uniform(0, duration, rng.poisson(duration / micros(self.interval))))


@dataclass(frozen=True)
class Bursty(Rate):
    """Silence, then `burst` events `within` a short time; one every interval on average."""

    interval: Duration = "200ms"
    burst: int = 20
    within: Duration = "100ms"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.burst < 1:
            raise ConfigError("a burst has at least one event", step="Bursty.burst", got=self.burst)

    def moments(self, duration: float, phase: float, rng: np.random.Generator) -> Float64:
        """Bursts are a Poisson process, events in them uniform."""
        starts = Poisson(micros(self.interval) * self.burst).moments(duration, phase, rng)
        within = rng.uniform(0, micros(self.within), (len(starts), self.burst))
        moments = np.sort((starts[:, None] + within).ravel())
        return moments[moments < duration]


@dataclass(frozen=True)
class Changing(Rate):
    """A rate that goes evenly from one event every `first` to one every `last`."""

    first: Duration = "10s"
    last: Duration = "100ms"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.first or not self.last:
            raise ConfigError("an interval of zero is no rate", step="Changing",
                              expected="two intervals > 0")

    def moments(self, duration: float, phase: float, rng: np.random.Generator) -> Float64:
        """Where the integral of the rate, r₀t + (r₁ − r₀)t²/2T, reaches whole numbers."""
        r0, r1 = 1 / micros(self.first), 1 / micros(self.last)
        count = np.arange(max(int(np.ceil((r0 + r1) / 2 * duration - phase)), 0)) + phase
        if r0 == r1:
            return np.asarray(count / r0, np.float64)
        bend = (r1 - r0) / (2 * duration)
        root: Float64 = np.sqrt(np.maximum(r0 * r0 + 4 * bend * count, 0.0))
        return 2 * count / (r0 + root)  # the form without cancellation


RATES: dict[str, type[Rate]] = {
    kind.__name__.lower(): kind for kind in (Regular, Jittered, Poisson, Bursty, Changing)
}
"""Every rate by the name that a text may use."""
