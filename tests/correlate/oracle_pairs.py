"""The slow, obvious answer: every pair, its probability, and a comparison."""

from __future__ import annotations

import numpy as np

from slackwater.correlate import Predicate, probability


def oracle(left, right, predicate: Predicate, confidence: float, distribution, horizon=None,
           keys=None) -> dict[tuple[int, int], float]:
    """{(left row, right row): probability} of all pairs that satisfy the condition."""
    out = {}
    for i in range(len(left[0])):
        for j in range(len(right[0])):
            if keys is not None and keys[0][i] != keys[1][j]:
                continue
            if horizon is not None and predicate.open:
                apart = int(right[1][j]) - int(left[1][i])
                if (apart > horizon) if predicate.lo != -(1 << 62) else (-apart > horizon):
                    continue
            p = float(probability(left[0][i], left[1][i], right[0][j], right[1][j], predicate,
                                  *distribution)[0])
            if p >= confidence - 1e-12:
                out[i, j] = p
    return out


def intervals(draws: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """(start, length) pairs as columns of ends."""
    first = np.array([a for a, _ in draws], np.int64)
    return first, first + np.array([n for _, n in draws], np.int64)
