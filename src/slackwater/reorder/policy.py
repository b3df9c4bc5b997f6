"""What a policy is: the part of reordering that decides how long to wait."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration, format_duration, micros
from slackwater.core.errors import SnapshotError
from slackwater.core.events import NEVER
from slackwater.core.html import html_pairs
from slackwater.core.kernel import Store
from slackwater.core.release import Walk, release_by
from slackwater.core.state.pages import Pages
from slackwater.reorder.belief import Belief

__all__ = ["NO_SEQUENCE", "DelayPolicy", "Estimator", "Explains", "Names", "Policy", "Seen"]

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

    def why_ready_by_time(self, group: Int64, names: Names | None) -> pa.Array:
        """What rows of these groups waited for that the last call of `thresholds` released."""

    def why_late(self, row: Int64, names: Names | None) -> pa.Array:
        """Why rows of the last batch are late (null: nothing more to say)."""

    def notes(self, names: Names | None) -> dict[str, Any]:
        """Facts about the state."""


class Policy(ABC):
    """Configuration of a policy: a frozen dataclass.

    Subclass `DelayPolicy` for a buffer time that follows the delays seen; subclass this one for
    anything else.
    """

    paper: ClassVar[str | None] = None
    """The acronym under which a paper names the policy; accepted wherever a policy is named."""

    needs_source: ClassVar[bool] = False
    """Whether it looks at who sent an event, and at the producer's running number."""

    bound: ClassVar[str | None] = None
    """The parameter that says which share of the rows may be late."""

    @abstractmethod
    def estimator(self, store: Store, *, literal: bool = False) -> Estimator:
        """Start afresh; `literal`: learn from every row, as the papers do (see `belief`)."""

    def identity(self) -> dict[str, Any]:
        """What may not change over a restart."""
        return {"policy": type(self).__name__}

    def _parameters(self) -> dict[str, Any]:
        """Every parameter, durations as text."""
        found = {}
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if isinstance(value, int) and str(f.type).startswith("Duration"):
                value = format_duration(value)
            found[f.name] = value
        return found

    def __str__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in self._parameters().items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return html_pairs(type(self).__name__, self._parameters())


class DelayPolicy(Policy):
    """A policy that sets a buffer time B from the delays (arrival − time) seen so far.

    A subclass gives `initial_state`, whose first number is the buffer time to start with, and
    `step`, which sees one delay, may change the state in place, and returns the new buffer time.
    All in microseconds.  Override `buffers` to run the loop compiled, as the built-in policies do.

    Examples
    --------
    A policy of one's own, twice the greatest delay of the last two arrivals:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class TwiceTheWorse(DelayPolicy):
    ...     def initial_state(self):
    ...         return [1_000_000, 0]
    ...     def step(self, state, delay):
    ...         worse, state[1] = max(delay, state[1]), delay
    ...         return 2 * worse
    """

    learns: ClassVar[bool] = True
    """Whether the buffer time depends on the delays at all."""

    @abstractmethod
    def initial_state(self) -> Any:
        """The state of a new group: numbers, the first of them the buffer time."""

    def step(self, state: Float64, delay: float) -> float:
        """See one delay, return the new buffer time."""
        raise TypeError(f"{type(self).__name__} must define step() or buffers()")

    def buffers(self, delay: Float64, group: Int64, state: Float64, before: Float64,
                after: Float64) -> None:
        """Fill in the buffer time before and after each arrival; state is one row a group."""
        for j, g in enumerate(group):
            before[j] = state[g, 0]
            after[j] = state[g, 0] = self.step(state[g], float(delay[j]))

    def estimator(self, store: Store, *, literal: bool = False) -> DelayEstimator:
        """Start afresh."""
        return DelayEstimator(self, store, literal)


class DelayEstimator(Estimator):
    """Runs a `DelayPolicy` for any number of groups."""

    exact = True

    def __init__(self, policy: DelayPolicy, store: Store, literal: bool) -> None:
        self._policy = policy
        start = np.asarray(policy.initial_state(), np.float64)
        self._groups = Pages("policy", {"state": start}, store)
        self._width = len(start)
        self._belief = None if literal or not policy.learns else Belief(max(start[0], 0.0), store)
        self._threshold, self._after = np.zeros(0, np.int64), np.zeros(0)

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

    def look(self, seen: Seen) -> Int64:
        """See arrivals: θ_j = a_j − B_{j−1}."""
        self._groups.touch(seen.group)
        delay = (seen.arrival - seen.time).astype(np.float64)
        before, after = np.empty_like(delay), np.empty_like(delay)
        state = self._groups["state"]
        teaches = (None if self._belief is None else
                   self._belief.teaches(delay, seen.group, seen.source_column))
        if teaches is None or teaches.all():
            self._policy.buffers(delay, seen.group, state, before, after)
        else:
            some = np.flatnonzero(teaches)
            old, new = np.empty(len(some)), np.empty(len(some))
            first = state[seen.group, 0].copy()
            self._policy.buffers(delay[some], seen.group[some], state, old, new)
            _stay(seen.group, teaches, first, old, new, state[:, 0].copy(), before, after)
        self._after = after
        self._threshold = seen.arrival - np.ceil(before).astype(np.int64)
        return self._threshold

    def advance(self, seen: Seen, walk: Walk) -> Float64:
        """Release by the thresholds that `look` has found."""
        release_by(walk, self._threshold)
        return self._after

    @property
    def buffers(self) -> Float64:
        """The buffer time after each arrival that `look` saw last."""
        return self._after

    def thresholds(self, groups: Int64, now: Int64) -> Int64:
        """For each group now − B."""
        self._groups.need(groups)
        return now - np.ceil(self._groups["state"][groups, 0]).astype(np.int64)

    def save(self) -> dict[str, Any]:
        """Write the touched pages."""
        return {"groups": self._groups.save(), "width": self._width,
                "belief": None if self._belief is None else self._belief.save()}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Know the pages that `save` told of."""
        if meta["width"] != self._width:
            raise SnapshotError(
                f"{type(self._policy).__name__} keeps {self._width} numbers per key, the snapshot "
                f"{meta['width']}", step="restore reorder",
                hint="the window length `n` cannot change over a restart; start afresh, or keep it")
        self._groups.load(meta["groups"])
        if self._belief is not None and meta["belief"] is not None:
            self._belief.load(meta["belief"])


@njit(cache=True)
def _stay(group: Int64, teaches: NDArray[np.bool_], first: Float64, old: Float64, new: Float64,
          spare: Float64, before: Float64, after: Float64) -> None:
    """Where an arrival taught nothing, the buffer time stays as it was."""
    for j in range(len(group) - 1, -1, -1):
        spare[group[j]] = first[j]  # the state before the batch
    at = 0
    for j in range(len(group)):
        if teaches[j]:
            before[j], after[j] = old[at], new[at]
            spare[group[j]] = new[at]
            at += 1
        else:
            before[j] = after[j] = spare[group[j]]


def durations(policy: Policy, *names: str, least: int | None = 0) -> None:
    """For __post_init__: turn the named fields of a frozen policy into whole microseconds."""
    for name in names:
        value: Duration = getattr(policy, name)
        label = f"{type(policy).__name__}.{name}"
        object.__setattr__(policy, name, micros(value, name=label, least=least))
