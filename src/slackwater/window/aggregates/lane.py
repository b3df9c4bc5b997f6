"""The aggregates over one column of windows per row: the entries of `two_stacks`, with their state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state import Table
from slackwater.window.aggregate import Aggregate
from slackwater.window.aggregates import ranks, two_stacks
from slackwater.window.aggregates.arena import Arena
from slackwater.window.aggregates.asked import Asked
from slackwater.window.aggregates.values import Values, read_only
from slackwater.window.schedule import Probes

__all__ = ["Lane"]

Int64 = NDArray[np.int64]


class Lane:
    """Takes in one column's values and answers probes with every aggregate over that column.

    Parameters
    ----------
    name
        Prefix of its tables in the store.
    kind
        The column's type; None: rows are counted.
    aggregates
        What is asked of it.
    """

    def __init__(self, name: str, kind: pa.DataType | None,
                 aggregates: Sequence[Aggregate]) -> None:
        self._asked = asked = Asked(kind, aggregates)
        self._ranked = len(asked.q) > 0
        kept = asked.kept({"hi": asked.sum, "lo": asked.sum, "n": asked.spread,
                           "mean": asked.spread, "m2": asked.spread, "least": asked.least,
                           "most": asked.most})
        every = asked.kept(dict.fromkeys(two_stacks.Partials._fields, True))
        self._unkept = {c: np.zeros(0, t) for c, t in every.items() if c not in kept}
        none = np.int64(-1)
        self._entries = Arena(f"{name}/entries", {
            "time": np.int64(0), "value": asked.dtype(0), "prev": none,
            **{c: t(0) for c, t in kept.items()}})
        self._groups = Table(f"{name}/groups", {
            "head": none, "tail": none, "front": none, "size": np.int64(0),
            **{c: t(0) for c, t in kept.items()}})
        self._root: Int64 = np.zeros(0, np.int64)
        self._tree = ranks.empty_tree(0)

    def run(self, group: Int64, groups: int, time: Int64, column: pa.Array | None,
            skip: NDArray[np.bool_], probes: Probes) -> list[pa.Array]:
        """Take in rows (but not those to skip) and answer probes: one column per aggregate."""
        value, hi, lo, skip = self._asked.numbers(column, len(time), skip)
        self._groups.grow(groups)
        self._groups.touch(group)
        self._groups.touch(probes.group)
        if self._ranked and len(self._root) < groups:
            more = np.full(max(groups, 2 * len(self._root)) - len(self._root), -1)
            self._root = np.concatenate([self._root, more])
        rows = Values(group, read_only(time), value, hi, lo, skip)
        out = self._asked.results(len(probes.at))
        row = probe = 0
        while True:
            row, probe = two_stacks.run(row, probe, rows, probes, self._state(), self._asked.q, out)
            if row == len(time) and probe == len(probes.at):
                return self._asked.answers(out)
            self._grow()

    @property
    def size(self) -> int:
        """How many values are kept, over all groups."""
        return self._entries.count

    def save(self, store: Store) -> dict[str, Any]:
        """Write the pages that changed; the result is what `load` needs."""
        saved = {"entries": self._entries.save(store), "groups": self._groups.save(store)}
        if self._ranked and len(self._tree.left) > self._entries.rows:
            self._tree = ranks.resized(self._tree, self._entries.rows)
        return saved

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        """Read what `save` wrote; free entries and the tree of ranks follow from the chains."""
        self._entries.load(store, meta["entries"])
        self._groups.load(store, meta["groups"])
        if self._ranked:
            self._tree = ranks.empty_tree(self._entries.rows)
            self._root = np.full(self._groups.rows, -1, np.int64)
        two_stacks.chain_up(self._state(), self._ranked)
        self._entries.reclaim()

    def _grow(self) -> None:
        self._entries.grow()
        if self._ranked:
            self._tree = ranks.resized(self._tree, self._entries.rows)

    def _state(self) -> two_stacks.State:
        groups, entries = self._groups, self._entries
        return two_stacks.State(
            two_stacks.Groups(groups["head"], groups["tail"], groups["front"], groups["size"],
                              self._root),
            self._partials(groups),
            two_stacks.Entries(entries["time"], entries["value"], entries["prev"]),
            self._partials(entries), entries.free, self._tree)

    def _partials(self, table: Table | Arena) -> two_stacks.Partials:
        return two_stacks.Partials(**{c: self._unkept[c] if c in self._unkept else table[c]
                                      for c in two_stacks.Partials._fields})
