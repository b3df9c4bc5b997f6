"""What a policy is: the part of reordering that decides how long to wait."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration, format_duration, micros
from slackwater.core.errors import SnapshotError
from slackwater.core.html import html_pairs
from slackwater.core.kernel import Store
from slackwater.core.state.pages import Pages
from slackwater.reorder.belief import Belief
from slackwater.reorder.estimator import BufferEstimator, Estimator, Float64, Int64, Seen

__all__ = ["DelayPolicy", "Policy", "durations"]


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


class DelayEstimator(BufferEstimator):
    """Runs a `DelayPolicy` for any number of groups."""

    def __init__(self, policy: DelayPolicy, store: Store, literal: bool) -> None:
        start = np.asarray(policy.initial_state(), np.float64)
        super().__init__(
            Pages("policy", {"state": start}, store),
            None if literal or not policy.learns else Belief(max(start[0], 0.0), store))
        self._policy, self._width = policy, len(start)

    def follow(self, seen: Seen, before: Float64, after: Float64) -> None:
        """Run the policy over the delays that are believed."""
        delay = (seen.arrival - seen.time).astype(np.float64)
        state = self._groups["state"]
        teaches = (None if self._belief is None else
                   self._belief.teaches(seen.arrival, delay, seen.group, seen.source_column))
        if teaches is None:
            self._policy.buffers(delay, seen.group, state, before, after)
        else:
            some = np.flatnonzero(teaches)
            old, new = np.empty(len(some)), np.empty(len(some))
            first = state[seen.group, 0].copy()
            self._policy.buffers(delay[some], seen.group[some], state, old, new)
            _stay(seen.group, teaches, first, old, new, state[:, 0].copy(), before, after)

    def in_force(self, groups: Int64) -> Float64:
        """The first number of each state."""
        return np.asarray(self._groups["state"][groups, 0])

    def save(self) -> dict[str, Any]:
        """Write the touched pages."""
        return {**super().save(), "width": self._width}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Know the pages that `save` told of."""
        if meta["width"] != self._width:
            raise SnapshotError(
                f"{type(self._policy).__name__} keeps {self._width} numbers per key, the snapshot "
                f"{meta['width']}", step="restore reorder",
                hint="the window length `n` cannot change over a restart; start afresh, or keep it")
        super().load(meta)


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
