"""Conditions over several rows, made into instructions for `machine`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from slackwater.query.errors import QueryError
from slackwater.query.expr.arrow import Compiled
from slackwater.query.expr.tree import (
    Between,
    Binary,
    Call,
    Expr,
    InList,
    IsNull,
    Literal,
    Name,
    Unary,
    rewrite,
    walk,
)
from slackwater.query.recognise.machine import CURRENT, FIRST, LAST, OPS, Code, Refs
from slackwater.query.recognise.resolve import (
    PLACE,
    Aggregate,
    MatchNumber,
    Navigation,
    Resolved,
    RowOf,
    Scope,
)

__all__ = ["Coder", "Lane"]

INT, REAL, TEXT = "int", "real", "text"
_SAME = ("=", "!=", "<", "<=", ">", ">=")
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod"}
_LENIENT = ("coalesce", "nullif", "concat", "least", "greatest")
_DEEPEST = 64


@dataclass(frozen=True)
class Lane:
    """A value that is computed for every row; `kind` is int, real or text."""

    expr: Expr
    compiled: Compiled = field(compare=False)
    kind: str


def _kind(of: pa.DataType) -> str:
    if pa.types.is_floating(of):
        return REAL
    return TEXT if pa.types.is_string(of) else INT


class Coder:
    """Collects the instructions of all conditions, and the lanes, rows and aggregates they use."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.lanes: list[Lane] = []
        self.rows: list[RowOf] = []
        self.masks: list[int] = []
        self.aggregates: list[tuple[Aggregate, int]] = []
        """With the number of the lane that each is over (−1: none)."""
        self._code: list[tuple[str, int, int, float]] = []
        self._first = [0]
        self._depth = 0

    def condition(self, conjuncts: list[tuple[Resolved, Expr]]) -> None:
        """The next variable's condition: what these are when joined by AND; none: always true."""
        for i, (resolved, expr) in enumerate(conjuncts):
            _Emitter(self, resolved).emit(expr)
            if i:
                self.add("and")
        self._first.append(len(self._code))

    def add(self, op: str, a: int = 0, b: int = 0, real: float = 0.0) -> None:
        """An instruction."""
        self._code.append((op, a, b, real))

    def lane(self, expr: Expr, compiled: Compiled) -> int:
        """The number of a lane."""
        lane = Lane(expr, compiled, _kind(compiled.type))
        if lane not in self.lanes:
            self.lanes.append(lane)
        return self.lanes.index(lane)

    def place(self, number: int) -> int:
        """Where a lane stands among those of its kind: texts are ranks, so whole numbers."""
        real = self.lanes[number].kind == REAL
        return sum((lane.kind == REAL) == real for lane in self.lanes[:number])

    def row(self, row: RowOf) -> int:
        """The number of a row that is looked at."""
        if row not in self.rows:
            self.rows.append(row)
            if row.base != "current" and row.mask not in self.masks:
                self.masks.append(row.mask)
        return self.rows.index(row)

    def aggregate(self, what: Aggregate) -> int:
        """The number of an aggregate; AVG is kept as a SUM is."""
        lane = -1
        if what.inner is not None:
            assert what.compiled is not None
            lane = self.lane(what.inner, what.compiled)
        if (what, lane) not in self.aggregates:
            self.aggregates.append((what, lane))
        return self.aggregates.index((what, lane))

    @property
    def dynamic(self) -> bool:
        """Whether there is anything to evaluate during the search."""
        return bool(self._code)

    def code(self) -> Code:
        """All instructions."""
        loads = ("load_int", "load_real")
        a = [self.place(a) if op in loads else a for op, a, _, _ in self._code]
        return Code(np.array(self._first, np.int64),
                    np.array([OPS[op] for op, *_ in self._code], np.int64),
                    np.array(a, np.int64), np.array([b for _, _, b, _ in self._code], np.int64),
                    np.array([x for *_, x in self._code], np.float64))

    def refs(self) -> Refs:
        """All rows that are looked at."""
        base = {"current": CURRENT, "first": FIRST, "last": LAST}
        columns: list[list[int]] = [
            [base[r.base] for r in self.rows],
            [self.masks.index(r.mask) if r.base != "current" else 0 for r in self.rows],
            [r.offset for r in self.rows], [r.shift for r in self.rows]]
        return Refs(*(np.array(c, np.int64) for c in columns))


