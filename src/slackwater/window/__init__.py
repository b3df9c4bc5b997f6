"""Aggregates over time windows, per tuple or sliding, incremental, per group.

`schedule` says when a window is evaluated; `stacks` and `ranks` keep the aggregates; `lane` is one
column's worth of them; `kernel` puts them together; `windowed` puts `reorder` in front.

Enters: rows in time order per group (`Window`), or in any order (`Windowed`).
Leaves: one result a row, or one a group and window.  May import: events, kernel, state, outcome,
reorder.
"""

from slackwater.window.aggregate import FUNCTIONS, Aggregate
from slackwater.window.window import Window
from slackwater.window.windowed import Windowed

__all__ = ["FUNCTIONS", "Aggregate", "Window", "Windowed"]
