"""Windows with a slide: every group gets one result for each window that has a row in it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.state.keys import Keys
from slackwater.window.lanes import Lanes
from slackwater.window.schedule import Groups, Probes, Rows, by_slide, by_slide_until

__all__ = ["BySlide"]

Int64 = NDArray[np.int64]
_STAMP = pa.timestamp("us", "UTC")


class BySlide:
    """One result for each group and window [start, start + range).

    Parameters
    ----------
    span
        Length of the windows.
    slide
        From one window's start to the next.
    lanes
        The aggregates.
    names
        The groups' key values.
    result_schema
        The columns of the results.
    """

    def __init__(self, span: int, slide: int, lanes: Lanes, names: Keys,
                 result_schema: pa.Schema) -> None:
        self._span, self._slide, self._lanes, self._names = span, slide, lanes, names
        self._result_schema = result_schema

    def __len__(self) -> int:
        return 0  # no row waits: its pane has it

    def take_in(self, batch: pa.RecordBatch, rows: Rows, groups: Groups) -> list[pa.RecordBatch]:
        """What is ready once these rows have come."""
        probes = by_slide(rows, self._span, self._slide, groups)
        return self._results(probes, self._lanes.run(batch, rows, len(groups.last), probes))

    def advance(self, whose: Int64, theta: Int64, groups: Groups,
                no_rows: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Close the windows of these groups as far as `theta` says."""
        probes = by_slide_until(whose, theta, self._span, self._slide, groups)
        return self._results(probes, self._lanes.ask(len(groups.last), probes))

    def save(self) -> None:
        """Nothing to write: no row waits."""

    def load(self, meta: None) -> None:
        """Nothing to read."""

    def _key_values(self, groups: Int64) -> list[pa.Array]:
        if not self._names.columns:
            return []
        distinct, where = np.unique(groups, return_inverse=True)
        columns = (column.take(pa.array(where)) for column in self._names.values(distinct))
        return [column.cast(self._result_schema.field(at + 2).type)
                for at, column in enumerate(columns)]

    def _results(self, probes: Probes, answers: list[pa.Array]) -> list[pa.RecordBatch]:
        ends = pa.array(probes.end).cast(_STAMP)
        starts = pa.array(probes.end - self._span).cast(_STAMP)
        return [pa.RecordBatch.from_arrays(
            [starts, ends, *self._key_values(probes.group), *answers], schema=self._result_schema)]
