"""A policy at work: what it is told of each arrival, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.events import NEVER
from slackwater.core.release import Walk, release_by
from slackwater.core.state.pages import Pages
from slackwater.reorder.belief import Belief

__all__ = ["NO_SEQUENCE", "BufferEstimator", "Estimator", "Explains", "Float64", "GroupEstimator",
           "Int64", "Names", "Seen", "buffer_ends"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

NO_SEQUENCE = NEVER
"""Stands for a missing sequence number."""


Names = Callable[[Int64], pa.Array]
"""Gives the names of sources, by slot."""


@dataclass(frozen=True)
class Seen:
    """Arrivals as a policy sees them, in arrival order.

    `group` is the slot of the estimate that a row belongs to (its key's, or its scope's).  `source`
    (for policies with `needs_source`) is a slot for source and group together, `sequence` the
    producer's running number (`NO_SEQUENCE`: none); None where there is no such column.
    `source_column` is that column as it came.
    """

    time: Int64
    arrival: Int64
    group: Int64
    source: Int64 | None = None
    sequence: Int64 | None = None
    source_column: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.time)


class Estimator(ABC):
    """A policy at work, for any number of groups.

    What has been released, and so what is late, is known to the `Walk` alone: a policy that learns
    from late rows runs through the arrivals with `advance_to` and `take`, and is told.
    """

    exact: ClassVar[bool] = False
    """Whether `look` gives the thresholds themselves, which do not depend on late rows."""

    @abstractmethod
    def grow(self, groups: int, sources: int) -> None:
        """Have room for so many groups and sources."""

    @abstractmethod
    def reset(self, groups: Int64) -> None:
        """Start these groups afresh."""

    def reset_sources(self, sources: Int64) -> None:
        """Start these sources afresh."""
        return

    def look(self, seen: Seen) -> Int64:
        """For each arrival the threshold θ at or below which held events of its key leave *before*
        it is taken in; if not `exact`, a time that θ does not exceed.
        """
        return np.maximum(seen.time, np.maximum.accumulate(seen.arrival))

    @abstractmethod
    def advance(self, seen: Seen, walk: Walk) -> Float64:
        """Run through the arrivals; the buffer time in force after each (microseconds)."""

    @abstractmethod
    def thresholds(self, groups: Int64, now: Int64) -> Int64:
        """The threshold that time alone has reached, for each of these groups, at its `now`."""

    @abstractmethod
    def save(self) -> dict[str, Any]:
        """Write what changed to the store, return what `load` needs."""

    @abstractmethod
    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""


@runtime_checkable
class Explains(Protocol):
    """An estimator that can say why: its words go into ``_reason``, its notes into `Out.notes`."""

    def why_ready(self, step: Int64, names: Names | None) -> pa.Array:
        """What rows waited for that the last batch's arrivals `step` released."""

    def why_ready_by_time(self, asked: Int64, names: Names | None) -> pa.Array:
        """What rows waited for that the last call of `thresholds` released, by these of its lines.
        """

    def why_late(self, row: Int64, names: Names | None) -> pa.Array:
        """Why rows of the last batch are late (null: nothing more to say)."""

    def notes(self, names: Names | None) -> dict[str, Any]:
        """Facts about the state."""


class GroupEstimator(Estimator):
    """An estimator whose state is one table, a row per group, beside what it believes (if it does).

    A subclass makes the table.  If it is `exact`, its `look` sets `threshold` and `buffers`, one
    number per arrival: what it releases before it is taken in, and the buffer time after it.
    """

    exact = True

    def __init__(self, table: Pages, belief: Belief | None = None) -> None:
        self._groups, self._belief = table, belief
        self.threshold, self.buffers = np.zeros(0, np.int64), np.zeros(0)

    def grow(self, groups: int, sources: int) -> None:
        """Have room."""
        self._groups.grow(groups)
        if self._belief is not None:
            self._belief.grow(groups)

    def reset(self, groups: Int64) -> None:
        """Start these groups afresh."""
        self._groups.reset(groups)
        if self._belief is not None:
            self._belief.reset(groups)

    def advance(self, seen: Seen, walk: Walk) -> Float64:
        """Release by the thresholds that `look` has found."""
        release_by(walk, self.threshold)
        return self.buffers

    def save(self) -> dict[str, Any]:
        """Write the touched pages."""
        return {"groups": self._groups.save(),
                "belief": None if self._belief is None else self._belief.save()}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Know the pages that `save` told of."""
        self._groups.load(meta["groups"])
        if self._belief is not None and meta["belief"] is not None:
            self._belief.load(meta["belief"])


class BufferEstimator(GroupEstimator):
    """One that waits for a buffer time B: θ_j = a_j − B_{j−1}, and now − B when time passes.

    A subclass follows the arrivals in `follow`, and says where B is in its table (`in_force`).
    """

    @abstractmethod
    def follow(self, seen: Seen, before: Float64, after: Float64) -> None:
        """Run through the arrivals; fill in the buffer time before and after each."""

    @abstractmethod
    def in_force(self, groups: Int64) -> Float64:
        """The buffer time of each of these groups."""

    def look(self, seen: Seen) -> Int64:
        """See arrivals."""
        self._groups.touch(seen.group)
        before, self.buffers = np.empty(len(seen)), np.empty(len(seen))
        self.follow(seen, before, self.buffers)
        self.threshold = buffer_ends(seen.arrival, before)
        return self.threshold

    def thresholds(self, groups: Int64, now: Int64) -> Int64:
        """For each group now − B."""
        self._groups.need(groups)
        return buffer_ends(now, self.in_force(groups))


@njit(cache=True, nogil=True)
def buffer_ends(now: Int64, buffer: Float64) -> Int64:
    """The times for which a buffer has ended by now; parts of a microsecond are waited out."""
    ends = np.empty(len(now), np.int64)
    for j in range(len(now)):
        ends[j] = now[j] - np.int64(np.ceil(buffer[j]))
    return ends
