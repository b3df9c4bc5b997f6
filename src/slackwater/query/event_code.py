"""Conditions between events to instructions of the pattern machine.

What depends on one event only is lifted: computed for whole columns when events come in, and read
by the machine as a value of that event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from slackwater.pattern.program import Aggregate, Condition, Op
from slackwater.query import arithmetic
from slackwater.query.ast import (
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
)
from slackwater.query.errors import QueryError
from slackwater.query.event_plan import accesses, is_aggregate
from slackwater.query.expression import Compiled, compile
from slackwater.query.kinds import kind_of
from slackwater.query.parse import Builder

__all__ = ["Coder", "Lane", "aggregate_type", "plain_element", "stand_in"]

_COMPARE = {"=": Op.EQ, "!=": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_INT = {"+": Op.ADD_I, "-": Op.SUB_I, "*": Op.MUL_I, "%": Op.MOD_I}
_REAL = {"+": Op.ADD_F, "-": Op.SUB_F, "*": Op.MUL_F, "/": Op.DIV_F, "%": Op.MOD_F}
_CALLS = {"abs": Op.ABS, "least": Op.LEAST, "greatest": Op.GREATEST, "coalesce": Op.COALESCE,
          "sqrt": Op.SQRT, "floor": Op.FLOOR, "ceil": Op.CEIL}


@dataclass(frozen=True)
class Lane:
    """A value that each event carries: an expression over its own columns."""

    expr: Expr
    compiled: Compiled


def plain_element(node: Expr) -> Expr:
    """An expression over one event, without the indices of its names."""
    return rewrite(node, lambda n: replace(n, qualifier="", index=None)
                   if isinstance(n, Name) else None)


def stand_in(node: Expr, aggregates: list[Expr]) -> Expr:
    """The expression with each aggregate replaced by a name, and the aggregates collected."""
    def change(inner: Expr) -> Expr | None:
        if not is_aggregate(inner):
            return None
        if inner not in aggregates:
            aggregates.append(inner)
        return Name("", f"{aggregates.index(inner)}", "aggregate", at=inner.at)

    return rewrite(node, change)


def aggregate_type(function: str, of: pa.DataType | None) -> pa.DataType:
    """The type of an aggregate; `of` is the type of what is aggregated."""
    if function == "count":
        return pa.int64()
    return pa.float64() if function == "avg" else of


@dataclass
class Coder:
    """Makes `Condition`s; `lanes` collects the values that events must carry for them."""

    text: str
    places: dict[str, int]  # a variable's component, or m + its negation
    kleene: set[str]
    components: int
    schema_of: Callable[[Name], pa.DataType]
    code_of: Callable[[str], int]  # the code of a text
    lanes: list[Lane] = field(default_factory=list)

    def condition(self, expr: Expr) -> Condition:
        """One conjunct."""
        self._code: list[tuple[int, int, int, int]] = []
        self._integers: list[int] = []
        self._reals: list[float] = []
        kind = self._type(expr)
        if kind_of(kind) not in ("boolean", "null"):
            raise self._fail("WHERE needs a condition", expr, "compare it with something: … > 0")
        self._emit(expr)
        reads = list(accesses(expr))
        elements = {v for v, how, _ in reads if how != "all" and v in self.kleene}
        negation = [self.places[v] - self.components for v, _, _ in reads
                    if self.places[v] >= self.components]
        return Condition(
            tuple(self._code),
            frozenset(self.places[v] for v, how, _ in reads
                      if v not in self.kleene and self.places[v] < self.components),
            self.places[elements.pop()] if elements else None,
            any(how == "prev" for _, how, _ in reads),
            frozenset(self.places[v] for v, how, _ in reads if how == "all"),
            negation[0] if negation else None,
            self.text[expr.at.start:expr.at.end], tuple(self._integers), tuple(self._reals))

    # -- types ----------------------------------------------------------------------------------

    def _type(self, node: Expr) -> pa.DataType:
        aggregates: list[Expr] = []
        plain = stand_in(node, aggregates)
        types = [self.type_of_aggregate(a) for a in aggregates]

        def schema_of(name: Name) -> pa.DataType:
            if name.index == "aggregate":
                return types[int(name.name)]
            return self.schema_of(name)

        return compile(plain, schema_of, self.text).type

    def type_of_aggregate(self, node: Expr) -> pa.DataType:
        """The type of an aggregate, with errors at its place."""
        if isinstance(node, Name):
            return compile(plain_element(node), self.schema_of, self.text).type
        assert isinstance(node, Call)
        arg = node.args[0]
        if node.function == "count" and isinstance(arg, Name) and (
                arg.qualifier is None or not arg.name):
            return pa.int64()
        of = compile(plain_element(arg), self.schema_of, self.text).type
        if node.function in ("sum", "avg") and kind_of(of) not in ("number", "null"):
            raise self._fail(f"{node.function} works on numbers", arg)
        return aggregate_type(node.function, of)

    def _fail(self, problem: str, node: Expr, hint: str | None = None) -> QueryError:
        return QueryError(problem, self.text, node.at, hint=hint, mistake="type")

    # -- code -----------------------------------------------------------------------------------

    def _put(self, op: Op, a: int = 0, b: int = 0, c: int = 0) -> None:
        self._code.append((int(op), a, b, c))

    def _lane(self, expr: Expr) -> tuple[int, bool]:
        """The lane of an expression over one event, and whether it holds reals."""
        plain = plain_element(expr)
        for i, lane in enumerate(self.lanes):
            if lane.expr == plain:
                return i, pa.types.is_floating(lane.compiled.type)
        compiled = compile(plain, self.schema_of, self.text)
        self.lanes.append(Lane(plain, compiled))
        return len(self.lanes) - 1, pa.types.is_floating(compiled.type)

    def _emit(self, node: Expr) -> None:
        if is_aggregate(node):
            self._aggregate(node)
            return
        reads = {(v, how) for v, how, _ in accesses(node)}
        if len(reads) == 1 and "all" not in {how for _, how in reads}:
            variable, how = reads.pop()
            lane, real = self._lane(node)
            load = (Op.PREV_F if real else Op.PREV_I) if how == "prev" else (
                Op.LOAD_F if real else Op.LOAD_I)
            self._put(load, self.places[variable], lane)
            return
        getattr(self, f"_{type(node).__name__.lower()}", self._unknown)(node)

    def _unknown(self, node: Expr) -> None:
        raise self._fail("this cannot be computed from several events", node,
                         "compare a column of one event with a column of another")

    def _aggregate(self, node: Expr) -> None:
        if isinstance(node, Name):
            variable, function, arg = str(node.qualifier), str(node.index), node
        else:
            assert isinstance(node, Call)
            function, arg = node.function, node.args[0]  # type: ignore[assignment]
            variable = next(v for v, _, _ in accesses(node))
        kind = Aggregate[function.upper()]
        if kind == Aggregate.COUNT and isinstance(arg, Name) and (
                arg.qualifier is None or not arg.name):
            self._put(Op.AGG_I, self.places[variable], -1, kind)
            return
        lane, real = self._lane(arg)
        if kind in (Aggregate.MIN, Aggregate.MAX) and kind_of(
                self.lanes[lane].compiled.type) == "text":
            raise self._fail(f"{function} of texts cannot be compared between events", node)
        self._put(Op.AGG_F if real else Op.AGG_I, self.places[variable], lane, kind)

    def _literal(self, node: Literal, of: pa.DataType | None = None) -> None:
        if node.value is None:
            self._put(Op.NULL)
        elif node.kind == "text" and of is not None and pa.types.is_timestamp(of):
            self._integer(Builder(self.text).instant(str(node.value), node.at))
        elif node.kind == "text":
            self._integer(self.code_of(str(node.value)))
        elif isinstance(node.value, float):
            self._put(Op.CONST_F, len(self._reals))
            self._reals.append(node.value)
        else:
            self._integer(int(node.value))

    def _integer(self, value: int) -> None:
        self._put(Op.CONST_I, len(self._integers))
        self._integers.append(value)

    def _as(self, node: Expr, want: pa.DataType) -> None:
        """Emit a value, turned into a real if the other side is one."""
        if isinstance(node, Literal):
            self._literal(node, want)
        else:
            self._emit(node)
        if pa.types.is_floating(want) and not pa.types.is_floating(self._type(node)):
            self._put(Op.TO_F)

    def _unary(self, node: Unary) -> None:
        if node.op == "not":
            self._emit(node.operand)
            self._put(Op.NOT)
            return
        self._binary(Binary("-", Literal(0, "number", at=node.at), node.operand, at=node.at))

    def _binary(self, node: Binary) -> None:
        if node.op in ("and", "or"):
            self._emit(node.left)
            self._emit(node.right)
            self._put(Op.AND if node.op == "and" else Op.OR)
        elif node.op in _COMPARE:
            self._compare(node.op, node.left, node.right, node)
        else:
            self._arithmetic(node)

    def _compare(self, op: str, left: Expr, right: Expr, node: Expr) -> None:
        types = [self._type(left), self._type(right)]
        kinds = {kind_of(t) for t in types}
        if "text" in kinds and "timestamp" not in kinds and op not in ("=", "!="):
            raise self._fail("texts of two events can be equal or not, not less or greater", node)
        want = pa.float64() if any(pa.types.is_floating(t) for t in types) else types[0]
        stamp = next((t for t in types if pa.types.is_timestamp(t)), None)
        for side in (left, right):
            self._as(side, stamp if stamp is not None else want)
        self._put(_COMPARE[op])

    def _arithmetic(self, node: Binary) -> None:
        left, right = self._type(node.left), self._type(node.right)
        result = arithmetic.result_type(node.op, left, right)
        floats = node.op == "/" or any(pa.types.is_floating(t) for t in (left, right))
        want = pa.float64() if floats else pa.int64()
        self._as(node.left, want)
        self._as(node.right, want)
        self._put((_REAL if floats else _INT)[node.op])
        if floats and result is not None and not pa.types.is_floating(result):
            self._put(Op.ROUND)

    def _inlist(self, node: InList) -> None:
        for i, item in enumerate(node.items):
            self._compare("=", node.operand, item, node)
            if i:
                self._put(Op.OR)
        if node.negated:
            self._put(Op.NOT)

    def _between(self, node: Between) -> None:
        self._compare(">=", node.operand, node.low, node)
        self._compare("<=", node.operand, node.high, node)
        self._put(Op.AND)
        if node.negated:
            self._put(Op.NOT)

    def _isnull(self, node: IsNull) -> None:
        self._emit(node.operand)
        self._put(Op.IS_NULL)
        if node.negated:
            self._put(Op.NOT)

    def _call(self, node: Call) -> None:
        op = _CALLS.get(node.function)
        result = self._type(node)
        if op is None or (op in (Op.LEAST, Op.GREATEST) and kind_of(result) == "text"):
            raise self._fail(f"{node.function} cannot be computed from several events", node,
                             f"between events there are {', '.join(_CALLS)}")
        want = pa.float64() if op == Op.SQRT else result
        whole = not pa.types.is_floating(want)
        self._as(node.args[0], want)
        if op in (Op.LEAST, Op.GREATEST, Op.COALESCE):
            for arg in node.args[1:]:
                self._as(arg, want)
                self._put(op)
        elif not (whole and op in (Op.FLOOR, Op.CEIL)):
            self._put(op)


def bits(values: pa.Array) -> np.ndarray:
    """A column of numbers, times or conditions as int64; reals by their bits."""
    if pa.types.is_floating(values.type):
        return np.array(values.fill_null(0.0).to_numpy(zero_copy_only=False),
                        np.float64).view(np.int64)
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    return np.array(values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
