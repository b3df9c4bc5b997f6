"""Several steps of a stage as one.

Enters, leaves: `Step`.  May import: stage.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.stage import NONE, Step, joined

__all__ = ["merged", "stamped"]

Int64 = NDArray[np.int64]


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

    late = [s for s in steps if s.late is not None and s.late.num_rows]
    times = [s.time for s in steps if s.time is not None]
    return Step([rows for s in steps for rows in s.ready] or columns,
                np.concatenate(times) if times else None, stamp if stamps else None,
                joined([s.late for s in late]) if late else steps[0].late,
                pa.concat_arrays([s.why_late for s in late]) if late else steps[0].why_late,
                np.concatenate([s.late_at for s in late]) if late else NONE,
                [rows for s in steps for rows in s.refused], steps[-1].reached)


def stamped(step: Step) -> Step:
    """The step with its stamps made now: they may look at what the next step changes."""
    if step.stamp is None:
        return step
    made = step.stamp()
    return replace(step, stamp=lambda: made)


def _says_something(step: Step) -> bool:
    return bool(any(rows.num_rows for rows in step.ready) or step.refused or step.reached
                or (step.late is not None and step.late.num_rows))
