"""What a benchmark reports: our time against a reference's, both taken in the same run."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """`ratio` is ours ÷ reference; `limit` what we promise it to stay under (None: no promise)."""

    name: str
    ours_s: float
    reference: str
    reference_s: float
    limit: float | None = None
    detail: str = ""

    @property
    def ratio(self) -> float:
        return self.ours_s / self.reference_s


def best_of(n: int, run: Callable[[], object]) -> float:
    """Seconds of the fastest of n runs: the one that other processes disturbed least."""
    best = float("inf")
    for _ in range(n):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best


def measure(module: str) -> list[Result]:
    """The results of a module of benchmarks."""
    found: list[Result] = importlib.import_module(f"benchmarks.{module}").run()
    return found
