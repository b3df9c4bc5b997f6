"""The aggregates over one column of a window, for all groups, with their state in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state import Table
from slackwater.window import ranks, stacks
from slackwater.window.aggregate import Aggregate
from slackwater.window.schedule import Probes

__all__ = ["Lane", "numbers", "read_only", "typed"]

_NONE = np.zeros(0)


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
    slide
        By how much a group's probes at least go on from one to the next.
    """

    def __init__(self, name: str, kind: pa.DataType | None, aggregates: Sequence[Aggregate],
                 slide: int = 0) -> None:
        self._slide = slide
        self.name, self._kind, self._aggregates = name, kind, tuple(aggregates)
        counted_only = all(a.function == "count" for a in aggregates)
        real = kind is not None and pa.types.is_floating(kind) and not counted_only
        self._dtype = np.float64 if real else np.int64
        self._constant = kind is None or counted_only
        asked = {a.function for a in aggregates}
        self._q = sorted({a.q for a in aggregates if a.q is not None})
        self._asked = stacks.Asked(
            bool(asked & {"sum", "avg"}), "stddev" in asked, "min" in asked, "max" in asked,
            bool(asked & {"first", "last"}), np.array(self._q, np.float64))
        zero = self._dtype(0)
        kept = {"hi": (np.float64(0), self._asked.sum), "lo": (np.float64(0), self._asked.sum),
                "n": (np.int64(0), self._asked.deviation),
                "mean": (np.float64(0), self._asked.deviation),
                "m2": (np.float64(0), self._asked.deviation),
                "least": (zero, self._asked.least), "most": (zero, self._asked.most)}
        self._unused = {c: np.zeros(0, np.asarray(v).dtype) for c, (v, used) in kept.items()
                        if not used}
        used = {c: v for c, (v, is_used) in kept.items() if is_used}
        none = np.int64(-1)
        self._entries = Table(f"{name}/entries", {"time": np.int64(0), "value": zero, "prev": none,
                                                  **used})
        self._next = np.zeros(0, np.int64)
        self._groups = Table(f"{name}/groups", {
            "head": none, "tail": none, "front": none, "size": np.int64(0), **used})
        self._root = np.full(0, -1, np.int64)
        self._tree = ranks.Tree(*(np.zeros(0, np.int64) for _ in range(3)))
        self._free = np.array([-1, -1])  # first and last of the chain of free entries
        self._dirty = np.zeros(0, bool)

    def run(self, group: NDArray[np.int64], groups: int, time: NDArray[np.int64],
            column: pa.Array | None, skip: NDArray[np.bool_], probes: Probes) -> list[pa.Array]:
        """Take in rows (but not those to skip) and answer probes: one array an aggregate."""
        value, hi, lo, missing = self._values(column, len(time))
        skip = skip | missing if missing is not None else skip
        self._groups.grow(groups)
        self._groups.touch(group)
        self._groups.touch(probes.group)
        if len(self._root) < groups:
            more = max(groups, 2 * len(self._root)) if self._q else groups
            self._root = np.concatenate([self._root, np.full(more - len(self._root), -1)])
        out = self._results(len(probes.at))
        time, value, hi, lo = (read_only(a) for a in (time, value, hi, lo))
        row = probe = 0
        while True:
            row, probe = stacks.run(
                row, probe, group, time, value, hi, lo, skip, probes.at, probes.group, probes.low,
                self._slide, self._entry_columns(), self._group_columns(), self._tree, self._free,
                self._dirty, self._asked, out)
            if row == len(time) and probe == len(probes.at):
                break
            self._grow()
        return [self._answer(a, out) for a in self._aggregates]

    @property
    def size(self) -> int:
        """How many values are kept, over all groups."""
        return int(self._groups["size"].sum())

    def save(self, store: Store) -> dict[str, int]:
        """Write the pages that changed; the result is what `load` needs."""
        self._entries.touch(np.flatnonzero(self._dirty) << stacks.PAGE_BITS)
        self._dirty[:] = False
        stacks.tidy(self._next, self._free)
        return {"entries": self._entries.save(store), "groups": self._groups.save(store)}

    def load(self, store: Store, meta: dict[str, int]) -> None:
        """Read what `save` wrote; free entries and the tree of ranks follow from the chains."""
        self._entries.load(store, meta["entries"])
        self._groups.load(store, meta["groups"])
        rows = self._entries.rows
        self._dirty = np.zeros(-(-rows // (1 << stacks.PAGE_BITS)), bool)
        self._tree = ranks.Tree(*(np.zeros(rows if self._q else 0, np.int64) for _ in range(3)))
        self._root = np.full(self._groups.rows, -1, np.int64)
        self._next = np.full(rows, -1, np.int64)
        used = stacks.chain_up(self._entry_columns(), self._group_columns(), self._tree,
                               bool(self._q))
        self._chain(np.flatnonzero(~used))
        stacks.tidy(self._next, self._free)

    # -- inside ---------------------------------------------------------------------------------

    def _values(self, column: pa.Array | None, rows: int) -> tuple[
            NDArray[Any], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_] | None]:
        if column is None:
            return np.zeros(rows, np.int64), _NONE, _NONE, None
        floating = pa.types.is_floating(column.type)
        if self._constant and not floating:
            missing = (column.is_null().to_numpy(zero_copy_only=False) if column.null_count
                       else None)
            return np.zeros(rows, np.int64), _NONE, _NONE, missing
        value, missing = numbers(column)
        if self._constant:
            return np.zeros(rows, np.int64), _NONE, _NONE, missing
        if floating:
            return value, value, np.zeros(rows) if self._asked.sum else _NONE, missing
        if not self._asked.sum:
            return value, _NONE, _NONE, missing
        # an int64 as the sum of two doubles: 32 bits each are exact
        top = ((value >> 32) << 32).astype(np.float64)
        bottom = (value & 0xFFFFFFFF).astype(np.float64)
        hi = top + bottom
        return value, hi, bottom - (hi - top), missing

    def _results(self, n: int) -> stacks.Results:
        asked = self._asked

        def room(wanted: bool, dtype: Any = np.float64) -> NDArray[Any]:
            return np.zeros(n if wanted else 0, dtype)

        return stacks.Results(
            np.zeros(n, np.int64), room(asked.sum), room(asked.sum), room(asked.deviation),
            room(asked.least, self._dtype), room(asked.most, self._dtype),
            room(asked.ends, self._dtype), room(asked.ends, self._dtype),
            np.zeros((n if self._q else 0, len(self._q))))

    def _entry_columns(self) -> stacks.Entries:
        apart = {**self._unused, "next": self._next}
        columns: list[Any] = [apart[c] if c in apart else self._entries[c]
                              for c in stacks.Entries._fields]
        return stacks.Entries(*columns)

    def _group_columns(self) -> stacks.Groups:
        apart = {**self._unused, "root": self._root}
        columns: list[Any] = [apart[c] if c in apart else self._groups[c]
                              for c in stacks.Groups._fields]
        return stacks.Groups(*columns)

    def _grow(self) -> None:
        old = self._entries.rows
        new = max(1 << stacks.PAGE_BITS, 2 * old)
        self._entries.grow(new)
        self._next = np.concatenate([self._next, np.full(new - old, -1)])
        self._dirty = np.concatenate([
            self._dirty, np.zeros(-(-new // (1 << stacks.PAGE_BITS)) - len(self._dirty), bool)])
        if self._q:
            self._tree = ranks.Tree(*(np.concatenate([a, np.zeros(new - len(a), np.int64)])
                                      for a in self._tree))
        self._chain(np.arange(old, new))

    def _chain(self, slots: NDArray[np.int64]) -> None:
        """Add slots to the free ones."""
        if len(slots) == 0:
            return
        following = self._next
        following[slots[:-1]] = slots[1:]
        following[slots[-1]] = -1
        if self._free[1] >= 0:
            following[self._free[1]] = slots[0]
        else:
            self._free[0] = slots[0]
        self._free[1] = slots[-1]

    def _answer(self, aggregate: Aggregate, out: stacks.Results) -> pa.Array:
        count, function = out.size, aggregate.function
        if function == "count":
            return pa.array(count)
        empty = count == 0 if (count == 0).any() else None
        if function in ("min", "max", "first", "last"):
            values = {"min": out.least, "max": out.most, "first": out.first,
                      "last": out.last}[function]
            return typed(pa.array(values, mask=empty), self._kind)
        if function == "sum" and self._dtype is np.int64:
            sums = _whole_sums(out.hi, out.lo, empty)
            return sums if pa.types.is_integer(self._kind) else typed(sums, self._kind)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            if function == "sum":
                return pa.array(out.hi + out.lo, mask=empty)
            if function == "avg":
                return pa.array(out.hi / count + out.lo / count, mask=empty)
            if function == "stddev":
                return pa.array(np.sqrt(out.m2 / np.maximum(count - 1, 1)), mask=count < 2)
        assert aggregate.q is not None
        quantiles: NDArray[Any] = out.quantiles[..., self._q.index(aggregate.q)]
        return pa.array(quantiles, mask=empty)


def numbers(column: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """A column as float64 or int64, and which rows are left out (None: none)."""
    if pa.types.is_floating(column.type):
        value = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        strange = np.isnan(value)  # NULL is NaN here, too
        return value, strange if strange.any() else None
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if not pa.types.is_integer(column.type):
        # times and durations as numbers of their own unit, booleans as 0 and 1
        column = column.cast(pa.int64() if not pa.types.is_boolean(column.type) else pa.int8())
    filled = pc.fill_null(column, 0) if column.null_count else column
    return filled.cast(pa.int64()).to_numpy(zero_copy_only=False), missing


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to.

    Arrow's columns are read-only or not by how they came about, and numba compiles a function for
    each: this way there is one.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _whole_sums(hi: NDArray[np.float64], lo: NDArray[np.float64],
                empty: NDArray[np.bool_] | None) -> pa.Array:
    """Pairs of doubles as int64, NULL where the sum does not fit."""
    top = np.floor(hi / 2.0**32)
    fits = np.abs(top) <= 2.0**31
    whole_top = np.where(fits, top, 0).astype(np.int64)
    rest = (np.where(fits, hi - top * 2.0**32, 0).astype(np.int64)
            + np.where(fits, lo, 0).astype(np.int64))
    # the top half at its ends may go either way: decide by the parts, which cannot overflow
    whole_top, rest = whole_top + (rest >> 32), rest & 0xFFFFFFFF
    fits &= (whole_top >= -(2**31)) & (whole_top < 2**31)
    values = (np.where(fits, whole_top, 0) << 32) + rest
    return pa.array(values, mask=~fits if empty is None else ~fits | empty)


def typed(values: pa.Array, kind: pa.DataType | None) -> pa.Array:
    """Numbers as what the column was."""
    assert kind is not None
    if pa.types.is_integer(kind):
        return values.cast(kind, safe=False) if values.type != kind else values
    if pa.types.is_boolean(kind):
        return values.cast(pa.bool_())
    if values.type == kind:
        return values
    return values.cast(kind)
