"""Columns of rows as the loops want them: numpy arrays, and which values are not NULL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.query.expr.arrow import Compiled
from slackwater.query.expr.tree import Expr, Name
from slackwater.query.expr.types import Typed

__all__ = ["Columns", "ints_of", "ranked", "ranks", "reals_of", "taken"]

Int64 = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Columns:
    """Values of expressions over the bare columns of a batch, each computed once."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.rows = rows
        self._known: dict[Expr | Typed, pa.Array] = {}

    def of(self, expr: Expr | Typed, compiled: Compiled) -> pa.Array:
        """The values for all rows."""
        if expr not in self._known:
            self._known[expr] = compiled.evaluate(self._column, self.rows.num_rows)
        return self._known[expr]

    def _column(self, name: Name) -> pa.Array:
        return self.rows.column(name.name)


def taken(values: pa.Array, rows: Int64) -> pa.Array:
    """The values at these rows; NULL where the row is −1."""
    missing = rows < 0
    if not missing.any():
        return values.take(pa.array(rows))
    return values.take(pa.array(rows, mask=missing))


def ints_of(values: pa.Array) -> tuple[Int64, Flags]:
    """Whole numbers, times or truth as int64."""
    ok = _valid(values)
    if pa.types.is_boolean(values.type) or pa.types.is_null(values.type):
        values = values.cast(pa.int64())
    elif not pa.types.is_integer(values.type):
        values = values.view(pa.int64())
    values = pc.fill_null(values, 0) if values.null_count else values
    return np.asarray(values.to_numpy(zero_copy_only=False), np.int64), ok


def reals_of(values: pa.Array) -> tuple[NDArray[np.float64], Flags]:
    """Real numbers."""
    ok = _valid(values)
    values = pc.fill_null(values, 0.0) if values.null_count else values
    return np.asarray(values.to_numpy(zero_copy_only=False), np.float64), ok


def _valid(values: pa.Array) -> Flags:
    if not values.null_count:
        return np.ones(len(values), bool)
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False))


def ranks(columns: Sequence[pa.Array]) -> list[tuple[Int64, Flags]]:
    """Texts as numbers that compare as the texts do, over all of these columns."""
    return ranked(columns)[0]


def ranked(columns: Sequence[pa.Array]) -> tuple[list[tuple[Int64, Flags]], pa.Array]:
    """As `ranks`, with the texts that the numbers stand for."""
    if not columns:
        return [], pa.array([], pa.string())
    whole: Any = pa.chunked_array([c.cast(pa.string()) for c in columns]).combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    coded = whole.dictionary_encode()
    order = pc.array_sort_indices(coded.dictionary).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    codes = pc.fill_null(coded.indices, len(order)).to_numpy(zero_copy_only=False)
    found, ok, at = rank[codes], _valid(whole), 0
    pieces = []
    for column in columns:
        pieces.append((found[at:at + len(column)], ok[at:at + len(column)]))
        at += len(column)
    return pieces, coded.dictionary.take(pa.array(order))
