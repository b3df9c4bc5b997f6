"""Windows with a slide: every group gets one result for each window that has a row in it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.state.keys import Keys
from slackwater.window.by_group import ByGroup
from slackwater.window.lanes import Lanes
from slackwater.window.schedule import Groups, Probes, Rows, by_slide, by_slide_until

__all__ = ["BySlide"]

Int64 = NDArray[np.int64]


class BySlide(ByGroup):
    """One result for each group and window [start, start + range).

    Parameters
    ----------
    span
        Length of the windows.
    slide
        From one window's start to the next.
    lanes, names, result_schema
        As in `ByGroup`.
    """

    def __init__(self, span: int, slide: int, lanes: Lanes, names: Keys,
                 result_schema: pa.Schema) -> None:
        super().__init__(lanes, names, result_schema)
        self._span, self._slide = span, slide

    def take_in(self, batch: pa.RecordBatch, rows: Rows, groups: Groups) -> list[pa.RecordBatch]:
        """What is ready once these rows have come."""
        probes = by_slide(rows, self._span, self._slide, groups)
        return self.results(probes, self._lanes.run(batch, rows, len(groups.last), probes))

    def until(self, whose: Int64, theta: Int64, groups: Groups) -> Probes:
        """The windows of these groups that end at or before their `theta` (by group)."""
        return by_slide_until(whose, theta, self._span, self._slide, groups)
