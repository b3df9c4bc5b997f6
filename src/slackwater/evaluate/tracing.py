"""A policy that is listened to: thresholds and buffer times, as the kernel sets them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.release import Walk
from slackwater.reorder.estimator import Estimator, Seen
from slackwater.reorder.policy import Policy

__all__ = ["Traced"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class Traced(Policy):
    """Does what the policy within does, and writes down thresholds and buffer times.

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
        self._thresholds: list[Int64 | None] = []

    def __str__(self) -> str:
        return f"Traced({self.policy})"

    def estimator(self, store: Store, *, literal: bool = False) -> Estimator:
        """Start afresh, with nothing written down."""
        self._batches.clear()
        self._thresholds.clear()
        estimator = self.policy.estimator(store, literal=literal)
        advance = estimator.advance

        def listening(seen: Seen, walk: Walk) -> Float64:
            buffers = advance(seen, walk)
            self._batches.append(buffers)
            self._thresholds.append(getattr(estimator, "last_thresholds", None))
            return buffers

        estimator.advance = listening  # type: ignore[method-assign]
        estimator.exact = False  # type: ignore[misc]  # the short way would not come by here
        return estimator

    def buffer_times(self) -> Float64:
        """In microseconds, one an arrival, in arrival order."""
        return np.concatenate([np.zeros(0), *self._batches])

    def thresholds(self, arrival: Int64, key: Int64) -> Int64:
        """What each arrival released before it was taken in.

        Where a policy does not say, that is its arrival less its key's buffer time before it.
        """
        if self._thresholds and all(part is not None for part in self._thresholds):
            return np.concatenate([np.asarray(part) for part in self._thresholds])
        buffer = self.buffer_times()
        before = np.full(len(buffer), np.inf)
        order = np.lexsort((np.arange(len(key)), key))
        same = key[order][1:] == key[order][:-1]
        before[order[1:][same]] = buffer[order[:-1][same]]
        return np.where(before < 2.0**61, arrival - np.minimum(before, 2.0**61), -2.0**62).astype(
            np.int64)
