"""The bounds never lie: what they decide, the exact probability confirms."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.correlate import (
    Histogram,
    Normal,
    Point,
    Predicate,
    Triangular,
    Uniform,
    bounds,
    probability,
)
from tests.correlate.oracle_pairs import intervals

SHAPES = st.sampled_from([Uniform(), Normal(), Triangular(0.2), Point(), Point(0.3), Point(1.0),
                          Histogram((1, 0, 3))])
PREDICATES = st.one_of(
    st.integers(0, 600).map(lambda d: Predicate.of(within=d)),
    st.integers(-300, 600).map(lambda d: Predicate.of(deadline=d)),
    st.integers(-300, 600).map(lambda d: Predicate.of(delay=d)))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**15), st.lists(st.integers(0, 200), min_size=1, max_size=4),
       st.lists(st.tuples(st.integers(-900, 900), st.integers(0, 200)), min_size=1, max_size=40),
       PREDICATES, st.sampled_from([1.0, 0.8, 0.5, 0.25, 0.01]), SHAPES, SHAPES,
       st.sampled_from(["left", "right"]))
def test_sound(origin, lengths, draws, predicate, confidence, base, target, side):
    targets = intervals([(origin + a, n) for a, n in draws])
    n = targets[1] - targets[0]
    lengths = np.array(lengths)
    found = bounds(np.full(len(lengths), origin), origin + lengths, predicate, confidence,
                   shortest=int(n.min()), longest=int(n.max()), base=base, target=target, side=side)
    for i, length in enumerate(lengths):
        mine, theirs = (origin, origin + length), targets
        ends = (*mine, *theirs) if side == "left" else (*theirs, *mine)
        shapes = (base, target) if side == "left" else (target, base)
        p = probability(*ends, predicate, *shapes)
        x = targets[1]
        taken = (x >= found.L_L[i]) & (x <= found.R_L[i])
        refused = (x < found.L_H[i]) | (x > found.R_H[i])
        assert (p[taken] >= confidence - 1e-12).all()
        assert (p[refused] < confidence - 1e-12).all()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 200), st.integers(400, 900),
       st.sampled_from([1.0, 0.8, 0.5, 0.25]))
def test_exact_for_uniforms(length, rho, more, d, confidence):
    """One microsecond nearer to the probe region, some length in [ρ, π] is undecided."""
    pi = rho + more
    b = bounds(np.array([0]), np.array([length]), Predicate.of(within=d), confidence, shortest=rho,
               longest=pi)

    def p(x: int, n: int) -> float:
        return float(probability(0, length, x - n, x, Predicate.of(within=d))[0])

    low, lower, upper, high = (int(v[0]) for v in b)
    assert p(low, rho) >= confidence - 1e-9
    assert p(lower - 1, pi) < confidence + 1e-9
    assert p(upper + 1, rho) < confidence + 1e-9
    assert p(high, pi) >= confidence - 1e-9
    assert low <= lower <= upper <= high
