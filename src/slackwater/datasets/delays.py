"""How long an event is under way: one small class a law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.datasets.law import Float64, Law

__all__ = ["DELAYS", "Constant", "Delay", "Lognormal", "Mixed", "Normal", "Pareto", "Ramp", "Sine",
           "Square", "Steps", "Uniform", "Widening"]


class Delay(Law, ABC):
    """A law of transmission."""

    @abstractmethod
    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """A delay in microseconds for each event; `at` in [0, 1) is how far the feed has got."""


def _noise(size: int, width: Duration, rng: np.random.Generator) -> Float64:
    return rng.uniform(-micros(width), micros(width), size)


@dataclass(frozen=True)
class Constant(Delay):
    """Always the same."""

    delay: Duration = "100ms"

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """No chance in it."""
        return np.full(len(at), micros(self.delay))


@dataclass(frozen=True)
class Uniform(Delay):
    """Anything between two ends, equally likely."""

    least: Duration = "100ms"
    most: Duration = "900ms"

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """Independent of the moment."""
        return rng.uniform(micros(self.least), micros(self.most), len(at))


@dataclass(frozen=True)
class Normal(Delay):
    """Normal, cut off at zero: nothing arrives before it was sent."""

    mean: Duration = "200ms"
    deviation: Duration = "50ms"

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """Independent of the moment."""
        return np.maximum(rng.normal(micros(self.mean), micros(self.deviation), len(at)), 0.0)


@dataclass(frozen=True)
class Lognormal(Delay):
    """The usual shape of a network's delay: a body and a tail to the right."""

    median: Duration = "100ms"
    sigma: float = 0.5

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """Independent of the moment."""
        return micros(self.median) * np.exp(self.sigma * rng.standard_normal(len(at)))


@dataclass(frozen=True)
class Pareto(Delay):
    """A heavy tail: P(delay > x) = (least ÷ x)^shape. With shape ≤ 2 the variance is infinite."""

    least: Duration = "50ms"
    shape: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape <= 0:
            raise ConfigError("must be positive", step="Pareto.shape", got=self.shape)

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """Independent of the moment; at most a day, so that it remains a time."""
        tail = 1.0 + rng.pareto(self.shape, len(at))
        return np.minimum(micros(self.least) * tail, 86_400e6)


@dataclass(frozen=True)
class Ramp(Delay):
    """Goes evenly from one delay to another, ± noise."""

    first: Duration = "75ms"
    last: Duration = "975ms"
    noise: Duration = "25ms"

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """A slope and noise."""
        slope = micros(self.first) + (micros(self.last) - micros(self.first)) * at
        return slope + _noise(len(at), self.noise, rng)


@dataclass(frozen=True)
class Widening(Delay):
    """Uniform from `least` to an upper end that goes from `first` to `last`."""

    least: Duration = "25ms"
    first: Duration = "150ms"
    last: Duration = "1s"

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """The spread follows the moment."""
        upper = micros(self.first) + (micros(self.last) - micros(self.first)) * at
        return micros(self.least) + rng.random(len(at)) * (upper - micros(self.least))


@dataclass(frozen=True)
class Steps(Delay):
    """Sudden changes: each level holds for an equal part of the feed, ± noise."""

    levels: tuple[Duration, ...] = ("50ms", "500ms", "100ms")
    noise: Duration = "10ms"

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = tuple(micros(level, name="Steps.levels") for level in self.levels)
        if not levels:
            raise ConfigError("needs at least one level", step="Steps.levels")
        object.__setattr__(self, "levels", levels)

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """A staircase and noise."""
        levels = np.array(self.levels, np.float64)
        stair = levels[np.minimum((at * len(levels)).astype(np.int64), len(levels) - 1)]
        return np.maximum(stair + _noise(len(at), self.noise, rng), 0.0)


@dataclass(frozen=True)
class Square(Delay):
    """Two levels by turns, ± noise; `share` is the part of each cycle at the upper one."""

    low: Duration = "275ms"
    high: Duration = "725ms"
    noise: Duration = "25ms"
    cycles: float = 10.0
    share: float = 0.503

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """A square wave and noise."""
        upper = (at * self.cycles) % 1.0 < self.share
        wave = np.where(upper, micros(self.high), micros(self.low))
        return wave + _noise(len(at), self.noise, rng)


@dataclass(frozen=True)
class Sine(Delay):
    """A sine wave ± noise."""

    middle: Duration = "500ms"
    swing: Duration = "225ms"
    noise: Duration = "25ms"
    cycles: float = 5.0

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """A wave and noise."""
        wave = micros(self.middle) + micros(self.swing) * np.sin(2 * np.pi * self.cycles * at)
        return wave + _noise(len(at), self.noise, rng)


@dataclass(frozen=True)
class Mixed(Delay):
    """Usually one law, with probability `share` another: rare outliers, a second route."""

    usual: Delay = field(default_factory=Lognormal)
    rare: Delay = field(default_factory=lambda: Uniform("1s", "3s"))
    share: float = 0.01

    def sample(self, at: Float64, rng: np.random.Generator) -> Float64:
        """Both laws are drawn for all, so that `share` does not change the usual ones."""
        usual, rare = self.usual.sample(at, rng), self.rare.sample(at, rng)
        return np.where(rng.random(len(at)) < self.share, rare, usual)


DELAYS: dict[str, type[Delay]] = {
    kind.__name__.lower(): kind
    for kind in (Constant, Uniform, Normal, Lognormal, Pareto, Ramp, Widening, Steps, Square, Sine,
                 Mixed)
}
"""Every delay law by the name that a text may use."""
