"""Streams as paper 2 has them, and its algorithms as they are measured over them.

Two streams, r tuples a second each, interval lengths in [20, 200] ms, d = 500 ms (1000 in Fig. 8).
The paper does not print its delays; here they are uniform on 0 … 500 ms.  Execution time is the
processor time of the run.  Response time is waiting, by the data's clock, plus that time, with a
queue in front of the algorithm.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from slackwater.correlate.match import ALGORITHMS
from slackwater.correlate.replay import Arrivals, Measured, replay

__all__ = ["ALGORITHMS", "DELAY", "LONGEST", "SHORTEST", "Case", "arrivals", "measure"]

_MS = 1000
SHORTEST, LONGEST, DELAY = 20 * _MS, 200 * _MS, 500 * _MS


def arrivals(rate: float, seconds: float, *, ordered: bool = False, seed: int = 2) -> Arrivals:
    """Two Poisson streams of `rate` tuples a second; `ordered`: they arrive by latest time."""
    rng = np.random.default_rng(seed)
    sides = []
    for side in range(2):
        n = max(int(rate * seconds), 1)
        last = np.cumsum(rng.exponential(1e6 / rate, n)).astype(np.int64)
        first = last - rng.integers(SHORTEST, LONGEST + 1, n)
        delay = np.zeros(n, np.int64) if ordered else rng.integers(0, DELAY + 1, n)
        sides.append((np.full(n, side), first, last, last + delay))
    columns = [np.concatenate(parts) for parts in zip(*sides, strict=True)]
    order = np.argsort(columns[3], kind="stable")
    return Arrivals(*(column[order] for column in columns))


@dataclass(frozen=True)
class Case:
    """One thing to measure: a stream, an algorithm, and the parameters of both."""

    stream: Arrivals
    algorithm: str
    d: int = 500
    ct: float = 0.8
    block: int = 1000

    def run(self, first: int | None = None) -> Measured:
        """Once, over all tuples or the first ones."""
        return replay(Arrivals(*(column[:first] for column in self.stream)), self.algorithm,
                      within=self.d * _MS, confidence=self.ct, shortest=SHORTEST, longest=LONGEST,
                      max_delay=DELAY, block=self.block)


Name = TypeVar("Name", bound=Hashable)


def measure(cases: Mapping[Name, Case], rounds: int) -> dict[Name, Measured]:
    """The fastest of some runs of each: what others do on the machine only ever adds time.

    The cases take turns, so that a busy moment does not fall on all runs of one of them.
    """
    for case in cases.values():
        case.run(200)  # compile
    best: dict[Name, Measured] = {}
    for _ in range(rounds):
        for name, case in cases.items():
            got = case.run()
            if name not in best or got.seconds < best[name].seconds:
                best[name] = got
    return best
