"""Streams as paper 5 generates them: six types, one event a second, a share delayed by up to K."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from slackwater.papers.sequences.ais import (
    BUILT,
    HELD,
    LOOKED,
    MATCHES,
    STEPS,
    Ais,
    new_ais,
    push,
)

__all__ = ["LENGTH", "WINDOW", "measured", "out_of_order", "stream"]

Int64 = NDArray[np.int64]
LENGTH, WINDOW = 6, 20


def stream(events: int, share: float, slack: int, seed: int = 5) -> tuple[Int64, Int64]:
    """Kinds and timestamps in order of arrival."""
    chance = np.random.default_rng(seed)
    times = np.arange(events)
    # a fraction more than a delay, so that two never arrive together
    delay = np.where(chance.random(events) < share,
                     chance.integers(1, slack + 1, events) + 0.5, 0.0)
    order = np.argsort(times + delay, kind="stable")
    return chance.integers(0, LENGTH, events), times[order]


def out_of_order(times: Int64) -> float:
    """The share of events that come after a later one, in percent."""
    return float((times < np.maximum.accumulate(times)).mean() * 100)


def measured(kinds: Int64, times: Int64, slack: int, *, clock: bool = True, divider: bool = True,
             construct: bool = True, purge: bool = True, repeats: int = 1,
             run: Callable[..., None] | None = None) -> dict[str, float]:
    """Processor milliseconds (the least of some runs), and what was counted; `held` is a mean."""
    best, ais = float("inf"), _fresh(kinds)
    for _ in range(repeats):
        ais = _fresh(kinds)
        begin = time.process_time()
        if run is None:
            push(ais, kinds, times, WINDOW, slack, clock, divider, construct, purge)
        else:
            run(ais, kinds, times, WINDOW)
        best = min(best, time.process_time() - begin)
    count = ais.tally
    return {"ms": 1e3 * best, "built": int(count[BUILT]), "matches": int(count[MATCHES]),
            "held": count[HELD] / max(int(count[STEPS]), 1), "looked": int(count[LOOKED])}


def _fresh(kinds: Int64) -> Ais:
    return new_ais(LENGTH, int(np.bincount(kinds).max()) + 1)
