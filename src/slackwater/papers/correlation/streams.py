"""Streams as paper 2 has them, and its algorithms as they are measured over them.

Two streams, r tuples a second each, interval lengths in [20, 200] ms, d = 500 ms (1000 in Fig. 8).
The paper does not print its delays; here they are uniform on 0 … 500 ms.  Execution time is the
processor time of the run.  Response time is waiting, by the data's clock, plus that time, with a
queue in front of the algorithm.
"""

from __future__ import annotations

import numpy as np

from slackwater.correlate.match import ALGORITHMS
from slackwater.correlate.replay import Arrivals, Measured, replay

__all__ = ["ALGORITHMS", "DELAY", "LONGEST", "SHORTEST", "arrivals", "measure"]

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


def measure(stream: Arrivals, algorithm: str, *, d: int = 500, ct: float = 0.8, block: int = 1000,
            repeat: int = 3) -> Measured:
    """The fastest of some runs: what others do on the machine only ever adds time."""
    replay(Arrivals(*(column[:200] for column in stream)), algorithm, within=d * _MS, confidence=ct,
           shortest=SHORTEST, longest=LONGEST, max_delay=DELAY, block=50)  # compile
    return min((replay(stream, algorithm, within=d * _MS, confidence=ct, shortest=SHORTEST,
                       longest=LONGEST, max_delay=DELAY, block=block) for _ in range(repeat)),
               key=lambda m: m.seconds)
