"""Rows on their way through a synchroniser: arriving, held, released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.state.buffer import Rows

__all__ = ["HIDDEN", "Arrivals", "Released", "clock_of", "member_of"]

Int64 = NDArray[np.int64]
HIDDEN = _CLOCK, _MEMBER = "__clock", "__member"
"""Columns that held rows carry beside the user's."""


@dataclass(frozen=True)
class Arrivals:
    """Usable rows of one push, in arrival order; `member` is the code of (key, source)."""

    key: Int64
    member: Int64
    time: Int64
    arrival: Int64
    n: Int64
    payload: pa.RecordBatch

    def held(self, clock: Int64) -> Rows:
        """As rows to hold: with the arrival clock and the member in hidden columns."""
        hidden = [pa.field(_CLOCK, pa.int64()), pa.field(_MEMBER, pa.int64())]
        schema = pa.schema([*self.payload.schema, *hidden])
        columns = [*self.payload.columns, pa.array(clock), pa.array(self.member)]
        return Rows(self.key, self.time, self.n,
                    pa.RecordBatch.from_arrays(columns, schema=schema))


@dataclass(frozen=True)
class Released:
    """What a step let go: rows in order, when, and whether each had timed out."""

    rows: Rows
    when: Int64
    timed_out: NDArray[np.bool_]


def clock_of(rows: Rows) -> Int64:
    """The arrival clock of held rows."""
    return rows.payload.column(_CLOCK).to_numpy()


def member_of(rows: Rows) -> Int64:
    """The member of held rows."""
    return rows.payload.column(_MEMBER).to_numpy()
