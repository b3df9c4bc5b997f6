"""A step of a stage: what it is given, what it released, and several of them as one.

May import: events, outcome, state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.outcome import Refused
from slackwater.core.state.ipc import joined

__all__ = ["NONE", "Arrivals", "Step", "due_to_first", "interleaved", "merged", "stamped"]

Int64 = NDArray[np.int64]
NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Arrivals:
    """Usable rows in arrival order: times, arrivals (microseconds), numbers, and their columns."""

    time: Int64
    arrival: Int64
    n: Int64
    rows: pa.RecordBatch

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: Int64) -> Arrivals:
        """The rows at `index`, in that order."""
        return Arrivals(self.time[index], self.arrival[index], self.n[index],
                        self.rows.take(pa.array(index)))

    def slice(self, first: int, last: int) -> Arrivals:
        """Rows first…last−1."""
        return Arrivals(self.time[first:last], self.arrival[first:last], self.n[first:last],
                        self.rows.slice(first, last - first))


@dataclass(frozen=True)
class Step:
    """What one step of a stage released.

    Parameters
    ----------
    ready
        Results or rows in their place, in pieces.
    time
        The times of the ready rows, for a stage that follows; None where results have none.
    stamp
        Gives, for the ready rows, why and when each was released; None for results, which carry
        their columns themselves.
    late
        Rows that came behind the watermark, without the columns that are added.
    why_late, late_at
        Why, and the arrival clock then.
    refused
        More quarantined rows: what the stage itself cannot take.
    reached
        For a stage that follows: gives, for rows of key values, the time that time alone has
        brought their keys to (NEVER: not touched).  None after arrivals.
    by
        Gives, for the ready rows, the number of the arrival that released each; where time did,
        the slot of its key.  None where nobody asks.
    """

    ready: list[pa.RecordBatch]
    time: Int64 | None = None
    stamp: Callable[[], tuple[Any, Int64]] | None = None
    late: pa.RecordBatch | None = None
    why_late: pa.Array | None = None
    late_at: Int64 = field(default_factory=lambda: NONE)
    refused: list[Refused] = field(default_factory=list)
    reached: Callable[[pa.RecordBatch], Int64] | None = None
    by: Callable[[], Int64] | None = None


def merged(steps: list[Step]) -> Step:
    """Several steps as one."""
    columns = next((s.ready[:1] for s in reversed(steps) if s.ready), [])
    steps = [s for s in steps if _says_something(s)] or steps[-1:]
    if len(steps) == 1:
        return steps[0] if steps[0].ready else replace(steps[0], ready=columns)
    stamps = [s.stamp for s in steps if s.stamp is not None]

    def stamp() -> tuple[Any, Int64]:
        told = [one() for one in stamps]
        why = [pa.nulls(len(at), pa.string()) if w is None else pa.array(w, pa.string())
               for w, at in told]
        return pa.concat_arrays(why), np.concatenate([at for _, at in told])

    released = [s.by for s in steps if _has_rows(s)]
    by = None if None in released else lambda: np.concatenate([NONE, *(one() for one in released)])  # type: ignore[misc]
    late = [s for s in steps if s.late is not None and s.late.num_rows]
    times = [s.time for s in steps if s.time is not None]
    return Step([rows for s in steps for rows in s.ready] or columns,
                np.concatenate(times) if times else None, stamp if stamps else None,
                joined([s.late for s in late]) if late else steps[0].late,
                pa.concat_arrays([s.why_late for s in late]) if late else steps[0].why_late,
                np.concatenate([s.late_at for s in late]) if late else NONE,
                [part for s in steps for part in s.refused], steps[-1].reached, by)


def interleaved(before: list[Step], step: Step) -> Step:
    """All as one step, ready rows in the order of the arrivals that released them.

    So what the silence of a key releases stands where the row that ended it stood, wherever the
    input is cut.
    """
    whole = merged([*before, step])
    if not any(map(_has_rows, before)) or whole.by is None:
        return whole
    by = whole.by()
    order = np.argsort(by, kind="stable")
    stamp = None
    if whole.stamp is not None:
        why, at = whole.stamp()
        said = None if why is None else pa.array(why).take(pa.array(order))

        def stamp() -> tuple[Any, Int64]:
            return said, at[order]

    return replace(whole, ready=[joined(whole.ready).take(pa.array(order))], stamp=stamp,
                   time=None if whole.time is None else whole.time[order], by=lambda: by[order])


def due_to_first(step: Step, slot: Int64, n: int) -> Step:
    """A step of time as one that the first row of each key has released: rows number `n`, n + 1…"""
    if step.by is None:
        return replace(step, reached=None)
    found, first = np.unique(slot, return_index=True)
    by = n + first[np.searchsorted(found, step.by())]
    return replace(step, by=lambda: by, reached=None)


def stamped(step: Step) -> Step:
    """The step with its stamps made now: they may look at what the next step changes."""
    if step.stamp is None:
        return step
    made = step.stamp()
    return replace(step, stamp=lambda: made)


def _has_rows(step: Step) -> bool:
    return any(rows.num_rows for rows in step.ready)


def _says_something(step: Step) -> bool:
    return bool(_has_rows(step) or step.refused or step.reached
                or (step.late is not None and step.late.num_rows))
