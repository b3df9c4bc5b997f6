"""Conditions between events to instructions of the pattern machine: the compiled back end.

A typed tree (`typed`) in, a `Condition` out; which instructions an operator becomes is in the table
of `operators`.  What depends on one event only is lifted: computed for whole columns when events
come in, and read by the machine as a value of that event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.pattern.program import Aggregate, Condition, Op
from slackwater.query.errors import QueryError
from slackwater.query.event.navigate import offset_of, step_of, upto
from slackwater.query.event.plan import accesses, is_aggregate
from slackwater.query.event.shape import in_one_round
from slackwater.query.event.tree import Part
from slackwater.query.expr.arrow import Compiled, evaluate_typed
from slackwater.query.expr.kinds import TYPES
from slackwater.query.expr.operators import FUNCTIONS, OPERATORS, raw_kind
from slackwater.query.expr.tree import Call, Expr, Name, Span, rewrite
from slackwater.query.expr.types import Apply, Checker, Leaf, Typed, leaves

__all__ = ["Coder", "Lane", "bits", "plain_element", "stand_in"]

_BETWEEN_EVENTS = [name for name in FUNCTIONS
                   if any(o.name == name and o.code is not None for o in OPERATORS)]


@dataclass(frozen=True)
class Lane:
    """A value that each event carries: an expression over its own columns."""

    tree: Typed
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


def _plain(tree: Typed) -> Typed:
    if isinstance(tree, Apply):
        return replace(tree, args=tuple(_plain(arg) for arg in tree.args))
    return replace(tree, node=plain_element(tree.node)) if isinstance(tree, Leaf) else tree


@dataclass
class Coder:
    """Makes `Condition`s; `lanes` collects the values that events must carry for them."""

    text: str
    places: dict[str, int]  # a variable's component, or m + its negation
    kleene: set[str]
    components: int
    schema_of: Callable[[Name], pa.DataType]
    code_of: Callable[[str], int]  # the code of a text
    unit_of: Callable[[Name], str | None] = lambda name: None
    parts: Mapping[str, Part] = field(default_factory=dict)
    lanes: list[Lane] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._single = Checker(self.schema_of, self.text, unit_of=self.unit_of)
        self._checker = Checker(self.schema_of, self.text, unit_of=self.unit_of,
                                aggregate=self.aggregate)

    def condition(self, expr: Expr) -> Condition:
        """One conjunct."""
        self._code: list[tuple[int, int, int, int]] = []
        self._integers: list[int] = []
        self._reals: list[float] = []
        reads = list(accesses(expr))
        places = [(how, offset_of(n) or 0) for v, how, n in reads
                  if how != "all" and v in self.kleene]
        # `b[i+1]` against `b[i]` is checked when b[i+1] is there
        self._ahead = max([offset for _, offset in places], default=0)
        self._ahead = max(self._ahead, 0)
        back = max([self._ahead - offset for _, offset in places] + [self._ahead])
        self._running = back > 1 or any(how == "run" for how, _ in places)
        self._emit(self._checker.condition(expr, "WHERE"))
        elements = {v for v, how, _ in reads if how != "all" and v in self.kleene}
        named = {v for v, _, _ in reads}
        return replace(
            self.about({v for v in named if v not in self.kleene}, elements),
            code=tuple(self._code), back=back, running=self._running,
            aggregated=frozenset(self.places[v] for v, how, _ in reads if how == "all"),
            text=self.text[expr.at.start:expr.at.end], integers=tuple(self._integers),
            reals=tuple(self._reals),
            negation=min((self.places[v] - self.components for v in named
                          if self.places[v] >= self.components), default=None))

    def about(self, singles: set[str], lists: set[str]) -> Condition:
        """A condition without code that looks at single events, and at elements of lists."""
        place, m = self.places, self.components
        made = Condition((), frozenset(place[v] for v in singles if place[v] < m),
                         unwanted=frozenset(place[v] for v in singles if place[v] >= m))
        if len(lists) < 2:
            return replace(made, element=place[next(iter(lists))] if lists else None)
        together = in_one_round([self.parts[v] for v in lists])
        assert together is not None
        loop, many = together
        return replace(made, element=None if many is None else place[many.variable], scope=loop,
                       scoped=frozenset(place[v] for v in lists
                                        if many is None or v != many.variable))

    def limit(self, part: Part) -> Condition:
        """WITHIN 5 s OF a."""
        assert part.within is not None
        limit, of = part.within
        names = {part.variable, str(of)}
        made = self.about(names - self.kleene, names & self.kleene)
        return replace(made, code=(
            (int(Op.TIME), self.places[part.variable], 0, 0),
            (int(Op.TIME), self.places[str(of)], 0, 0), (int(Op.SUB_I), 0, 0, 0),
            (int(Op.CONST_I), 0, 0, 0), (int(Op.LE), 0, 0, 0)), integers=(limit,),
            text=self.text[part.at.start:part.at.end])

    def aggregate(self, node: Expr) -> Leaf | None:
        """An aggregate with its kind, errors at its place; None for any other node."""
        if not is_aggregate(node):
            return None
        if isinstance(node, Name):
            of = self._single.check(plain_element(node))
            return Leaf(node, of.kind, of.ticks)
        assert isinstance(node, Call)
        arg = node.args[0]
        if node.function == "count" and isinstance(arg, Name) and (
                arg.qualifier is None or not arg.name):
            return Leaf(node, "integer")
        of = self._single.check(plain_element(arg))
        if node.function in ("sum", "avg") and of.kind not in ("integer", "real", "null"):
            raise self._fail(f"{node.function} works on numbers", arg.at)
        if node.function == "count":
            return Leaf(node, "integer")
        if node.function in ("sum", "avg"):
            return Leaf(node, "real" if node.function == "avg" else of.kind)
        return Leaf(node, of.kind, of.ticks)

    def _fail(self, problem: str, at: Span, hint: str | None = None) -> QueryError:
        return QueryError(problem, self.text, at, hint=hint, mistake="type")

    # -- code -----------------------------------------------------------------------------------

    def _put(self, op: Op, a: int = 0, b: int = 0, c: int = 0) -> None:
        self._code.append((int(op), a, b, c))

    def _lane(self, tree: Typed) -> tuple[int, bool]:
        """The lane of an expression over one event, and whether it holds reals."""
        plain = _plain(tree)
        for i, lane in enumerate(self.lanes):
            if lane.tree == plain:
                return i, lane.tree.kind == "real"
        names = tuple(dict.fromkeys(leaf.node for leaf in leaves(plain)))
        compiled = Compiled(TYPES[plain.kind], names,  # type: ignore[arg-type]
                            lambda columns: evaluate_typed(plain, columns))
        self.lanes.append(Lane(plain, compiled))
        return len(self.lanes) - 1, plain.kind == "real"

    def _emit(self, tree: Typed) -> None:
        if isinstance(tree, Leaf) and is_aggregate(tree.node):
            self._aggregated(tree.node)
            return
        reads = {(v, how, offset_of(n) or 0) for leaf in leaves(tree)
                 for v, how, n in accesses(leaf.node)}
        if not reads:
            self._constant(tree)
        elif len(reads) == 1 and not {how for _, how, _ in reads} & {"all", "run"}:
            self._load(tree, *reads.pop())
        else:
            assert isinstance(tree, Apply)
            self._apply(tree)

    def _load(self, tree: Typed, variable: str, how: str, offset: int) -> None:
        lane, real = self._lane(tree)
        place, back = self.places[variable], self._ahead - offset
        if variable not in self.kleene or back == 0:
            self._put(Op.LOAD_F if real else Op.LOAD_I, place, lane)
        elif self._running:
            self._put(Op.BACK_F if real else Op.BACK_I, place, lane, back)
        else:
            self._put(Op.PREV_F if real else Op.PREV_I, place, lane)

    def _apply(self, tree: Apply) -> None:
        operator = tree.operator
        if operator.code is None:
            raise self._unknown(tree)
        for arg, want in zip(tree.args, operator.reads, strict=True):
            self._emit(arg)
            if want == "real" and raw_kind(arg.kind) != "real":
                self._put(Op.TO_F)
        for op in operator.code:
            self._put(op)

    def _unknown(self, tree: Apply) -> QueryError:
        name = tree.operator.name
        if name.startswith("to "):
            return self._fail(f"CAST {name} cannot be computed from several events", tree.at,
                              "cast the values of each event: CAST(a.x AS INTEGER) + b.y; RETURN "
                              "and MEASURES cast anything")
        return self._fail(f"{name} cannot be computed from several events", tree.at,
                          f"between events there are {', '.join(_BETWEEN_EVENTS)}")

    def _constant(self, tree: Typed) -> None:
        value = evaluate_typed(tree, _no_column)
        if tree.kind in ("timestamp", "duration", "boolean"):
            value = pc.cast(value, pa.int64())
        found = value.as_py()
        if found is None:
            self._put(Op.NULL)
        elif tree.kind == "real":
            self._put(Op.CONST_F, len(self._reals))
            self._reals.append(found)
        else:
            self._put(Op.CONST_I, len(self._integers))
            self._integers.append(self.code_of(found) if tree.kind == "text" else found)

    def _aggregated(self, node: Expr) -> None:
        if isinstance(node, Name):
            variable, function, arg = str(node.qualifier), str(node.index), node
        else:
            assert isinstance(node, Call)
            function, arg = node.function, node.args[0]  # type: ignore[assignment]
            variable = next(v for v, _, _ in accesses(node))
        kind = Aggregate[function.upper()]
        read = next(name for _, _, name in accesses(node))
        what = kind + 8 * (step_of(node) if isinstance(node, Call) else 0)
        whole, real_one = Op.AGG_I, Op.AGG_F
        if upto(read):
            whole, real_one = Op.RUN_I, Op.RUN_F
            what += 8192 * (self._ahead - (offset_of(read) or 0))
        if kind == Aggregate.COUNT and isinstance(arg, Name) and (
                arg.qualifier is None or not arg.name):
            self._put(whole, self.places[variable], -1, what)
            return
        tree = self._single.check(plain_element(arg))
        lane, real = self._lane(tree)
        if kind in (Aggregate.MIN, Aggregate.MAX) and tree.kind == "text":
            raise self._fail(f"{function} of texts cannot be compared between events", node.at)
        self._put(real_one if real else whole, self.places[variable], lane, what)


def _no_column(name: Name) -> pa.Array:
    raise AssertionError(f"{name} in a constant")


def bits(values: pa.Array) -> np.ndarray:
    """A column of numbers, times or conditions as int64; reals by their bits."""
    if pa.types.is_floating(values.type):
        return np.array(values.fill_null(0.0).to_numpy(zero_copy_only=False),
                        np.float64).view(np.int64)
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    return np.array(values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
