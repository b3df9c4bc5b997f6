"""Expressions made to run: checked against the columns' types, then evaluated over whole columns.

SQL's three-valued logic holds: what involves NULL is NULL, except where the other side decides
(FALSE AND NULL is FALSE).  Arithmetic without a finite result (a division by zero, an overflow) is
NULL too: one bad row must not stop a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.errors import did_you_mean
from slackwater.query import arithmetic
from slackwater.query.ast import (
    Between,
    Binary,
    Call,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Name,
    Star,
    Unary,
    walk,
)
from slackwater.query.errors import QueryError
from slackwater.query.functions import FUNCTIONS
from slackwater.query.kinds import TYPES, as_kind, kind_of, literal_value
from slackwater.query.parse import Builder

__all__ = ["Columns", "Compiled", "compile", "schema_lookup"]

Columns = Callable[[Name], pa.Array]
_COMPARE = {"=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal,
            ">": pc.greater, ">=": pc.greater_equal}


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
        hint = did_you_mean(name.name, [*schema.names, *also])
        if name.name.lower() in folded:
            hint = f"names are case-sensitive: write {folded[name.name.lower()]!r}"
        raise QueryError(f"there is no column {name.name!r}", text, name.at, hint=hint,
                         expected=f"one of {', '.join(schema.names)}", mistake="unknown-column")

    return schema_of


def compile(expr: Expr, schema_of: Callable[[Name], pa.DataType], text: str = "") -> Compiled:
    """Check an expression and make it ready to run.

    Parameters
    ----------
    expr
        The tree.
    schema_of
        The Arrow type of a column; raises for one that does not exist (see `schema_lookup`).
    text
        The query that the expression is part of, for errors to point into.

    Examples
    --------
    >>> from slackwater.query.parse import parse_expression
    >>> text = "value > 2 AND room != 'attic'"
    >>> table = pa.table({"value": [1.0, 3.0, None], "room": ["hall", None, "attic"]})
    >>> where = compile(parse_expression(text), schema_lookup(table.schema, text), text)
    >>> where.evaluate(lambda name: table[name.name].combine_chunks()).to_pylist()
    [False, None, False]
    """
    compiler = _Compiler(schema_of, text)
    try:
        piece = compiler.piece(expr)
    except RecursionError:
        raise QueryError("the expression is nested too deeply", text, expr.at) from None
    names = tuple(dict.fromkeys(n for n in walk(expr) if isinstance(n, Name)))
    return Compiled(piece.type, names, piece.run)


@dataclass(frozen=True)
class _Piece:
    kind: str
    type: pa.DataType
    run: Callable[[Columns], Any]


def _piece(kind: str, run: Callable[[Columns], Any]) -> _Piece:
    return _Piece("number" if kind in ("integer", "real") else kind, TYPES[kind], run)


def _as_real(piece: _Piece) -> _Piece:
    return _piece("real", lambda columns: arithmetic.real(piece.run(columns)))


class _Compiler:
    def __init__(self, schema_of: Callable[[Name], pa.DataType], text: str) -> None:
        self._schema_of, self._text = schema_of, text

    def piece(self, node: Expr) -> _Piece:
        return getattr(self, f"_{type(node).__name__.lower()}")(node)

    def _fail(self, problem: str, node: Expr, **more: Any) -> QueryError:
        return QueryError(problem, self._text, node.at, **more)

    # -- leaves ---------------------------------------------------------------------------------

    def _literal(self, node: Literal) -> _Piece:
        scalar = literal_value(node)
        kind = "null" if node.kind == "null" else kind_of(scalar.type) or ""
        return _Piece(kind, scalar.type, lambda columns: scalar)

    def _name(self, node: Name) -> _Piece:
        found = self._schema_of(node)
        kind = kind_of(found)
        if kind is None:
            raise self._fail(f"column {str(node)!r} is of a type that expressions cannot use", node,
                             expected="numbers, text, booleans, times or durations",
                             hint=f"it is {found}", mistake="type")
        want = as_kind(found)
        return _Piece(kind, want, lambda columns: arithmetic.read(columns(node), want))

    def _star(self, node: Star) -> _Piece:
        raise self._fail("* stands for rows, and only COUNT(*) counts rows", node, mistake="star")

    # -- logic ----------------------------------------------------------------------------------

    def _boolean(self, node: Expr, where: str) -> _Piece:
        piece = self.piece(node)
        if piece.kind not in ("boolean", "null"):
            raise self._fail(f"{where} needs a condition, and this is {_a(piece.kind)}", node,
                             hint="compare it with something: … > 0", mistake="type")
        if piece.kind == "null":
            return _piece("boolean", lambda columns: pa.scalar(None, pa.bool_()))
        return piece

    def _unary(self, node: Unary) -> _Piece:
        if node.op == "not":
            inner = self._boolean(node.operand, "NOT")
            return _piece("boolean", lambda columns: pc.invert(inner.run(columns)))
        inner = self.piece(node.operand)
        if inner.kind not in ("number", "duration"):
            raise self._fail(f"a minus sign cannot stand before {_a(inner.kind)}", node,
                             mistake="type")
        return _Piece(inner.kind, inner.type,
                      lambda columns: arithmetic.negate(inner.run(columns)))

    def _binary(self, node: Binary) -> _Piece:
        if node.op in ("and", "or"):
            join = pc.and_kleene if node.op == "and" else pc.or_kleene
            left = self._boolean(node.left, node.op.upper())
            right = self._boolean(node.right, node.op.upper())
            return _piece("boolean", lambda columns: join(left.run(columns), right.run(columns)))
        if node.op in _COMPARE:
            compare = _COMPARE[node.op]
            left, right = self._alike(node.left, node.right, node)
            return _piece("boolean", lambda columns: compare(left.run(columns),
                                                             right.run(columns)))
        left, right = self.piece(node.left), self.piece(node.right)
        result = arithmetic.result_type(node.op, left.type, right.type)
        if result is None:
            texts = node.op == "+" and "text" in (left.kind, right.kind)
            raise self._fail(f"{node.op} does not work on {_a(left.kind)} and {_a(right.kind)}",
                             node, mistake="type",
                             hint="join texts with concat(a, b)" if texts else None)
        op = node.op
        return _Piece(kind_of(result) or "null", result, lambda columns: arithmetic.apply(
            op, left.run(columns), right.run(columns), result))

    def _alike(self, left: Expr, right: Expr, node: Expr) -> tuple[_Piece, _Piece]:
        """Both sides, of one kind; a text beside a time is read as a time."""
        pair = [self.piece(left), self.piece(right)]
        sides = [left, right]
        for i, j in ((0, 1), (1, 0)):
            side = sides[i]
            if (pair[j].kind == "timestamp" and isinstance(side, Literal) and side.kind == "text"):
                micro = Builder(self._text).instant(str(side.value), side.at)
                pair[i] = self._literal(Literal(micro, "timestamp", at=side.at))
            if pair[i].kind == "null":
                want = pair[j].type
                pair[i] = _Piece(pair[j].kind, want,
                                 lambda columns, want=want: pa.scalar(None, want))  # type: ignore[misc]
        if pair[0].kind != pair[1].kind:
            raise self._fail(f"{_a(pair[0].kind)} cannot be compared with {_a(pair[1].kind)}", node,
                             hint=_compare_hint(pair[0].kind, pair[1].kind), mistake="type")
        if pa.types.is_null(pair[0].type):  # NULL = NULL
            pair = [_piece("integer", lambda columns: pa.scalar(None, pa.int64()))] * 2
        if pair[0].type != pair[1].type:
            return _as_real(pair[0]), _as_real(pair[1])
        return pair[0], pair[1]

    def _inlist(self, node: InList) -> _Piece:
        # as SQL defines it: x = a OR x = b …, so that a NULL in the list can only give TRUE or NULL
        tests = [self._alike(node.operand, item, item) for item in node.items]

        def run(columns: Columns) -> Any:
            found: Any = pa.scalar(False)
            for left, right in tests:
                found = pc.or_kleene(found, pc.equal(left.run(columns), right.run(columns)))
            return pc.invert(found) if node.negated else found

        return _piece("boolean", run)

    def _between(self, node: Between) -> _Piece:
        low = self._alike(node.operand, node.low, node.low)
        high = self._alike(node.operand, node.high, node.high)

        def run(columns: Columns) -> Any:
            inside = pc.and_kleene(
                pc.greater_equal(low[0].run(columns), low[1].run(columns)),
                pc.less_equal(high[0].run(columns), high[1].run(columns)))
            return pc.invert(inside) if node.negated else inside

        return _piece("boolean", run)

    def _isnull(self, node: IsNull) -> _Piece:
        inner = self.piece(node.operand)
        test = pc.is_valid if node.negated else pc.is_null
        return _piece("boolean", lambda columns: test(inner.run(columns)))

    def _like(self, node: Like) -> _Piece:
        inner = self.piece(node.operand)
        if inner.kind not in ("text", "null"):
            raise self._fail(f"LIKE works on text, and this is {_a(inner.kind)}", node.operand,
                             mistake="type")
        if not (isinstance(node.pattern, Literal) and node.pattern.kind == "text"):
            raise self._fail("LIKE needs its pattern as a quoted text", node.pattern,
                             hint="LIKE 'room-%'", mistake="type")
        pattern = str(node.pattern.value)

        def run(columns: Columns) -> Any:
            if inner.kind == "null":
                return pa.scalar(None, pa.bool_())
            found = pc.match_like(inner.run(columns), pattern)
            return pc.invert(found) if node.negated else found

        return _piece("boolean", run)

    # -- functions ------------------------------------------------------------------------------

    def _call(self, node: Call) -> _Piece:
        function = FUNCTIONS.get(node.function)
        if function is None:
            raise self._fail(f"there is no function {node.function!r} here", node,
                             hint=did_you_mean(node.function, FUNCTIONS), mistake="function")
        least, most = len(function.args) - function.optional, len(function.args)
        if len(node.args) < least or (len(node.args) > most and not function.many):
            count = f"{least}" if least == most else f"{least} or {most}"
            raise self._fail(
                f"{node.function} takes {count}{' or more' if function.many else ''} "
                f"value{'s' if most > 1 else ''}, and {len(node.args)} are given", node,
                mistake="arguments")
        pieces = [self._argument(node, i, function.args[min(i, most - 1)])
                  for i in range(len(node.args))]
        if function.args[0] == "any":
            first = next((p for p in pieces if p.kind != "null"), pieces[0])
            for piece, arg in zip(pieces, node.args, strict=True):
                if piece.kind not in (first.kind, "null"):
                    raise self._fail(f"{node.function} needs values of one kind, and these are "
                                     f"{_a(first.kind)} and {_a(piece.kind)}", arg, mistake="type")
            result = TYPES["real"] if any(
                p.type == TYPES["real"] for p in pieces) else first.type
        else:
            result = pieces[0].type if function.result == "same" else TYPES[function.result]
        run = function.run

        def call(columns: Columns) -> Any:
            values = [p.run(columns) for p in pieces]
            if function.args[0] == "any":
                values = [pc.cast(v, result, safe=False) for v in values]
            return run(*values)

        return _Piece(kind_of(result) or "null", result, call)

    def _argument(self, node: Call, i: int, kind: str) -> _Piece:
        piece = self.piece(node.args[i])
        if piece.kind == "null" and kind != "any":
            nothing = TYPES["real" if kind == "number" else kind]
            return _Piece(kind, nothing, lambda columns: pa.scalar(None, nothing))
        if kind not in ("any", piece.kind):
            raise self._fail(f"{node.function} works on {_a(kind)}, and this is {_a(piece.kind)}",
                             node.args[i], mistake="type")
        return piece


def _a(kind: str) -> str:
    return {"number": "a number", "text": "text", "boolean": "a condition", "timestamp": "a time",
            "duration": "a duration", "null": "NULL"}[kind]


def _compare_hint(one: str, other: str) -> str | None:
    pair = {one, other}
    if pair == {"number", "text"}:
        return "quotes make a text: write 5 for the number, '5' for the text"
    if pair == {"number", "duration"}:
        return "give the number a unit: 30 seconds"
    if pair == {"number", "timestamp"}:
        return "write the time as TIMESTAMP '2024-05-01 12:30:00'"
    return None
