"""Sources that fall silent and come back with everything at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slackwater.core.durations import Duration, micros
from slackwater.datasets.law import Float64, Law

__all__ = ["Stalls"]


@dataclass(frozen=True)
class Stalls(Law):
    """A source falls silent on the network now and then, and later delivers its backlog at once.

    Parameters
    ----------
    interval
        Mean time between two stalls of a source.
    length
        Mean length of a stall (exponential).
    drain
        Time between two events of the backlog as it comes in.
    """

    interval: Duration = "2 minutes"
    length: Duration = "4s"
    drain: Duration = "1ms"

    def apply(self, arrival: Float64, duration: float, rng: np.random.Generator) -> None:
        """Move what one source would have delivered during a stall to the end of that stall."""
        count = rng.poisson(duration / micros(self.interval))
        begins = np.sort(rng.uniform(0, duration, count))
        ends = begins + np.asarray(rng.exponential(micros(self.length), count))
        for begin, end in zip(begins, ends, strict=True):
            stuck = np.flatnonzero((arrival >= begin) & (arrival < end))
            arrival[stuck] = end + np.arange(len(stuck)) * micros(self.drain)