class _Emitter:
    def __init__(self, coder: Coder, resolved: Resolved) -> None:
        self._coder, self._resolved = coder, resolved
        self._scope = coder._scope

    def emit(self, node: Expr, deep: int = 0) -> str:
        """Code that leaves the value of a node on the stack; returns its kind."""
        if deep >= _DEEPEST - 2:
            raise self._fail("the condition is nested too deeply", node)
        leaves = self._leaves(node)
        if not leaves:
            return self._constant(node)
        rows = {leaf.row for leaf in leaves if isinstance(leaf, Navigation)}
        if len(rows) == 1 and all(isinstance(leaf, Navigation) for leaf in leaves):
            row = rows.pop()
            if _strict(node) or row == RowOf():
                return self._load(node, row)
        emit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if emit is None:
            raise self._refuse(node)
        return str(emit(node, deep))

    # -- leaves ---------------------------------------------------------------------------------

    def _leaves(self, node: Expr) -> list[Any]:
        return [self._resolved.leaves[int(n.name)] for n in walk(node)
                if isinstance(n, Name) and n.qualifier == PLACE]

    def _load(self, node: Expr, row: RowOf) -> str:
        """What is of one row only is computed for all rows at once, and looked up."""
        def change(n: Expr) -> Expr | None:
            if isinstance(n, Name) and n.qualifier == PLACE:
                leaf = self._resolved.leaves[int(n.name)]
                assert isinstance(leaf, Navigation)
                return leaf.inner
            return None

        bare = rewrite(node, change)
        return self._lane(bare, self._scope.compile(bare), row)

    def _lane(self, bare: Expr, compiled: Compiled, row: RowOf) -> str:
        kind = _kind(compiled.type)
        self._coder.add("load_real" if kind == REAL else "load_int",
                        self._coder.lane(bare, compiled), self._coder.row(row))
        return kind

    def _constant(self, node: Expr) -> str:
        compiled = self._resolved.compile(node)
        kind = _kind(compiled.type)
        value = compiled.evaluate(lambda name: None, 1)
        if not value[0].is_valid:
            self._coder.add("null")
        elif kind == TEXT:  # its rank is known once the rows' texts are
            return self._lane(node, self._scope.compile(node), RowOf())
        elif kind == REAL:
            self._coder.add("const_real", real=value[0].as_py())
        else:
            self._coder.add("const_int", value.cast(pa.int64())[0].as_py())
        return kind

    def _name(self, node: Name, deep: int) -> str:
        leaf = self._resolved.leaves[int(node.name)]
        if isinstance(leaf, MatchNumber):
            self._coder.add("match_number")
            return INT
        if not isinstance(leaf, Aggregate):
            raise self._refuse(node)
        number = self._coder.aggregate(leaf)
        of = INT if leaf.compiled is None else _kind(leaf.compiled.type)
        if leaf.function == "count":
            self._coder.add("count", number)
            return INT
        op = "least" if leaf.function in ("min", "max") else leaf.function
        self._coder.add(f"{op}_{'real' if of == REAL else 'int'}", number)
        return REAL if leaf.function == "avg" else of

    # -- operators ------------------------------------------------------------------------------

    def _binary(self, node: Binary, deep: int) -> str:
        if node.op in ("and", "or"):
            self.emit(node.left, deep)
            self.emit(node.right, deep + 1)
            self._coder.add(node.op)
            return INT
        if node.op in _SAME:
            return self._compare(node, deep)
        self._resolved.compile(node)  # checks the types
        result = self._resolved.compile(node).type
        kinds = [self.emit(node.left, deep), self.emit(node.right, deep + 1)]
        if kinds == [INT, INT] and node.op != "/":
            self._coder.add(f"{_ARITHMETIC[node.op]}_int")
            return INT
        self._to_real(kinds)
        self._coder.add(f"{_ARITHMETIC[node.op]}_real")
        if not pa.types.is_floating(result):
            self._coder.add("to_int")
            return INT
        return REAL

    def _compare(self, node: Binary, deep: int) -> str:
        self._resolved.compile(node)  # checks the types
        left, right, op = node.left, node.right, node.op
        if op in (">", ">="):
            left, right, op = right, left, {">": "<", ">=": "<="}[op]
        kinds = [self.emit(left, deep), self.emit(right, deep + 1)]
        real = REAL in kinds
        if real:
            self._to_real(kinds)
        name = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le"}[op]
        self._coder.add(f"{name}_{'real' if real else 'int'}")
        return INT

    def _to_real(self, kinds: list[str]) -> None:
        if kinds[0] != REAL:
            self._coder.add("to_real_below")
        if kinds[1] != REAL:
            self._coder.add("to_real")

    def _unary(self, node: Unary, deep: int) -> str:
        kind = self.emit(node.operand, deep)
        self._coder.add("not" if node.op == "not" else f"neg_{kind}")
        return kind

    def _isnull(self, node: IsNull, deep: int) -> str:
        self.emit(node.operand, deep)
        self._coder.add("is_null")
        if node.negated:
            self._coder.add("not")
        return INT

    def _between(self, node: Between, deep: int) -> str:
        both: Expr = Binary("and", Binary(">=", node.operand, node.low, at=node.at),
                            Binary("<=", node.operand, node.high, at=node.at), at=node.at)
        return self.emit(Unary("not", both, at=node.at) if node.negated else both, deep)

    def _inlist(self, node: InList, deep: int) -> str:
        tests: list[Expr] = [Binary("=", node.operand, item, at=node.at) for item in node.items]
        any_of = reduce(lambda a, b: Binary("or", a, b, at=node.at), tests)
        return self.emit(Unary("not", any_of, at=node.at) if node.negated else any_of, deep)

    def _call(self, node: Call, deep: int) -> str:
        self._resolved.compile(node)
        if node.function == "abs":
            kind = self.emit(node.args[0], deep)
            self._coder.add(f"abs_{kind}")
            return kind
        if node.function == "coalesce":
            types = {_kind(self._resolved.compile(a).type) for a in node.args}
            if len(types) == 1:
                kind = self.emit(node.args[0], deep)
                for arg in node.args[1:]:
                    self.emit(arg, deep + 1)
                    self._coder.add("coalesce")
                return kind
        raise self._refuse(node)

    # -- errors ---------------------------------------------------------------------------------

    def _fail(self, problem: str, node: Expr, **more: Any) -> QueryError:
        return QueryError(problem, self._resolved.text, node.at, mistake="define", **more)

    def _refuse(self, node: Expr) -> QueryError:
        return self._fail("DEFINE cannot compute this from several rows", node,
                          expected="arithmetic, comparisons, logic, ABS or COALESCE over them",
                          hint="functions of a single row's columns are fine")


def _strict(node: Expr) -> bool:
    """Whether the value is NULL where the columns are: then a missing row needs no care."""
    return not any(
        isinstance(n, IsNull) or (isinstance(n, Binary) and n.op in ("and", "or"))
        or (isinstance(n, Call) and n.function in _LENIENT)
        or (isinstance(n, InList) and any(not isinstance(i, Literal) for i in n.items))
        for n in walk(node))
