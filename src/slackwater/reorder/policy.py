"""What a policy is: the part of reordering that decides how long to wait."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import Duration, format_duration, micros
from slackwater.core.errors import SnapshotError
from slackwater.core.events import NEVER
from slackwater.core.kernel import Store
from slackwater.core.state import Table

__all__ = ["NO_SEQUENCE", "Arrivals", "DelayPolicy", "Estimator", "Explains", "Policy"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

NO_SEQUENCE = NEVER
"""Stands for a missing sequence number."""


@dataclass(frozen=True)
class Arrivals:
    """A batch as a policy sees it: one entry an arrival, in arrival order.

    `group` is the code of the estimate that the row belongs to (its key, or its scope); `groups`
    how many there are so far.  For policies that ask for sources (`Policy.needs_source`): `source`
    is a code for source and group together, `names` the sources' names by that code, `sequence` the
    producer's running number (`NO_SEQUENCE`: none); None where there is no such column.
    """

    time: Int64
    arrival: Int64
    group: Int64
    groups: int
    source: Int64 | None = None
    sequence: Int64 | None = None
    names: pa.Array | None = None


class Estimator(Protocol):
    """A policy at work."""

    def advance(self, arrivals: Arrivals) -> tuple[Int64, Float64]:
        """See arrivals.

        For each: the threshold θ at or below which held events of its key leave *before* it is
        taken in, and the buffer time in force after it (for metrics; microseconds).
        """

    def thresholds(self, now: Int64) -> Int64:
        """For each group, the threshold that time alone has reached at its `now`."""

    def save(self, store: Store) -> dict[str, Any]:
        """Write what changed to the store, return what `load` needs."""

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        """Read what `save` wrote."""


@runtime_checkable
class Explains(Protocol):
    """An estimator that can say why: its words go into ``_reason``, its notes into `Out.notes`."""

    def why_ready(self, step: Int64, names: pa.Array | None) -> pa.Array:
        """What rows waited for that the last batch's arrivals `step` let go."""

    def why_ready_by_time(self, group: Int64, names: pa.Array | None) -> pa.Array:
        """What rows of these groups waited for that the last call of `thresholds` let go."""

    def why_late(self, row: Int64, names: pa.Array | None) -> pa.Array:
        """Why rows of the last batch are late (null: nothing more to say)."""

    def notes(self, names: pa.Array | None) -> dict[str, Any]:
        """Facts about the state; `names` as in `Arrivals`."""


class Policy(ABC):
    """Configuration of a policy: a frozen dataclass.

    Subclass `DelayPolicy` for a buffer time that follows the delays seen; subclass this one for
    anything else.
    """

    paper: ClassVar[str | None] = None
    """The acronym under which a paper names the policy; accepted wherever a policy is named."""

    needs_source: ClassVar[bool] = False
    """Whether it looks at who sent an event, and at the producer's running number."""

    @abstractmethod
    def estimator(self) -> Estimator:
        """Start afresh."""

    def __str__(self) -> str:
        parts = []
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if isinstance(value, int) and str(f.type).startswith("Duration"):
                value = format_duration(value)
            parts.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


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

    def estimator(self) -> DelayEstimator:
        """Start afresh."""
        return DelayEstimator(self)


class DelayEstimator:
    """Runs a `DelayPolicy` for any number of groups."""

    def __init__(self, policy: DelayPolicy) -> None:
        self._policy = policy
        start = np.asarray(policy.initial_state(), np.float64)
        self._table = Table("policy", {"state": start})
        self._width = len(start)

    def advance(self, arrivals: Arrivals) -> tuple[Int64, Float64]:
        """See arrivals: θ_j = a_j − B_{j−1}."""
        self._table.grow(arrivals.groups)
        self._table.touch(arrivals.group)
        delay = (arrivals.arrival - arrivals.time).astype(np.float64)
        before, after = np.empty_like(delay), np.empty_like(delay)
        self._policy.buffers(delay, arrivals.group, self._table["state"], before, after)
        return arrivals.arrival - np.ceil(before).astype(np.int64), after

    def thresholds(self, now: Int64) -> Int64:
        """For each group now − B."""
        buffer = np.ceil(self._table["state"][:, 0]).astype(np.int64)
        return np.where(now < NEVER + buffer, NEVER, now - buffer)

    def save(self, store: Store) -> dict[str, Any]:
        """Write the touched pages."""
        return {"rows": self._table.save(store), "width": self._width}

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        """Read all pages."""
        if meta["width"] != self._width:
            raise SnapshotError(
                f"{type(self._policy).__name__} keeps {self._width} numbers a key, the snapshot "
                f"{meta['width']}", step="restore reorder",
                hint="the window length `n` cannot change over a restart; start afresh, or keep it")
        self._table.load(store, meta["rows"])


def durations(policy: Policy, *names: str, least: int | None = 0) -> None:
    """For __post_init__: turn the named fields of a frozen policy into whole microseconds."""
    for name in names:
        value: Duration = getattr(policy, name)
        label = f"{type(policy).__name__}.{name}"
        object.__setattr__(policy, name, micros(value, name=label, least=least))
