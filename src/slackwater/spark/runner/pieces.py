"""The rows of a micro-batch in pieces of bounded size, which give what the whole would give.

A kernel brings each batch that it is given into arrival order, and to it the cut is all one.  So
large micro-batches are cut by arrival: what a step makes of them is then never there as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import NEVER, event_times
from slackwater.core.state.ipc import joined
from slackwater.spark.runner.operator_spec import Input
from slackwater.spark.runner.position import in_position

__all__ = ["in_pieces"]

_PIECE = 1 << 26  # bytes


def in_pieces(batches: list[pa.RecordBatch], given: Input,
              most: int = _PIECE) -> Iterator[pa.RecordBatch]:
    """The rows in pieces of about `most` bytes; rows of one arrival are never parted.

    Parameters
    ----------
    batches
        The rows, in the order in which they were given.
    given
        The input that takes them.
    most
        The bytes of a piece.
    """
    size, rows = sum(b.nbytes for b in batches), sum(b.num_rows for b in batches)
    if size <= most:
        yield in_position(joined(batches))
        return
    each = max(int(rows * most / size), 1)
    if given.arrival is None:
        whole = in_position(joined(batches))
        for at in range(0, rows, each):
            yield whole.slice(at, each)
        return
    arrivals = [_arrivals(batch, given) for batch in batches]
    ends = np.unique(np.sort(np.concatenate(arrivals))[each::each])
    edges = [NEVER, *ends.tolist(), None]
    for first, end in pairwise(edges):
        found = [_between(batch, arrival, first, end)
                 for batch, arrival in zip(batches, arrivals, strict=True)]
        some = [batch for batch in found if batch.num_rows]
        if some:
            yield in_position(joined(some))


def _arrivals(rows: pa.RecordBatch, given: Input) -> NDArray[np.int64]:
    """Of rows whose arrival cannot be read: before all others, for they are put aside anyway."""
    assert given.arrival is not None
    stamps, readable = event_times(rows.column(given.arrival), unit=given.unit, name=given.arrival)
    return np.where(readable, stamps, NEVER)


def _between(rows: pa.RecordBatch, arrival: NDArray[np.int64], first: int,
             end: int | None) -> pa.RecordBatch:
    chosen = arrival >= first
    if end is not None:
        chosen &= arrival < end
    index = np.flatnonzero(chosen)
    if len(index) and index[-1] - index[0] + 1 == len(index):
        return rows.slice(index[0], len(index))
    return rows.take(pa.array(index))
