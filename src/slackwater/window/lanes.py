"""One lane for each column that is aggregated: which kind it gets, and the answers put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state.ipc import empty_rows
from slackwater.window.aggregate import Aggregate
from slackwater.window.aggregates.distinct import DistinctLane
from slackwater.window.aggregates.extremes import Extremes
from slackwater.window.aggregates.lane import Lane
from slackwater.window.aggregates.pane_lane import PaneLane
from slackwater.window.schedule import NOTHING, Probes, Rows

__all__ = ["Lanes"]

Int64 = NDArray[np.int64]
AnyLane = Lane | PaneLane | Extremes | DistinctLane


class Lanes:
    """The aggregates of a window, column by column.

    Parameters
    ----------
    aggregates
        What is asked for.
    schema
        The columns of the input.
    span, pane
        Length of a window, and of the panes it is made of (None: per row, and there are none).
    grouped
        Whether there are groups.
    store
        Where lanes keep what they can load in parts.
    """

    def __init__(self, aggregates: Sequence[Aggregate], schema: pa.Schema, span: int,
                 pane: int | None, grouped: bool, store: Store) -> None:
        self._aggregates = len(aggregates)
        self._no_rows = empty_rows(schema)
        by_column: dict[tuple[str | None, bool], list[int]] = {}
        for i, aggregate in enumerate(aggregates):
            distinct = aggregate.function == "count_distinct"
            by_column.setdefault((aggregate.column, distinct), []).append(i)
        self._lanes: list[tuple[str | None, AnyLane, list[int]]] = []
        for (column, distinct), which in by_column.items():
            kind = None if column is None else schema.field(column).type
            name, asked = f"window/lane{len(self._lanes)}", [aggregates[i] for i in which]
            lane: AnyLane
            if distinct:
                lane = DistinctLane(name, store, len(which), once=pane == span)
            elif pane is not None:
                lane = PaneLane(name, kind, asked, pane, tumbling=pane == span)
            elif not grouped and Extremes.suits(asked):
                lane = Extremes(name, kind, asked)
            else:
                lane = Lane(name, kind, asked)
            self._lanes.append((column, lane, which))

    def run(self, batch: pa.RecordBatch, rows: Rows, groups: int, probes: Probes) -> list[pa.Array]:
        """Take in rows, but not the late ones, and answer probes: one column per aggregate."""
        found: list[pa.Array] = [None] * self._aggregates
        for column, lane, which in self._lanes:
            values = None if column is None else batch.column(column)
            answers = lane.run(rows.group, groups, rows.time, values, rows.late, probes)
            for i, answer in zip(which, answers, strict=True):
                found[i] = answer
        return found

    def ask(self, groups: int, probes: Probes) -> list[pa.Array]:
        """Answer probes without a row."""
        none: Int64 = np.zeros(0, np.int64)
        return self.run(self._no_rows, Rows(none, none, np.zeros(0, bool)), groups, probes)

    def forget(self, groups: int, whose: Int64, *, in_panes: bool) -> None:
        """Drop all values of these groups; their last window has left nothing in panes."""
        if in_panes:
            for _, lane, _ in self._lanes:
                if isinstance(lane, DistinctLane):
                    lane.forget(groups, whose)
            return
        everything = np.full(len(whose), NOTHING)
        self.ask(groups, Probes(np.zeros_like(whose), whose, everything, everything))

    @property
    def size(self) -> int:
        """How many values, panes or values of panes are kept for a column, at most."""
        return max((lane.size for _, lane, _ in self._lanes), default=0)

    def save(self, store: Store) -> list[Any]:
        """Write what changed; the result is what `load` needs."""
        return [lane.save(store) for _, lane, _ in self._lanes]

    def load(self, store: Store, meta: list[Any]) -> None:
        """Read what `save` wrote."""
        for (_, lane, _), saved in zip(self._lanes, meta, strict=True):
            lane.load(store, saved)
