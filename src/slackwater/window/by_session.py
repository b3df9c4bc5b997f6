"""Sessions: every group gets one result for each run of rows without a gap in it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.state.keys import Keys
from slackwater.window.by_group import ByGroup
from slackwater.window.lanes import Lanes
from slackwater.window.schedule import Groups, Probes, Rows, by_session, by_session_until

__all__ = ["BySession"]

Int64 = NDArray[np.int64]


class BySession(ByGroup):
    """One result for each group and session, from its first time to its last time + gap.

    To the aggregates a session is a pane: all its rows come at the time that it begins, and the
    next one begins later.

    Parameters
    ----------
    gap
        How long a group is silent before its session has ended.
    lanes, names, result_schema
        As in `ByGroup`; the lanes have panes of one microsecond.
    """

    def __init__(self, gap: int, lanes: Lanes, names: Keys, result_schema: pa.Schema) -> None:
        super().__init__(lanes, names, result_schema)
        self._gap = gap

    def take_in(self, batch: pa.RecordBatch, rows: Rows, groups: Groups) -> list[pa.RecordBatch]:
        """What is ready once these rows have come."""
        begin = np.zeros(len(rows.time), np.int64)
        probes = by_session(rows, self._gap, groups, begin)
        answers = self._lanes.run(batch, rows._replace(time=begin), len(groups.last), probes)
        return self.results(probes, answers)

    def until(self, whose: Int64, theta: Int64, groups: Groups) -> Probes:
        """The open sessions of these groups that end before their `theta` (by group)."""
        return by_session_until(whose, theta, self._gap, groups)
