"""Windows that are of many rows: every group gets one result for each, with the window's ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.state.keys import Keys
from slackwater.window.lanes import Lanes
from slackwater.window.schedule import Groups, Probes, Rows

__all__ = ["ByGroup"]

Int64 = NDArray[np.int64]
_STAMP = pa.timestamp("us", "UTC")


class ByGroup(ABC):
    """One result for each group and window; a probe's `low` and `end` are the window's.

    Parameters
    ----------
    lanes
        The aggregates.
    names
        The groups' key values.
    result_schema
        The columns of the results.
    """

    def __init__(self, lanes: Lanes, names: Keys, result_schema: pa.Schema) -> None:
        self._lanes, self._names, self._result_schema = lanes, names, result_schema

    def __len__(self) -> int:
        return 0  # no row waits: its pane has it

    @abstractmethod
    def take_in(self, batch: pa.RecordBatch, rows: Rows, groups: Groups) -> list[pa.RecordBatch]:
        """What is ready once these rows have come."""

    def advance(self, whose: Int64, theta: Int64, groups: Groups,
                no_rows: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Close the windows of these groups as far as `theta` says."""
        probes = self.until(whose, theta, groups)
        return self.results(probes, self._lanes.ask(len(groups.last), probes))

    @abstractmethod
    def until(self, whose: Int64, theta: Int64, groups: Groups) -> Probes:
        """The windows of these groups that no row from their `theta` on (by group) can change."""

    def save(self) -> dict[str, Any]:
        """Nothing to write: no row waits."""
        return {}

    def load(self, meta: dict[str, Any]) -> None:
        """Nothing to read."""
        assert not meta

    def results(self, probes: Probes, answers: list[pa.Array]) -> list[pa.RecordBatch]:
        """The window's ends, the group's values and the aggregates' answers."""
        return [pa.RecordBatch.from_arrays(
            [pa.array(probes.low).cast(_STAMP), pa.array(probes.end).cast(_STAMP),
             *self._key_values(probes.group), *answers], schema=self._result_schema)]

    def _key_values(self, groups: Int64) -> list[pa.Array]:
        if not self._names.columns:
            return []
        distinct, where = np.unique(groups, return_inverse=True)
        columns = (column.take(pa.array(where)) for column in self._names.values(distinct))
        return [column.cast(self._result_schema.field(at + 2).type)
                for at, column in enumerate(columns)]
