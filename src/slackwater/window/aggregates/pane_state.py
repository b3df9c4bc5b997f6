"""What is kept for the panes of one column: records, with all their fields in memory.

One layout for all aggregates lets one compiled loop serve them; what nobody asked for is not
written to the store.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.window.aggregates.arena import Free
from slackwater.window.aggregates.ranks import Tree
from slackwater.window.schedule import NEVER

__all__ = ["GROUP", "PANE", "Cells", "Records", "State", "Wanted", "partial_type"]

Int64 = NDArray[np.int64]
Records = NDArray[Any]

GROUP = np.array((NEVER, -1, -1, -1, -1), [(f, np.int64) for f in (
    "start", "head", "tail", "front", "cells")])
"""A group without panes.

`start` is where its open pane begins, NEVER for none; `head` and `tail` are the oldest and the
newest closed pane, `front` the newest one in front, −1 for none; `cells` is the open pane's newest
cell.
"""

PANE = np.array((0, -1, -1), [(f, np.int64) for f in ("start", "prev", "cells")])
"""A closed pane; `prev` is the one before it.  `Free.next` leads to the one after, and follows."""


def partial_type(value: Any) -> np.dtype[np.void]:
    """A partial aggregate of values of this type: sums as pairs of doubles, hi + lo."""
    return np.dtype([("count", np.int64), ("hi", np.float64), ("lo", np.float64),
                     ("mean", np.float64), ("m2", np.float64), ("least", value), ("most", value),
                     ("first", value), ("last", value)])


class Wanted(NamedTuple):
    """Which parts of a partial aggregate are asked for."""

    sum: bool
    spread: bool
    least: bool
    most: bool
    ends: bool
    ranks: bool


class Cells(NamedTuple):
    """Values, with the next cell of the same pane in `prev`; their counts are `Tree.weight`."""

    value: NDArray[Any]
    prev: Int64


class State(NamedTuple):
    """Everything that is kept for one column: `open` and `back` belong to groups."""

    groups: Records
    root: Int64
    opened: Int64  # how many panes are open, in a place of its own
    open: Records
    back: Records  # without any where a window is one pane
    panes: Records
    partials: Records
    free_panes: Free
    cells: Cells
    tree: Tree
    free_cells: Free
