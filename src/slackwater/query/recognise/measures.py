"""The results of matches: MEASURES, and the columns of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.query.expr.arrow import Compiled
from slackwater.query.expr.tree import Name
from slackwater.query.recognise.machine import CURRENT, FIRST, LAST
from slackwater.query.recognise.plan import Plan
from slackwater.query.recognise.resolve import (
    Aggregate,
    Classifier,
    Leaf,
    MatchNumber,
    Navigation,
    RowOf,
)
from slackwater.query.recognise.search import FOUND
from slackwater.query.recognise.values import Columns, ints_of, ranks, reals_of, taken
from slackwater.query.recognise.walks import Matches, Outputs, aggregate, navigate, rows_out

__all__ = ["Measures"]

Int64 = NDArray[np.int64]
_BASE = {"current": CURRENT, "first": FIRST, "last": LAST}


class Measures:
    """Computes the results of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._compiled = {name: r.compile() for name, r in plan.measures.items()}
        names = np.array([*plan.graph.variables, ""], object)
        self._names = pa.array(names, pa.string())

    def results(self, columns: Columns, what: Int64, number: Int64,
                matches: Matches) -> tuple[pa.RecordBatch, Int64]:
        """The rows of these matches (or without a match), and to which of them each belongs."""
        plan = self._plan
        shape = plan.tree.rows
        out = rows_out(shape == "one", shape == "omit", what == FOUND, matches,
                       plan.graph.excluded)
        found = _Values(plan, self._names, columns, out, matches, number)
        rows = pa.array(out.row)
        unmatched = what[out.match] != FOUND
        arrays = []
        for field in plan.matched:
            if field.name in self._compiled:
                value = found.measure(field.name, self._compiled[field.name])
                if unmatched.any():
                    value = pc.if_else(pa.array(unmatched), pa.scalar(None, value.type), value)
            else:
                value = columns.rows.column(field.name).take(rows)
            arrays.append(value)
        return pa.RecordBatch.from_arrays(arrays, schema=plan.matched), out.match


class _Values:
    """The values of leaves, each computed once."""

    def __init__(self, plan: Plan, names: pa.Array, columns: Columns, out: Outputs,
                 matches: Matches, number: Int64) -> None:
        self._plan, self._names, self._columns = plan, names, columns
        self._out, self._matches, self._number = out, matches, number
        self._known: dict[Leaf, pa.Array] = {}
        self._rows: dict[RowOf, Int64] = {}

    def measure(self, name: str, compiled: Compiled) -> pa.Array:
        leaves = self._plan.measures[name].leaves

        def value(place: Name) -> pa.Array:
            leaf = leaves[int(place.name)]
            if leaf not in self._known:
                self._known[leaf] = self._leaf(leaf)
            return self._known[leaf]

        return compiled.evaluate(value, len(self._out.match))

    def _leaf(self, leaf: Leaf) -> pa.Array:
        if isinstance(leaf, MatchNumber):
            return pa.array(self._number[self._out.match])
        if isinstance(leaf, Classifier):
            return self._classifier(leaf)
        if isinstance(leaf, Navigation):
            values = self._columns.of(leaf.inner, leaf.compiled)
            return taken(values, self._row(leaf.row))
        return self._aggregate(leaf)

    def _row(self, row: RowOf) -> Int64:
        if row not in self._rows:
            self._rows[row] = navigate(_BASE[row.base], row.mask, row.offset, row.shift, row.final,
                                       self._out, self._matches, self._plan.graph.variable)
        return self._rows[row]

    def _classifier(self, leaf: Classifier) -> pa.Array:
        row, out, matches = self._row(leaf.row), self._out, self._matches
        first, end = matches.first[out.match], matches.end[out.match]
        inside = (row >= first) & (row < end)
        place = np.where(inside, matches.path[out.match] + row - first, 0)
        variable = np.full(len(row), len(self._plan.graph.variables))
        if inside.any():
            variable[inside] = self._plan.graph.variable[matches.states[place[inside]]]
        return self._names.take(pa.array(variable, mask=~inside))

    def _aggregate(self, leaf: Aggregate) -> pa.Array:
        n = self._columns.rows.num_rows
        ints, reals, is_real = np.zeros(0, np.int64), np.zeros(0), False
        values: Any = None
        if leaf.inner is None:
            counted, ints = np.ones(n, bool), np.zeros(n, np.int64)
        else:
            assert leaf.compiled is not None
            values = self._columns.of(leaf.inner, leaf.compiled)
            if pa.types.is_floating(values.type):
                (reals, counted), is_real = reals_of(values), True
                counted = counted & ~np.isnan(reals)
            elif pa.types.is_string(values.type):
                [(ints, counted)] = ranks([values])
            else:
                ints, counted = ints_of(values)
        count, whole, real, fits, best = aggregate(
            2 if leaf.function == "min" else 3, leaf.mask, leaf.final, counted, ints, reals,
            is_real, self._out, self._matches, self._plan.graph.variable)
        if leaf.function == "count":
            return pa.array(count)
        if leaf.function in ("min", "max"):
            return taken(values, best)
        if leaf.function == "avg":
            with np.errstate(divide="ignore", invalid="ignore"):
                real, is_real = real / count, True
        if is_real:
            return pa.array(real, mask=(count == 0) | ~np.isfinite(real))
        return pa.array(whole, mask=(count == 0) | ~fits).cast(leaf.type)
