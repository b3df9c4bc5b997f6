"""Queries over two streams: what to filter before pairing, how to pair, what to make of a pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import pyarrow as pa

from slackwater.correlate import Correlate
from slackwater.correlate.rows import By
from slackwater.query.correlate.names import PAIR, Names
from slackwater.query.correlate.timing import Timing, split_timing
from slackwater.query.correlate.tree import CorrelateTree
from slackwater.query.errors import QueryError, check_result_name
from slackwater.query.expr.arrow import Columns, Compiled, compile
from slackwater.query.expr.kinds import kind_of
from slackwater.query.expr.tree import Binary, Expr, Name
from slackwater.query.select.plan import selected
from slackwater.query.select.tree import Item

__all__ = ["CorrelatePlan", "plan_correlate"]

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


@dataclass(frozen=True)
class CorrelatePlan:
    """A query over two streams made ready.

    Parameters
    ----------
    tree
        The query.
    timing
        The timing condition.
    by
        Columns that must be equal, as (left name, right name).
    before
        Which rows of the left and of the right take part.
    after
        Which pairs do.
    outputs
        The selected columns, by name, over the columns of a pair.
    """

    tree: CorrelateTree
    timing: Timing
    by: By
    before: tuple[Compiled | None, Compiled | None]
    after: Compiled | None
    outputs: dict[str, Compiled]

    @property
    def options(self) -> dict[str, Any]:
        """The pairing as arguments of `Correlate`, `correlate_tables` or the Spark operator."""
        return {self.timing.form: self.timing.length, "confidence": self.timing.confidence,
                "by": self.by, "horizon": self.tree.within,
                "probability": "probability" in self.columns}

    @property
    def columns(self) -> list[str]:
        """The columns of a pair that the query needs, by their names there."""
        used = [*self.outputs.values(), *([] if self.after is None else [self.after])]
        return list(dict.fromkeys(name.name for one in used for name in one.names))

    @property
    def schema(self) -> pa.Schema:
        """The columns of the results."""
        return pa.schema([pa.field(name, one.type) for name, one in self.outputs.items()])

    def correlate(self, **more: Any) -> Correlate:
        """The kernel that pairs, for streams; `more` are roles, delays and lengths.

        A deadline or a delay without WITHIN has partners without end, and is refused.
        """
        if self.timing.form != "within" and self.tree.within is None:
            form = "deadline" if self.timing.form == "deadline" else "delay"
            raise QueryError(f"a {form} alone has partners without end, which no state can hold",
                             self.tree.text, self.timing.at, mistake="no-horizon",
                             hint="add WITHIN 1 hour at the end: rows further apart do not pair")
        return Correlate(**self.options, **more)

    def keep(self, rows: Rows, side: int) -> Rows:
        """The rows of the left (0) or right (1) side, or the pairs (2), that take part."""
        condition = (*self.before, self.after)[side]
        if condition is None:
            return rows
        return rows.filter(condition.evaluate(_reader(rows), rows.num_rows))  # NULL is not true

    def results(self, pairs: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
        """The selected columns of pairs."""
        return pa.RecordBatch.from_arrays(
            [one.evaluate(_reader(pairs), pairs.num_rows) for one in self.outputs.values()],
            schema=self.schema)


def _reader(rows: pa.Table | pa.RecordBatch) -> Columns:
    def column(name: Name) -> pa.Array:
        found = rows.column(name.name)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    return column


def plan_correlate(tree: CorrelateTree, left: pa.Schema, right: pa.Schema) -> CorrelatePlan:
    """Check a query against the columns of its two streams, and plan it."""
    timing, others = split_timing(tree)
    if timing.form == "within" and tree.within is not None:
        raise QueryError("the timing condition is bounded already: WITHIN has nothing to add",
                         tree.text, timing.at, hint="leave WITHIN out", mistake="within")
    planner = _Planner(tree, (left, right))
    by: list[tuple[str, str]] = []
    parts: dict[int, list[Expr]] = {0: [], 1: [], PAIR: []}
    for part in others:
        pair = planner.equal(part)
        if pair is not None:
            by.append(pair)
            continue
        sides = planner.names.sides(part)
        parts[sides.pop() if len(sides) == 1 else PAIR].append(part)
    before = (planner.condition(parts[0], 0), planner.condition(parts[1], 1))
    return CorrelatePlan(tree, timing, tuple(by), before, planner.condition(parts[PAIR], PAIR),
                         planner.outputs())


class _Planner:
    def __init__(self, tree: CorrelateTree, schemas: tuple[pa.Schema, pa.Schema]) -> None:
        self._tree, self._schemas, self._text = tree, schemas, tree.text
        self.names = Names(tree, schemas)

    def equal(self, part: Expr) -> tuple[str, str] | None:
        """The two columns, if this equates one of each side whose equality keys can decide."""
        if not (isinstance(part, Binary) and part.op == "="
                and isinstance(part.left, Name) and isinstance(part.right, Name)):
            return None
        ends = sorted(self.names.place(name) for name in (part.left, part.right))
        if [end.side for end in ends] != [0, 1]:
            return None
        types = [self._schemas[end.side].field(end.column).type for end in ends]
        return (ends[0].column, ends[1].column) if _alike(*types) else None

    def condition(self, parts: list[Expr], side: int) -> Compiled | None:
        """All the conditions of one place."""
        if not parts:
            return None
        for part in parts:
            self.names.check_plain(part)
            found = self._compiled(part, side)
            if not (pa.types.is_boolean(found.type) or pa.types.is_null(found.type)):
                raise QueryError("WHERE needs a condition", self._text, part.at,
                                 hint="compare it: … > 0", mistake="type")
        return self._compiled(reduce(lambda a, b: Binary("and", a, b, at=a.at), parts), side)

    def _compiled(self, expr: Expr, side: int) -> Compiled:
        if side == PAIR:
            return compile(self.names.of_pair(expr), _types(self.names.pairs), self._text)
        return compile(self.names.of_side(expr), _types(self._schemas[side]), self._text)

    def outputs(self) -> dict[str, Compiled]:
        """The selected columns."""
        found: dict[str, Compiled] = {}
        for item in self._tree.items:
            for name, expr in self._spelt(item):
                check_result_name(name, self._text, item.at)
                if name in found:
                    raise QueryError(f"two columns are called {name!r}", self._text, item.at,
                                     hint="give one of them another name with AS", mistake="twice")
                found[name] = selected(expr, _types(self.names.pairs), self._text)
        return found

    def _spelt(self, item: Item) -> list[tuple[str, Expr]]:
        """An item's name and expression; of * those of all columns, as `correlate` calls them."""
        expr, name = item.expr, item.name
        if expr is None:
            return [(n, Name(None, n, at=item.at)) for n in self.names.pairs.names]
        self.names.check_plain(expr)
        if name is None:
            name = (self.names.place(expr).column if isinstance(expr, Name)
                    else self._text[expr.at.start:expr.at.end])
        return [(name, self.names.of_pair(expr))]


def _types(schema: pa.Schema) -> Callable[[Name], pa.DataType]:
    return lambda name: schema.field(name.name).type


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether equal values have equal texts, which is what keys are compared by."""
    one, other = (t.value_type if pa.types.is_dictionary(t) else t for t in (one, other))
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return True
    kinds = kind_of(one), kind_of(other)
    if kinds[0] == "timestamp":
        return one == other
    return kinds in (("text", "text"), ("boolean", "boolean"))
