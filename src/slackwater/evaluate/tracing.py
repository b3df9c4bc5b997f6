"""A policy that is listened to: the buffer time after every arrival, as the kernel sets it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.reorder.policy import Arrivals, Estimator, Policy

__all__ = ["Traced"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class Traced(Policy):
    """Does what the policy within does, and writes down the buffer times.

    Examples
    --------
    >>> from slackwater.reorder import Reorder, Static
    >>> import pyarrow as pa
    >>> from slackwater.core.events import Roles
    >>> traced = Traced(Static("1s"))
    >>> kernel = Reorder(traced, Roles("time", "arrival", unit="s"))
    >>> _ = kernel.start().push(pa.record_batch({"time": [10, 11], "arrival": [12, 12]}))
    >>> traced.buffer_times().tolist()
    [1000000.0, 1000000.0]
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.needs_source = policy.needs_source  # type: ignore[misc]
        self._batches: list[Float64] = []

    def __str__(self) -> str:
        return f"Traced({self.policy})"

    def estimator(self) -> Estimator:
        """Start afresh, with nothing written down."""
        self._batches.clear()
        return _Listening(self.policy.estimator(), self._batches)

    def buffer_times(self) -> Float64:
        """In microseconds, one an arrival, in arrival order."""
        return np.concatenate([np.zeros(0), *self._batches])


class _Listening:
    def __init__(self, estimator: Estimator, batches: list[Float64]) -> None:
        self._estimator, self._batches = estimator, batches

    def advance(self, arrivals: Arrivals) -> tuple[Int64, Float64]:
        threshold, buffer = self._estimator.advance(arrivals)
        self._batches.append(buffer)
        return threshold, buffer

    def thresholds(self, now: Int64) -> Int64:
        return self._estimator.thresholds(now)

    def save(self, store: Store) -> dict[str, Any]:
        return self._estimator.save(store)

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        self._estimator.load(store, meta)
