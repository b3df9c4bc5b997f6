"""The aggregates over one column of windows with a slide: the panes of `panes`, with their state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.window.aggregate import Aggregate
from slackwater.window.aggregates import panes, ranks
from slackwater.window.aggregates.arena import Arena, Paged
from slackwater.window.aggregates.asked import Asked
from slackwater.window.aggregates.pane_state import (
    GROUP,
    PANE,
    Cells,
    State,
    Wanted,
    partial_type,
)
from slackwater.window.aggregates.values import Values, read_only
from slackwater.window.schedule import NEVER, Probes

__all__ = ["PaneLane"]

Int64 = NDArray[np.int64]


class PaneLane:
    """Takes in one column's values and answers probes with every aggregate over that column.

    Parameters
    ----------
    name
        Prefix of its tables in the store.
    kind
        The column's type; None: rows are counted.
    aggregates
        What is asked of it.
    slide
        The length of a pane: windows start at its multiples, and a group's probes go on by it.
    tumbling
        Whether a window is a single pane.
    """

    def __init__(self, name: str, kind: pa.DataType | None, aggregates: Sequence[Aggregate],
                 slide: int, tumbling: bool) -> None:
        self._slide, self._tumbling = slide, tumbling
        self._asked = asked = Asked(kind, aggregates)
        self._wanted = Wanted(asked.sum, asked.spread, asked.least, asked.most, asked.ends,
                                    len(asked.q) > 0)
        parts = {"hi": asked.sum, "lo": asked.sum, "mean": asked.spread, "m2": asked.spread,
                 "least": asked.least, "most": asked.most, "first": asked.ends,
                 "last": asked.ends, "cells": self._wanted.ranks}
        unwritten = [part for part, wanted in parts.items() if not wanted]
        none = np.zeros((), partial_type(asked.dtype))
        self._window = np.zeros(1, none.dtype)
        self._groups = Paged(f"{name}/groups", {
            "pane": GROUP, "open": none, **({} if tumbling else {"back": none})}, unwritten)
        self._panes = Arena(f"{name}/panes", {"pane": PANE, "partial": none}, unwritten)
        self._cells = Arena(f"{name}/cells", {"value": asked.dtype(0), "prev": np.int64(-1),
                                              "count": np.int64(0)})
        self._opened: Int64 = np.zeros(1, np.int64)
        self._tree = ranks.empty_tree(0)
        self._root: Int64 = np.zeros(0, np.int64)

    def run(self, group: Int64, groups: int, time: Int64, column: pa.Array | None,
            skip: NDArray[np.bool_], probes: Probes) -> list[pa.Array]:
        """Take in rows (but not those to skip) and answer probes: one column per aggregate."""
        value, hi, lo, skip = self._asked.numbers(column, len(time), skip)
        self._groups.hold(groups)
        self._groups.touch(group)
        self._groups.touch(probes.group)
        if self._wanted.ranks and len(self._root) < self._groups.rows:
            more = np.full(self._groups.rows - len(self._root), -1)
            self._root = np.concatenate([self._root, more])
        rows = Values(group, read_only(time), value, hi, lo, skip)
        out = self._asked.results(len(probes.at))
        row = probe = 0
        while True:
            row, probe = panes.run(row, probe, rows, probes, self._slide, self._state(),
                                   self._window, self._wanted, self._asked.q, out)
            if row == len(time) and probe == len(probes.at):
                return self._asked.answers(out)
            self._grow()

    @property
    def size(self) -> int:
        """How many panes are kept, or, with quantiles, distinct values of panes."""
        return self._cells.count if self._wanted.ranks else self._panes.count + int(self._opened[0])

    def save(self, store: Store) -> dict[str, Any]:
        """Write the pages that changed; the result is what `load` needs."""
        with_panes = self._groups["pane"]["start"] != NEVER
        saved = {"groups": self._groups.save(store, with_panes), "panes": self._panes.save(store),
                 "cells": self._cells.save(store)}
        if self._wanted.ranks and len(self._tree.left) > self._cells.rows:
            self._tree = ranks.resized(self._tree, self._cells.rows)
        return saved

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        """Read what `save` wrote."""
        self._groups.load(store, meta["groups"])
        self._panes.load(store, meta["panes"])
        self._cells.load(store, meta["cells"])
        if self._wanted.ranks:
            self._root = np.full(self._groups.rows, -1, np.int64)
            self._tree = ranks.empty_tree(self._cells.rows)
        self._opened[0] = 0
        panes.chain_up(self._state())
        self._panes.reclaim()
        self._cells.reclaim()

    def _grow(self) -> None:
        if not self._wanted.ranks or self._cells.free.ends[0] >= 0:
            self._panes.grow()
            return
        self._cells.grow()
        self._tree = ranks.resized(self._tree, self._cells.rows)

    def _state(self) -> State:
        groups, closed, cells = self._groups, self._panes, self._cells
        return State(
            groups["pane"], self._root, self._opened, groups["open"],
            self._window[:0] if self._tumbling else groups["back"], closed["pane"],
            closed["partial"], closed.free, Cells(cells["value"], cells["prev"]),
            self._tree._replace(weight=cells["count"]), cells.free)
