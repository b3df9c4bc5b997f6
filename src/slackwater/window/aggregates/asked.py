"""What is asked of one column, and so what has to be kept for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.window.aggregate import Aggregate
from slackwater.window.aggregates.values import (
    Results,
    answer,
    as_numbers,
    as_pairs,
    number_type,
    read_only,
)

__all__ = ["Asked"]

_NONE = np.zeros(0)


class Asked:
    """The aggregates over one column.

    Parameters
    ----------
    kind
        The column's type; None: rows are counted.
    aggregates
        What is asked of it.
    """

    def __init__(self, kind: pa.DataType | None, aggregates: Sequence[Aggregate]) -> None:
        self._kind, self._aggregates = kind, tuple(aggregates)
        functions = {a.function for a in aggregates}
        self._counts_only = kind is None or functions <= {"count"}
        self.dtype: Any = np.int64 if self._counts_only else number_type(kind)
        """The type of the values."""
        self.sum = bool(functions & {"sum", "avg"})
        self.spread = "stddev" in functions
        self.least, self.most = "min" in functions, "max" in functions
        self.ends = bool(functions & {"first", "last"})
        self._q = sorted({a.q for a in aggregates if a.q is not None})
        self.q: NDArray[np.float64] = np.array(self._q, np.float64)
        """The quantiles, each once."""

    def kept(self, columns: Mapping[str, bool]) -> dict[str, Any]:
        """Of column names, each with whether it is wanted, those that are, with their types."""
        kinds = {"least": self.dtype, "most": self.dtype, "first": self.dtype, "last": self.dtype,
                 "count": np.int64, "n": np.int64}
        return {c: kinds.get(c, np.float64) for c, wanted in columns.items() if wanted}

    def numbers(self, column: pa.Array | None, rows: int, skip: NDArray[np.bool_]) -> tuple[
            NDArray[Any], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """The values, each also as a pair of doubles if sums are asked for, and what to skip."""
        missing = None
        if column is None or (self._counts_only and not pa.types.is_floating(column.type)):
            value: NDArray[Any] = np.zeros(rows, np.int64)
            if column is not None and column.null_count:
                missing = column.is_null().to_numpy(zero_copy_only=False)
        else:
            value, missing = as_numbers(column)
            if self._counts_only:
                value = np.zeros(rows, np.int64)
        hi, lo = as_pairs(value) if self.sum else (_NONE, _NONE)
        skip = skip | missing if missing is not None else skip
        return read_only(value), read_only(hi), read_only(lo), skip

    def results(self, probes: int) -> Results:
        """Room for the answers to probes."""
        def room(wanted: bool, dtype: Any = np.float64) -> NDArray[Any]:
            return np.zeros(probes if wanted else 0, dtype)

        return Results(
            np.zeros(probes, np.int64), room(self.sum), room(self.sum), room(self.spread),
            room(self.least, self.dtype), room(self.most, self.dtype),
            room(self.ends, self.dtype), room(self.ends, self.dtype),
            np.zeros((probes if self._q else 0, len(self._q))))

    def answers(self, out: Results) -> list[pa.Array]:
        """One column for each aggregate."""
        return [answer(a.function, out, self._kind,
                       0 if a.q is None else self._q.index(a.q)) for a in self._aggregates]
