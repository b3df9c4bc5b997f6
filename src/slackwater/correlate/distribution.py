"""How likely each moment of an interval is.

Every distribution is a *shape* on [0, 1] that is stretched over the interval: the time is
min + (max − min)·U.  So a later or longer interval is a later time in distribution, whatever the
shape, and that is all that the bounds and the look-up table rest on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import erf, exp, pi, sqrt
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError, did_you_mean

__all__ = ["UNIFORMLY", "Distribution", "Histogram", "Normal", "Point", "Shape", "Triangular",
           "Uniform", "as_distribution", "as_pair"]

POINT, PIECES, NORMAL, UNIFORM = 0, 1, 2, 3


class Shape(NamedTuple):
    """A distribution on [0, 1] as compiled loops read it.

    Between `knots` k and k+1 the density goes straight from ``left[k]`` to ``right[k]``; `cdf` is
    the mass up to each knot.  `number` is where a point sits, or σ of a normal; `scale` the factor
    that makes up for the normal's tails that were cut off.
    """

    kind: int
    knots: NDArray[np.float64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    cdf: NDArray[np.float64]
    number: float
    scale: float


def _pieces(kind: int, knots: list[float], left: list[float], right: list[float]) -> Shape:
    k, a, b = (np.asarray(x, np.float64) for x in (knots, left, right))
    cdf = np.concatenate([[0.0], np.cumsum((a + b) / 2 * np.diff(k))])
    return Shape(kind, k, a / cdf[-1], b / cdf[-1], cdf / cdf[-1], 0.0, 1.0)


def _share(value: float, what: str) -> None:
    if not 0 <= value <= 1:
        raise ConfigError("lies outside the interval", step=what,
                          expected="a share of the interval, 0 … 1", got=value)


@dataclass(frozen=True)
class Uniform:
    """Every moment of the interval is as likely as any other: the paper's assumption."""

    def shape(self) -> Shape:
        """As loops read it."""
        return _pieces(UNIFORM, [0, 1], [1], [1])


@dataclass(frozen=True)
class Normal:
    """Most likely in the middle; the ends are `sigmas` standard deviations away.

    The interval holds the earliest and the latest possible time, so the tails beyond it (0.27 % at
    3σ) are cut off and what is inside makes up for them.
    """

    sigmas: float = 3.0

    def __post_init__(self) -> None:
        if not 0.1 <= self.sigmas <= 20:
            raise ConfigError("cannot be the half length of an interval", step="Normal.sigmas",
                              expected="0.1 … 20 standard deviations", got=self.sigmas)

    def shape(self) -> Shape:
        """As loops read it."""
        edge = exp(-self.sigmas ** 2 / 2) * 2 * self.sigmas / sqrt(2 * pi)
        return _pieces(NORMAL, [0, 1], [1], [1])._replace(
            left=np.array([edge]), right=np.array([edge]), number=1 / (2 * self.sigmas),
            scale=1 / erf(self.sigmas / sqrt(2)))


@dataclass(frozen=True)
class Triangular:
    """Rising straight to the `mode` (as a share of the interval), then falling straight."""

    mode: float = 0.5

    def __post_init__(self) -> None:
        _share(self.mode, "Triangular.mode")

    def shape(self) -> Shape:
        """As loops read it."""
        if self.mode in (0, 1):
            return _pieces(PIECES, [0, 1], [2 - 2 * self.mode], [2 * self.mode])
        return _pieces(PIECES, [0, self.mode, 1], [0, 2], [2, 0])


@dataclass(frozen=True)
class Point:
    """The time is known: a fixed share `at` of the way through the interval."""

    at: float = 0.5

    def __post_init__(self) -> None:
        _share(self.at, "Point.at")

    def shape(self) -> Shape:
        """As loops read it."""
        return _pieces(POINT, [0, 1], [1], [1])._replace(number=float(self.at))


@dataclass(frozen=True)
class Histogram:
    """An empirical distribution: weights of bins over the interval, flat inside a bin.

    Parameters
    ----------
    weights
        One a bin, not negative, in any unit.
    edges
        Bin borders as shares of the interval, from 0 to 1; None: bins of equal width.
    """

    weights: tuple[float, ...]
    edges: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
        if not self.weights or min(self.weights) < 0 or not 0 < sum(self.weights) < float("inf"):
            raise ConfigError("a histogram needs weights that are not negative, nor all zero",
                              step="Histogram.weights", got=self.weights)
        if self.edges is None:
            return
        edges = tuple(float(e) for e in self.edges)
        object.__setattr__(self, "edges", edges)
        rising = all(a < b for a, b in pairwise(edges))
        if len(edges) != len(self.weights) + 1 or not rising or (edges[0], edges[-1]) != (0, 1):
            raise ConfigError("these are not the borders of the bins", step="Histogram.edges",
                              expected=f"{len(self.weights) + 1} rising numbers from 0 to 1",
                              got=self.edges)

    def shape(self) -> Shape:
        """As loops read it."""
        edges = np.linspace(0, 1, len(self.weights) + 1) if self.edges is None else self.edges
        height = (np.asarray(self.weights) / np.diff(edges)).tolist()
        return _pieces(PIECES, list(edges), height, height)


UNIFORMLY = Uniform()
"""The default everywhere."""

Distribution: TypeAlias = "Uniform | Normal | Triangular | Point | Histogram"
_NAMED: dict[str, type[Uniform | Normal | Triangular | Point]] = {
    "uniform": Uniform, "normal": Normal, "triangular": Triangular, "point": Point}


def as_distribution(value: Distribution | str) -> Distribution:
    """A distribution, or the one of that name with its defaults."""
    if not isinstance(value, str):
        if isinstance(value, (Uniform, Normal, Triangular, Point, Histogram)):
            return value
        raise ConfigError("is not a distribution", step="distribution", got=repr(value),
                          expected="Uniform(), Normal(), Triangular(), Point() or Histogram(…)")
    if value.lower() not in _NAMED:
        raise ConfigError(f"there is no distribution {value!r}", step="distribution",
                          expected=", ".join(_NAMED) + " (a Histogram needs its weights)",
                          hint=did_you_mean(value, _NAMED))
    return _NAMED[value.lower()]()


def as_pair(value: Distribution | str | tuple[Distribution | str, Distribution | str],
            ) -> tuple[Distribution, Distribution]:
    """The left's and the right's distribution, from one for both or two."""
    if isinstance(value, tuple):
        if len(value) != 2:
            raise ConfigError("is not a pair", step="distribution", got=value,
                              expected="one distribution, or (left, right)")
        return as_distribution(value[0]), as_distribution(value[1])
    return as_distribution(value), as_distribution(value)
