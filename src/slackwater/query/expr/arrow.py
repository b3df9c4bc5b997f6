"""Expressions made to run: checked against the columns' types, then evaluated over whole columns.

This is the Arrow back end: a typed tree (`typed`) in, a function over columns out.  What each
operator does, with NULL, NaN and overflow, is in the table of `operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from slackwater.query.errors import QueryError
from slackwater.query.expr import arithmetic
from slackwater.query.expr.elsewhere import column_hint
from slackwater.query.expr.kinds import TYPES, scalar_of
from slackwater.query.expr.tree import Expr, Name, walk
from slackwater.query.expr.types import Apply, Checker, Constant, Leaf, Typed

__all__ = ["Columns", "Compiled", "compile", "compile_condition", "evaluate_typed",
           "schema_lookup"]

Columns = Callable[[Name], pa.Array]


@dataclass(frozen=True)
class Compiled:
    """An expression that can be evaluated.

    Parameters
    ----------
    type
        The Arrow type of its result: int64, float64, string, bool, timestamp, duration or null.
    names
        The columns it needs.
    """

    type: pa.DataType
    names: tuple[Name, ...]
    _run: Callable[[Columns], Any]

    def evaluate(self, columns: Columns, length: int = 1) -> pa.Array:
        """The expression's value for every row; `length` matters where it names no column."""
        value = self._run(columns)
        if isinstance(value, pa.ChunkedArray):
            value = value.combine_chunks()
        if isinstance(value, pa.Scalar):
            value = pa.repeat(value, length)
        return value if value.type == self.type else pc.cast(value, self.type)


def schema_lookup(schema: pa.Schema, text: str, *,
                  also: Iterable[str] = ()) -> Callable[[Name], pa.DataType]:
    """A `schema_of` for unqualified (or freely qualified) columns of one table.

    `also` are names that are not columns but worth a suggestion.
    """
    folded = {name.lower(): name for name in schema.names}

    def schema_of(name: Name) -> pa.DataType:
        if name.name in schema.names:
            return schema.field(name.name).type
        hint = column_hint(name.name, [*schema.names, *also])
        if name.name.lower() in folded:
            hint = f"names are case-sensitive: write {folded[name.name.lower()]!r}"
        raise QueryError(f"there is no column {name.name!r}", text, name.at, hint=hint,
                         expected=f"one of {', '.join(schema.names)}", mistake="unknown-column")

    return schema_of


def compile(expr: Expr, schema_of: Callable[[Name], pa.DataType], text: str = "", *,
            unit_of: Callable[[Name], str | None] = lambda name: None) -> Compiled:
    """Check an expression and make it ready to run.

    Parameters
    ----------
    expr
        The tree.
    schema_of
        The Arrow type of a column; raises for one that does not exist (see `schema_lookup`).
    text
        The query that the expression is part of, for errors to point into.
    unit_of
        The unit of a column that holds times as whole numbers; None for any other.

    Examples
    --------
    >>> from slackwater.query.expr.parse import parse_expression
    >>> text = "value > 2 AND room != 'attic'"
    >>> table = pa.table({"value": [1.0, 3.0, None], "room": ["hall", None, "attic"]})
    >>> where = compile(parse_expression(text), schema_lookup(table.schema, text), text)
    >>> where.evaluate(lambda name: table[name.name].combine_chunks()).to_pylist()
    [False, None, False]
    """
    checker = Checker(schema_of, text, unit_of=unit_of)
    return _compiled(expr, checker.check, text)


def compile_condition(expr: Expr, schema_of: Callable[[Name], pa.DataType], text: str = "", *,
                      unit_of: Callable[[Name], str | None] = lambda name: None,
                      where: str = "WHERE") -> Compiled:
    """As `compile`, of what must be a condition; NULL alone is one that is never true."""
    checker = Checker(schema_of, text, unit_of=unit_of)
    return _compiled(expr, lambda node: checker.condition(node, where), text)


def _compiled(expr: Expr, check: Callable[[Expr], Typed], text: str) -> Compiled:
    try:
        tree = check(expr)
    except RecursionError:
        raise QueryError("the expression is nested too deeply", text, expr.at) from None
    names = tuple(dict.fromkeys(n for n in walk(expr) if isinstance(n, Name)))
    return Compiled(TYPES[tree.kind], names, lambda columns: evaluate_typed(tree, columns))


def evaluate_typed(tree: Typed, columns: Columns) -> Any:
    """The value of a typed tree: an Arrow array, or a scalar if it names no column."""
    if isinstance(tree, Apply):
        return tree.operator.run(*[evaluate_typed(arg, columns) for arg in tree.args])
    if isinstance(tree, Constant):
        return scalar_of(tree.value, tree.kind)
    assert isinstance(tree, Leaf)
    assert isinstance(tree.node, Name)
    return arithmetic.read(columns(tree.node), TYPES[tree.kind])
