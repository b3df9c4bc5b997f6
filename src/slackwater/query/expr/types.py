"""Expressions with their types: one checked tree that both back ends walk.

A tree of names and operators becomes a tree of `Constant`, `Leaf` (a column, or an aggregate of a
Kleene variable) and `Apply` (an entry of the table in `operators` over operands of exactly its
kinds).  What SQL defines by other operators (BETWEEN, IN, least of three) is spelt out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa

from slackwater.query.errors import QueryError
from slackwater.query.expr.elsewhere import function_hint
from slackwater.query.expr.kinds import as_kind, exact_kind, kind_of
from slackwater.query.expr.operators import FUNCTIONS, MANY, TO_REAL, Operator, arities, resolve
from slackwater.query.expr.parse import Builder
from slackwater.query.expr.ticks import Ticks, from_ticks, ticks_of
from slackwater.query.expr.tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Name,
    Span,
    Star,
    Unary,
)

__all__ = ["Apply", "Checker", "Constant", "Leaf", "Typed", "a_kind", "leaves"]

_NOWHERE = Span(1, 1, 0, 0)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Constant:
    """A value; `kind` is "null" where nothing says of which kind a NULL is."""

    value: Any
    kind: str
    ticks: Ticks | None = None
    at: Span = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Leaf:
    """A column of an event (a `Name`), or an aggregate over elements."""

    node: Expr
    kind: str
    ticks: Ticks | None = None

    @property
    def at(self) -> Span:
        """Where it stands."""
        return self.node.at


@dataclass(frozen=True)
class Apply:
    """An operator over operands of its kinds."""

    operator: Operator
    args: tuple[Typed, ...]
    ticks: Ticks | None = None
    at: Span = field(default=_NOWHERE, compare=False, repr=False)

    @property
    def kind(self) -> str:
        """The kind of the result."""
        return self.operator.result


Typed: TypeAlias = Constant | Leaf | Apply


def leaves(tree: Typed) -> Iterator[Leaf]:
    """The columns and aggregates that a tree needs."""
    if isinstance(tree, Leaf):
        yield tree
    elif isinstance(tree, Apply):
        for arg in tree.args:
            yield from leaves(arg)


def a_kind(kind: str) -> str:
    """A kind in words."""
    return {"integer": "a number", "real": "a number", "text": "text", "boolean": "a condition",
            "timestamp": "a time", "duration": "a duration", "null": "NULL"}[kind]


class Checker:
    """Makes typed trees.

    Parameters
    ----------
    schema_of
        The Arrow type of a column; raises for one that does not exist.
    text
        The query, for errors to point into.
    unit_of
        The unit of a column with whole-number times (``"s"``, ``"ms"``…), or None.
    aggregate
        Makes the leaf of a node that computes one value out of many; None for any other node.
    """

    def __init__(self, schema_of: Callable[[Name], pa.DataType], text: str, *,
                 unit_of: Callable[[Name], str | None] = lambda name: None,
                 aggregate: Callable[[Expr], Leaf | None] = lambda node: None) -> None:
        self._schema_of, self._text, self._unit_of = schema_of, text, unit_of
        self._aggregate = aggregate

    def check(self, node: Expr) -> Typed:
        """The typed tree of a node."""
        leaf = self._aggregate(node)
        if leaf is not None:
            return leaf
        rule = getattr(self, f"_{type(node).__name__.lower()}", None)
        if rule is None:  # what a language has beside expressions: [id], @a, |…|
            raise self._fail("this has no value that an expression could use", node.at,
                             hint="it stands by itself, joined to others by AND", mistake="type")
        found: Typed = rule(node)
        return found

    def condition(self, node: Expr, where: str) -> Typed:
        """The typed tree of a node that must be a condition; NULL is one that is never true."""
        tree = self.check(node)
        if tree.kind not in ("boolean", "null"):
            raise self._fail(f"{where} needs a condition, and this is {a_kind(tree.kind)}", node.at,
                             hint="compare it with something: … > 0", mistake="type")
        return self._to(tree, "boolean")

    def _fail(self, problem: str, at: Span, **more: Any) -> QueryError:
        return QueryError(problem, self._text, at, **more)

    # -- leaves ---------------------------------------------------------------------------------

    def _literal(self, node: Literal) -> Typed:
        if node.kind == "number":
            return Constant(node.value, "integer" if isinstance(node.value, int) else "real",
                            at=node.at)
        return Constant(node.value, node.kind, at=node.at)

    def _name(self, node: Name) -> Typed:
        found = self._schema_of(node)
        if kind_of(found) is None:
            raise self._fail(f"column {str(node)!r} is of a type that expressions cannot use",
                             node.at, expected="numbers, text, booleans, times or durations",
                             hint=f"it is {found}", mistake="type")
        unit = self._unit_of(node) if pa.types.is_integer(found) else None
        return Leaf(node, exact_kind(as_kind(found)), None if unit is None else ("timestamp", unit))

    def _star(self, node: Star) -> Typed:
        raise self._fail("* stands for rows, and only COUNT(*) counts rows", node.at,
                         mistake="star")

    # -- operators ------------------------------------------------------------------------------

    def _unary(self, node: Unary) -> Typed:
        if node.op == "not":
            return self._apply("not", [self.condition(node.operand, "NOT")], node.at)
        inner = self.check(node.operand)
        if resolve("neg", (inner.kind,)) is None:
            raise self._fail(f"a minus sign cannot stand before {a_kind(inner.kind)}", node.at,
                             mistake="type")
        return self._apply("neg", [inner], node.at)

    def _binary(self, node: Binary) -> Typed:
        if node.op in ("and", "or"):
            sides = [self.condition(side, node.op.upper()) for side in (node.left, node.right)]
            return self._apply(node.op, sides, node.at)
        left, right = self.check(node.left), self.check(node.right)
        if node.op in _COMPARISONS:
            return self._compare(node.op, left, right, node.at)
        made = self._try(node.op, [left, right], node.at)
        if made is None:
            texts = node.op == "+" and "text" in (left.kind, right.kind)
            raise self._fail(f"{node.op} does not work on {a_kind(left.kind)} and "
                             f"{a_kind(right.kind)}", node.at, mistake="type",
                             hint="join texts with concat(a, b)" if texts else None)
        return made

    def _compare(self, op: str, left: Typed, right: Typed, at: Span) -> Typed:
        pair = self._times([left, right])
        made = self._try(op, pair, at)
        if made is None:
            kinds = pair[0].kind, pair[1].kind
            raise self._fail(f"{a_kind(kinds[0])} cannot be compared with {a_kind(kinds[1])}", at,
                             hint=_compare_hint(*kinds), mistake="type")
        return made

    def _times(self, args: list[Typed]) -> list[Typed]:
        """A text beside a time is read as a time."""
        if not any(x.kind == "timestamp" or (x.ticks or ("",))[0] == "timestamp" for x in args):
            return args
        return [Constant(Builder(self._text).instant(str(x.value), x.at), "timestamp", at=x.at)
                if isinstance(x, Constant) and x.kind == "text" else x for x in args]

    def _inlist(self, node: InList) -> Typed:
        # as SQL defines it: x = a OR x = b …, so that a NULL in the list can only give TRUE or NULL
        operand = self.check(node.operand)
        tests = [self._compare("=", operand, self.check(item), item.at) for item in node.items]
        while len(tests) > 1:  # in pairs, so that a long list makes no deep tree
            tests = [self._apply("or", tests[i:i + 2], node.at) if i + 1 < len(tests) else tests[i]
                     for i in range(0, len(tests), 2)]
        return self._unless(tests[0], node.negated, node.at)

    def _between(self, node: Between) -> Typed:
        operand = self.check(node.operand)
        inside = self._apply("and", [
            self._compare(">=", operand, self.check(node.low), node.low.at),
            self._compare("<=", operand, self.check(node.high), node.high.at)], node.at)
        return self._unless(inside, node.negated, node.at)

    def _isnull(self, node: IsNull) -> Typed:
        return self._unless(self._apply("is null", [self.check(node.operand)], node.at),
                            node.negated, node.at)

    def _like(self, node: Like) -> Typed:
        inner = self.check(node.operand)
        if inner.kind not in ("text", "null"):
            raise self._fail(f"LIKE works on text, and this is {a_kind(inner.kind)}",
                             node.operand.at, mistake="type")
        pattern = self.check(node.pattern)
        if pattern.kind not in ("text", "null"):
            raise self._fail(f"LIKE needs a text as its pattern, and this is "
                             f"{a_kind(pattern.kind)}", node.pattern.at,
                             hint="LIKE 'room-%'", mistake="type")
        return self._unless(self._apply("like", [inner, pattern], node.at), node.negated, node.at)

    def _case(self, node: Case) -> Typed:
        """At most one branch is not left out, so COALESCE of all is that one, NULL or not."""
        before: Typed | None = None
        found: Typed | None = None
        for condition, value in zip((*node.conditions, None), (*node.values, node.otherwise),
                                    strict=True):
            here: Typed | None = None
            if condition is not None:
                here = self._apply("coalesce", [self.condition(condition, "WHEN"),
                                                Constant(False, "boolean")], condition.at)
            free = before if here is None else here
            if here is not None and before is not None:
                free = self._apply("and", [before, here], node.at)
            if here is not None:
                none = self._apply("not", [here], node.at)
                before = none if before is None else self._apply("and", [before, none], node.at)
            assert free is not None
            tree = self.check(value)
            if tree.kind == "null":
                continue
            branch = self._apply("when", [free, tree], value.at)
            both = branch if found is None else self._try("coalesce", [found, branch], value.at)
            if both is None:
                assert found is not None
                raise self._fail("CASE needs values of one kind, and these are "
                                 f"{a_kind(found.kind)} and {a_kind(tree.kind)}", value.at,
                                 mistake="type")
            found = both
        return Constant(None, "null", at=node.at) if found is None else found

    def _cast(self, node: Cast) -> Typed:
        operand = self._timed(self.check(node.operand)) if node.kind == "timestamp" else (
            self.check(node.operand))
        if operand.kind in (node.kind, "null"):
            return self._to(operand, node.kind)
        made = self._try(f"to {node.kind}", [operand], node.at)
        if made is None:
            raise self._fail(f"{a_kind(operand.kind)} cannot be cast to {a_kind(node.kind)}",
                             node.at, mistake="cast")
        return made

    def _unless(self, tree: Typed, negated: bool, at: Span) -> Typed:
        return self._apply("not", [tree], at) if negated else tree

    # -- functions ------------------------------------------------------------------------------

    def _call(self, node: Call) -> Typed:
        name, given = node.function, len(node.args)
        if name not in FUNCTIONS:
            hint = function_hint(name, FUNCTIONS)
            raise self._fail(f"there is no function {name!r} here", node.at, mistake="function",
                             expected=None if hint else f"one of {', '.join(FUNCTIONS)}", hint=hint)
        known = [1] if name in MANY else arities(name)
        if given < known[0] or (given > known[-1] and name not in MANY):
            count = f"{known[0]}" if len(known) == 1 else f"{known[0]} or {known[-1]}"
            raise self._fail(f"{name} takes {count}{' or more' if name in MANY else ''} "
                             f"value{'s' if known[-1] > 1 else ''}, and {given} are given", node.at,
                             mistake="arguments")
        args = [self.check(arg) for arg in node.args]
        if name in MANY:
            return self._folded(node, args)
        made = self._try(name, self._times(args), node.at)
        if made is None:
            raise self._wrong(node, args)
        return made

    def _folded(self, node: Call, args: list[Typed]) -> Typed:
        args = self._times(args)
        if len(args) == 1:
            both = self._try(node.function, [args[0], Constant(None, "null")], node.at)
            if both is None:
                raise self._wrong(node, args)
            return both if node.function == "concat" and args[0].kind == "null" else args[0]
        found = args[0]
        for arg in args[1:]:
            both = self._try(node.function, [found, arg], node.at)
            if both is None:
                raise self._wrong(node, [found, arg])
            found = both
        return found

    def _wrong(self, node: Call, args: list[Typed]) -> QueryError:
        kinds = [x.kind for x in args if x.kind != "null"]
        if len(kinds) == 2 and resolve(node.function, (kinds[0],) * 2) is not None and (
                resolve(node.function, (kinds[1],) * 2) is not None):
            return self._fail(f"{node.function} needs values of one kind, and these are "
                              f"{a_kind(kinds[0])} and {a_kind(kinds[1])}", args[-1].at,
                              mistake="type")
        takes = self._takes(node.function)
        wrong = next((x for x in args if a_kind(x.kind) not in (*takes, "NULL")), args[-1])
        return self._fail(f"{node.function} works on {' or '.join(takes)}, and this is "
                          f"{a_kind(wrong.kind)}", wrong.at, mistake="type",
                          hint="CAST(… AS TEXT)" if takes == ["text"] else None)

    @staticmethod
    def _takes(name: str) -> list[str]:
        kinds = ("integer", "real", "text", "timestamp", "duration", "boolean")
        return list(dict.fromkeys(a_kind(k) for k in kinds for n in arities(name)
                                  if resolve(name, (k,) * n) is not None
                                  or resolve(name, (k, *("integer",) * (n - 1))) is not None))

    # -- entries of the table -------------------------------------------------------------------

    def _apply(self, name: str, args: list[Typed], at: Span) -> Typed:
        made = self._try(name, args, at)
        assert made is not None, name
        return made

    def _try(self, name: str, args: list[Typed], at: Span) -> Typed | None:
        """The operator over its operands, turned into the kinds it takes; None if none fits."""
        kinds = {x.kind for x in args}
        if kinds & {"timestamp", "duration"} and name != "*":
            args = [self._timed(x) for x in args]
        entry = resolve(name, [x.kind for x in args])
        if entry is None and any(x.ticks for x in args):
            args = [self._timed(x) for x in args]
            entry = resolve(name, [x.kind for x in args])
        if entry is None:
            return None
        ready = tuple(self._to(x, want) for x, want in zip(args, entry.operands, strict=True))
        return Apply(entry, ready, ticks_of(name, [x.ticks for x in args]), at)

    def _timed(self, tree: Typed) -> Typed:
        """Whole numbers that are known to be times or lengths of time, as such."""
        if tree.ticks is None or tree.kind != "integer":
            return tree
        step, factor, kind = from_ticks(tree.ticks)
        if factor != 1:
            tree = self._apply(step, [replace(tree, ticks=None), Constant(factor, "integer")],
                               tree.at)
        return self._apply(f"as {kind}", [replace(tree, ticks=None)], tree.at)

    def _to(self, tree: Typed, want: str) -> Typed:
        if tree.kind == want:
            return tree
        if tree.kind == "null":
            return Constant(None, want, at=tree.at)
        if isinstance(tree, Constant):
            return replace(tree, value=float(tree.value), kind="real")
        return Apply(TO_REAL, (tree,), at=tree.at)


def _compare_hint(one: str, other: str) -> str | None:
    pair = {"number" if k in ("integer", "real") else k for k in (one, other)}
    if pair == {"number", "text"}:
        return "quotes make a text: write 5 for the number, '5' for the text"
    if pair == {"number", "duration"}:
        return "give the number a unit: 30 seconds"
    if pair == {"number", "timestamp"}:
        return "write the time as TIMESTAMP '2024-05-01 12:30:00'"
    return None
