"""Wait until told that nothing older comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from slackwater.core.events import NEVER
from slackwater.core.kernel import Store
from slackwater.core.release import Walk, release_by
from slackwater.reorder.estimator import Estimator, Float64, Int64, Seen
from slackwater.reorder.policy import Policy

__all__ = ["Punctuated"]


@dataclass(frozen=True)
class Punctuated(Policy):
    """Release nothing by arrivals; a `tick` says up to which time all rows have come.

    For rows of many streams, each in order, that are brought together where it is known how far all
    of them have come.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from slackwater import Reorder, Roles
    >>> logic = Reorder(Punctuated(), Roles("time", "time", unit="us")).start()
    >>> logic.push(pa.record_batch({"time": [20, 10, 30]})).ready.num_rows
    0
    >>> logic.tick(20).ready["time"].to_pylist()
    [10, 20]
    """

    def estimator(self, store: Store, *, literal: bool = False) -> _Told:
        """Start afresh."""
        return _Told()


class _Told(Estimator):
    def grow(self, groups: int, sources: int) -> None:
        """There is nothing to keep."""

    def reset(self, groups: Int64) -> None:
        """There is nothing to keep."""

    def look(self, seen: Seen) -> Int64:
        """No arrival releases anything."""
        return np.full(len(seen), NEVER)

    def advance(self, seen: Seen, walk: Walk) -> Float64:
        """Take everything in."""
        release_by(walk, np.full(len(seen), NEVER))
        return np.zeros(len(seen))

    def thresholds(self, groups: Int64, now: Int64) -> Int64:
        """As told."""
        return now

    def save(self) -> dict[str, Any]:
        """There is nothing to keep."""
        return {}

    def load(self, meta: Mapping[str, Any]) -> None:
        """There is nothing to keep."""
