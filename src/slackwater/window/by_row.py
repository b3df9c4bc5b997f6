"""Windows per row: every row waits until its group has gone on, and leaves with its results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state.ipc import joined
from slackwater.window.lanes import Lanes
from slackwater.window.open_rows import OpenRows
from slackwater.window.schedule import (
    Groups,
    Rows,
    by_tuple,
    by_tuple_of_one,
    by_tuple_until,
    closed_first,
)

__all__ = ["ByRow"]

Int64 = NDArray[np.int64]


class ByRow:
    """One result for each row, over (t − range, t]; rows of equal time share it.

    Parameters
    ----------
    span
        Length of the window.
    grouped
        Whether there are groups.
    lanes
        The aggregates.
    result_schema
        The columns of the results.
    store
        Where the waiting rows are kept.
    """

    def __init__(self, span: int, grouped: bool, lanes: Lanes, result_schema: pa.Schema,
                 store: Store) -> None:
        self._span, self._grouped, self._lanes = span, grouped, lanes
        self._result_schema = result_schema
        self._open = OpenRows("window/open", store)
        self._room: Int64 = np.full((2, 0), -1)  # for `by_tuple`: two numbers per group

    def __len__(self) -> int:
        return len(self._open)

    def take_in(self, batch: pa.RecordBatch, rows: Rows, groups: Groups) -> list[pa.RecordBatch]:
        """What is ready, in pieces, once these rows have come."""
        probe_of = np.empty(len(rows.time), np.int64)
        if self._grouped:
            newest, closes = self._scratch(len(groups.last))
            probes, whose, by = by_tuple(rows, self._span, groups, probe_of, newest, closes)
        else:
            probes, any_open = by_tuple_of_one(rows, self._span, groups, probe_of)
            whose = by = np.zeros(1 if any_open else 0, np.int64)
        answers = self._lanes.run(batch, rows, len(groups.last), probes)
        closed = closed_first(probe_of)
        ready = self._results(whose, by, batch, probe_of, closed, answers)
        if closed < 0 or rows.late.any():
            stays = np.flatnonzero((probe_of < 0) & ~rows.late)
        else:
            stays = np.arange(closed, len(rows.time))
        self._open.add(len(groups.last), rows.group[stays], batch.take(pa.array(stays)))
        return ready

    def advance(self, whose: Int64, theta: Int64, groups: Groups,
                no_rows: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Close these groups as far as `theta` says; `no_rows` has the input's columns."""
        probes = by_tuple_until(whose, theta, self._span, groups)
        answers = self._lanes.ask(len(groups.last), probes)
        return self._results(probes.group, np.arange(len(probes.group)), no_rows,
                             np.zeros(0, np.int64), 0, answers)

    def save(self) -> dict[str, Any]:
        """Write what changed; the result is what `load` needs."""
        return self._open.save()

    def load(self, meta: dict[str, Any]) -> None:
        """Read what `save` wrote."""
        self._open.load(meta)

    def _scratch(self, groups: int) -> Int64:
        if self._room.shape[1] < groups:
            self._room = np.full((2, 2 * groups), -1)
        return self._room

    def _results(self, whose: Int64, by: Int64, batch: pa.RecordBatch, probe_of: Int64,
                 closed: int, answers: list[pa.Array]) -> list[pa.RecordBatch]:
        """The rows that probes have closed, in the order of the probes, with their answers.

        The groups `whose` waiting rows are closed by the probes `by`; `closed` is what
        `closed_first` says of the batch's `probe_of`.
        """
        pieces, probe = [], []
        if len(whose):
            which, waiting = self._open.take(whose)
            pieces.append(waiting)
            probe.append(by[which])
        if closed >= 0:
            pieces.append(batch.slice(0, closed))
            probe.append(probe_of[:closed])
        else:
            done = np.flatnonzero(probe_of >= 0)
            pieces.append(batch.take(pa.array(done)))
            probe.append(probe_of[done])
        earlier = np.concatenate([*probe[:-1], probe[-1][:1]])
        which = np.concatenate(probe) if len(probe) > 1 else probe[0]
        pieces = [p for p in pieces if p.num_rows] or [pieces[-1]]
        if (np.diff(which if closed < 0 else earlier) < 0).any():
            order = np.argsort(which, kind="stable")
            which, pieces = which[order], [joined(pieces).take(pa.array(order))]
        if len(answers) and len(answers[0]) != len(which):
            answers = [_taken(a, which) for a in answers]
        ready, at = [], 0
        for rows in pieces:
            own = [a.slice(at, rows.num_rows) for a in answers]
            ready.append(pa.RecordBatch.from_arrays([*rows.columns, *own],
                                                    schema=self._result_schema))
            at += rows.num_rows
        return ready


def _taken(values: pa.Array, which: Int64) -> pa.Array:
    """`values` at the places `which`; numpy is the faster where there are no nulls."""
    if values.null_count or not (pa.types.is_integer(values.type)
                                 or pa.types.is_floating(values.type)):
        return values.take(pa.array(which))
    return pa.array(values.to_numpy()[which], values.type)
