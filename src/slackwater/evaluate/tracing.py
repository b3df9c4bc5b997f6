"""A policy that is listened to: the buffer time after every arrival, as the kernel sets it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.release import Walk
from slackwater.reorder.policy import Estimator, Policy, Seen

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

    def estimator(self, store: Store, *, literal: bool = False) -> Estimator:
        """Start afresh, with nothing written down."""
        self._batches.clear()
        estimator = self.policy.estimator(store, literal=literal)
        advance = estimator.advance

        def listening(seen: Seen, walk: Walk) -> Float64:
            buffers = advance(seen, walk)
            self._batches.append(buffers)
            return buffers

        # not exact: else the kernel takes a short way, which does not come by here
        estimator.advance = listening  # type: ignore[method-assign]
        estimator.exact = False  # type: ignore[misc]
        return estimator

    def buffer_times(self) -> Float64:
        """In microseconds, one an arrival, in arrival order."""
        return np.concatenate([np.zeros(0), *self._batches])

