"""Probabilities against numerical integration, and what must hold of any distribution."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.errors import ConfigError
from slackwater.correlate import (
    Histogram,
    Normal,
    Point,
    Predicate,
    Triangular,
    Uniform,
    difference_cdf,
    probability,
)

YEAR = 365 * 86_400 * 10**6
EPOCH = 1_700_000_000_000_000
SHAPES = [Uniform(), Normal(), Normal(1.0), Triangular(), Triangular(0.0), Triangular(0.3),
          Point(0.0), Point(), Point(0.7), Histogram((1, 0, 3, 2)),
          Histogram((5, 1), edges=(0, 0.9, 1))]


def density(shape, u: np.ndarray) -> np.ndarray:
    """The textbook density on [0, 1], written again from the definition."""
    if isinstance(shape, Uniform):
        return np.ones_like(u)
    if isinstance(shape, Normal):
        from math import erf, pi, sqrt
        s = 1 / (2 * shape.sigmas)
        inside = erf(shape.sigmas / sqrt(2))
        return np.exp(-(((u - 0.5) / s) ** 2) / 2) / (s * sqrt(2 * pi) * inside)
    if isinstance(shape, Triangular):
        m = shape.mode
        up = 2 * u / m if m > 0 else np.zeros_like(u)
        down = 2 * (1 - u) / (1 - m) if m < 1 else np.zeros_like(u)
        return np.where(u < m, up, down)
    edges = shape.edges or tuple(np.linspace(0, 1, len(shape.weights) + 1))
    heights = np.array(shape.weights) / sum(shape.weights) / np.diff(edges)
    return heights[np.clip(np.searchsorted(edges, u, "right") - 1, 0, len(heights) - 1)]


def knots(shape) -> list[float]:
    if isinstance(shape, Triangular):
        return [0, shape.mode, 1]
    if isinstance(shape, Histogram):
        return list(shape.edges or np.linspace(0, 1, len(shape.weights) + 1))
    return [0, 1]


NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def integrate(f, points: list[float]) -> float:
    """Gauss–Legendre on 16 panels between each two points."""
    total = 0.0
    points = sorted({p for p in points if 0 <= p <= 1} | {0.0, 1.0})
    for a, b in pairwise(points):
        grid = np.linspace(a, b, 17)
        half, middle = np.diff(grid) / 2, (grid[1:] + grid[:-1]) / 2
        u = middle[:, None] + half[:, None] * NODES
        total += float((half[:, None] * WEIGHTS * f(u)).sum())
    return total


def cdf(shape, v: np.ndarray) -> np.ndarray:
    """The distribution function, by integrating the density."""
    v = np.clip(v, 0, 1)
    flat = np.array([integrate(lambda u, x=x: density(shape, u * x) * x,
                               [k / x for k in knots(shape)]) if x > 0 else 0.0
                     for x in v.ravel()])
    return flat.reshape(v.shape)


def cdf_closed(shape, v: np.ndarray) -> np.ndarray:
    """The distribution function by its textbook formula, for the long side of the integral."""
    v = np.clip(v, 0.0, 1.0)
    if isinstance(shape, Uniform):
        return v
    if isinstance(shape, Normal):
        from math import erf, sqrt
        e = np.vectorize(erf)
        k = shape.sigmas / sqrt(2)
        return 0.5 + e((v - 0.5) * 2 * k) / (2 * erf(k))
    if isinstance(shape, Triangular):
        m = shape.mode
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(v < m, v * v / m, 1 - (1 - v) ** 2 / (1 - m))
    edges = np.array(shape.edges or np.linspace(0, 1, len(shape.weights) + 1))
    mass = np.concatenate([[0], np.cumsum(shape.weights)]) / sum(shape.weights)
    return np.interp(v, edges, mass)


def numeric(c: int, len1: int, len2: int, one, two) -> float:
    """P(len2·U2 ≤ c + len1·U1) by integrating over the shorter one."""
    at1 = one.at if isinstance(one, Point) else (0.0 if len1 == 0 else None)
    at2 = two.at if isinstance(two, Point) else (0.0 if len2 == 0 else None)
    if at1 is not None and at2 is not None:
        return float(at2 * len2 <= c + at1 * len1)
    if at1 is not None:
        return float(cdf_closed(two, np.array([(c + at1 * len1) / len2]))[0])
    if at2 is not None:
        return 1 - float(cdf_closed(one, np.array([(at2 * len2 - c) / len1]))[0])
    if len1 <= len2:
        return integrate(lambda u: density(one, u) * cdf_closed(two, (c + len1 * u) / len2),
                         knots(one) + [(k * len2 - c) / len1 for k in knots(two)])
    return integrate(lambda u: density(two, u) * (1 - cdf_closed(one, (len2 * u - c) / len1)),
                     knots(two) + [(k * len1 + c) / len2 for k in knots(one)])


lengths = st.one_of(st.just(0), st.integers(1, 1000), st.integers(1, 10**9), st.integers(1, YEAR))
shapes = st.sampled_from(SHAPES)


@settings(max_examples=300, deadline=None)
@given(lengths, lengths, shapes, shapes, st.floats(-1.1, 1.1), st.floats(0, 1.5), st.data())
def test_agrees_with_numerical_integration(len1, len2, one, two, place, size, data):
    span = len1 + len2 + 2
    start2 = EPOCH + int(place * span)
    d = int(size * span)
    ends = (EPOCH, EPOCH + len1, start2, start2 + len2)

    def f(z: int, strict: bool = False) -> float:
        # with two points the distribution jumps; all other cases are continuous
        c = z + EPOCH - start2
        jump = (isinstance(one, Point) or len1 == 0) and (isinstance(two, Point) or len2 == 0)
        if strict and jump:
            at1 = (one.at if isinstance(one, Point) else 0) * len1
            at2 = (two.at if isinstance(two, Point) else 0) * len2
            return float(at2 < c + at1)
        return numeric(c, len1, len2, one, two)

    for predicate, expected in [
        (Predicate.of(deadline=d), f(d)),
        (Predicate.of(delay=d), 1 - f(d, strict=True)),
        (Predicate.of(within=d), f(d) - f(-d, strict=True)),
    ]:
        got = float(probability(*ends, predicate, one, two)[0])
        assert abs(got - expected) < 1e-9, (predicate, got, expected)


@pytest.mark.parametrize("shape", [s for s in SHAPES if not isinstance(s, Point)], ids=str)
def test_the_distribution_functions_used_above_are_integrals_of_the_densities(shape):
    v = np.linspace(0.01, 0.99, 7)
    assert np.allclose(cdf(shape, v), cdf_closed(shape, v), atol=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 400), st.integers(0, 400), st.integers(-500, 500), st.integers(-600, 600))
def test_uniform_is_the_papers_formula(len1, len2, start2, z):
    def r(u: int) -> int:
        return max(u, 0) ** 2
    if not (len1 and len2):
        return
    corners = r(z - (start2 - len1)) - r(z - (start2 + len2 - len1)) - r(z - start2) + r(
        z - (start2 + len2))
    expected = corners / (2 * len1 * len2)
    got = float(difference_cdf(z, 0, len1, start2, start2 + len2)[0])
    assert abs(got - expected) < 1e-12


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 300), min_size=4, max_size=4), shapes, shapes,
       st.integers(0, 100), st.integers(0, 100), st.integers(-200, 200))
def test_later_intervals_are_later(ends, one, two, sooner, later, z):
    a, n, b, m = ends
    before = float(difference_cdf(z, a, a + n, b, b + m, one, two)[0])
    moved = (b + sooner, b + m + max(sooner, later))  # both ends no earlier
    after = float(difference_cdf(z, a, a + n, *moved, one, two)[0])
    assert after <= before + 1e-12


def test_a_length_that_dwarfs_the_other_costs_no_digits():
    # the difference of squares would be off in the third digit here
    got = float(difference_cdf(YEAR // 3, EPOCH, EPOCH + YEAR, EPOCH, EPOCH + 1)[0])
    exact = (YEAR // 3 - 0.5 + YEAR) / YEAR
    assert got == min(exact, 1.0)
    got = float(difference_cdf(-YEAR // 3, EPOCH, EPOCH + YEAR, EPOCH, EPOCH + 1)[0])
    assert abs(got - (YEAR - YEAR / 3 - 0.5) / YEAR) < 1e-13


@pytest.mark.parametrize(("make", "text"), [
    (lambda: Histogram(()), "not negative"),
    (lambda: Histogram((1, 2), edges=(0, 1)), "3 rising numbers"),
    (lambda: Triangular(1.5), "share of the interval"),
    (lambda: Normal(0), "0.1 … 20"),
    (lambda: probability(0, 1, 0, 1, Predicate.of(within=1), "unifrom"), "did you mean 'uniform'"),
    (lambda: Predicate.of(within="1s", delay="2s"), "within, delay"),
])
def test_mistakes_are_told(make, text):
    with pytest.raises(ConfigError, match=text):
        make()
