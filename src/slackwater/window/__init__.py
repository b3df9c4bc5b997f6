"""Aggregates over time windows, per row, sliding or by session, incremental, per group.

`window` is the configuration, `logic` what runs: `by_row`, `by_slide` and `by_session` are the
kinds of windows, `schedule` says when they are evaluated, `lanes` and `aggregates` hold the
aggregates, `open_rows` the rows that wait for their result.  `windowed` puts `reorder` in front.

Enters: rows in time order per group (`Window`), or in any order (`Windowed`).
Leaves: one result per row, or one per group and window.  May import: core, reorder.
"""

from slackwater.window.aggregate import FUNCTIONS, Aggregate
from slackwater.window.window import Window
from slackwater.window.windowed import Windowed

__all__ = ["FUNCTIONS", "Aggregate", "Window", "Windowed"]
