"""A stream at rest: a table in arrival order, and what its columns mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import Roles, event_times

__all__ = ["Dataset", "in_arrival_order"]


@dataclass(frozen=True)
class Dataset:
    """Rows in arrival order, with the roles of their columns.

    Parameters
    ----------
    name
        What tables and pictures call it: the stem of its file.
    table
        The rows, by arrival; those that arrived at the same moment in the order of the input.
    roles
        Which column is the time, the arrival, …
    finished
        Column with the moment at which the event's processing was over, where it was recorded;
        that minus `time` is paper 3's *full processing time*.

    Examples
    --------
    >>> table = pa.table({"time": [5, 3], "arrival": [9, 8]})
    >>> Dataset("tiny", table, Roles("time", "arrival", unit="us")).delays().tolist()
    [4, 5]
    """

    name: str
    table: pa.Table
    roles: Roles
    finished: str | None = None

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def delays(self) -> NDArray[np.int64]:
        """Arrival − time of the rows where both can be read, in microseconds."""
        if self.roles.arrival is None:
            return np.zeros(0, np.int64)
        return self._since_time(self.roles.arrival)

    def processing_times(self) -> NDArray[np.int64] | None:
        """Full processing times in microseconds, or None where they were not recorded."""
        return None if self.finished is None else self._since_time(self.finished)

    def _since_time(self, column: str) -> NDArray[np.int64]:
        time, time_ok = event_times(self.table[self.roles.time], unit=self.roles.unit,
                                    name=self.roles.time)
        then, then_ok = event_times(self.table[column], unit=self.roles.unit, name=column)
        return (then - time)[time_ok & then_ok]


def in_arrival_order(table: pa.Table, roles: Roles) -> pa.Table:
    """Sort by arrival; ties, and rows without a readable arrival, keep their place in the input."""
    if roles.arrival is None or table.num_rows == 0:
        return table  # without arrivals, the order of the input is the order of arrival
    arrival, readable = event_times(table[roles.arrival], unit=roles.unit, name=roles.arrival)
    if not readable.all():
        # the row before it that has an arrival says where it belongs
        last = np.maximum.accumulate(np.where(readable, np.arange(len(arrival)), -1))
        arrival = np.where(last >= 0, arrival[last], np.iinfo(np.int64).min)
    if len(arrival) < 2 or bool((arrival[1:] >= arrival[:-1]).all()):
        return table
    return table.take(pa.array(np.argsort(arrival, kind="stable")))
