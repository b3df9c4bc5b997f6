"""Which row each part of an expression looks at.

In MATCH_RECOGNIZE a column is always that of some row: `A.price` of the last row mapped to A so
far, `PREV(A.price)` of the row before that one.  Resolving replaces every such part by a
placeholder column, and says of each what it stands for; what is left is an ordinary expression.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa

from slackwater.core.errors import did_you_mean
from slackwater.query.errors import QueryError
from slackwater.query.expr.arrow import Compiled, compile, schema_lookup
from slackwater.query.expr.ticks import Ticks
from slackwater.query.expr.tree import Call, Expr, Literal, Name, Span, Star, rewrite, walk
from slackwater.query.expr.types import Checker, Typed

__all__ = ["AGGREGATES", "PLACE", "Aggregate", "Classifier", "Leaf", "MatchNumber", "Navigation",
           "Resolved", "Resolver", "RowOf", "Scope"]

PLACE = "$"
"""The qualifier of placeholder columns, whose names are numbers."""
AGGREGATES = ("count", "sum", "avg", "min", "max")
_LOGICAL, _PHYSICAL = ("first", "last"), ("prev", "next")
_OWN = (*AGGREGATES, *_LOGICAL, *_PHYSICAL, "classifier", "match_number", "final", "running")
_OTHERS = ("count_distinct", "stddev", "median", "quantile", "array_agg", "listagg", "string_agg",
           "max_by", "min_by", "arbitrary", "variance")
_ALL = ~0
_NUMBER = pa.int64()


@dataclass(frozen=True)
class RowOf:
    """A row, as seen from a row of a match.

    Parameters
    ----------
    base
        "current", or the "first" or the "last" row of some variables.
    mask
        Those variables, a bit each; −1: all of them.
    offset
        How many rows of these variables further on (of "first") or back (of "last").
    shift
        How many rows of the partition further on (negative: back).
    final
        Whether all of the match is looked at, instead of what there is up to the current row.
    """

    base: str = "current"
    mask: int = _ALL
    offset: int = 0
    shift: int = 0
    final: bool = False


@dataclass(frozen=True)
class Navigation:
    """A value of another row: an expression over the bare columns of that row."""

    row: RowOf
    inner: Expr
    compiled: Compiled = field(compare=False)
    ticks: Ticks | None = None

    @property
    def type(self) -> pa.DataType:
        """Of the value."""
        return self.compiled.type


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over the rows of some variables; without `inner` the rows are counted."""

    function: str
    mask: int
    inner: Expr | None
    compiled: Compiled | None = field(compare=False)
    final: bool = False
    type: pa.DataType = _NUMBER
    ticks: Ticks | None = None


@dataclass(frozen=True)
class Classifier:
    """The name of the variable that a row is mapped to."""

    row: RowOf
    type: pa.DataType = field(default=pa.string(), compare=False)


@dataclass(frozen=True)
class MatchNumber:
    """The number of the match in its partition."""

    type: pa.DataType = field(default=_NUMBER, compare=False)


Leaf: TypeAlias = Navigation | Aggregate | Classifier | MatchNumber


@dataclass(frozen=True)
class Scope:
    """What names can mean: the columns, and for each variable or SUBSET its bits.

    `time` is a column of times, whole numbers of this `unit` if it is one of numbers.
    """

    text: str
    schema: pa.Schema
    masks: dict[str, int]
    time: str = ""
    unit: str | None = None

    def mask(self, name: str, at: Span) -> int:
        """The bits of a variable or a SUBSET; the case of the name matters only if it must."""
        if name in self.masks:
            return self.masks[name]
        folded = [m for v, m in self.masks.items() if v.lower() == name.lower()]
        if len(folded) == 1:
            return folded[0]
        raise QueryError(f"the pattern has no variable {name!r}", self.text, at,
                         expected=f"one of {', '.join(self.masks)}", mistake="unknown-variable",
                         hint=did_you_mean(name, list(self.masks)))

    def compile(self, inner: Expr) -> Compiled:
        """An expression over bare columns."""
        return compile(inner, schema_lookup(self.schema, self.text), self.text,
                       unit_of=self.unit_of)

    def check(self, inner: Expr) -> Typed:
        """The typed tree of an expression over bare columns."""
        return Checker(schema_lookup(self.schema, self.text), self.text,
                       unit_of=self.unit_of).check(inner)

    def unit_of(self, name: Name) -> str | None:
        """The unit of a column of whole-number times."""
        return self.unit if name.name == self.time else None


@dataclass(frozen=True)
class Resolved:
    """An expression over placeholders, and what these stand for."""

    expr: Expr
    leaves: tuple[Leaf, ...]
    scope: Scope

    @property
    def text(self) -> str:
        """The query."""
        return self.scope.text

    def leaf(self, name: Name) -> Leaf:
        """What a placeholder stands for."""
        return self.leaves[int(name.name)]

    def compile(self) -> Compiled:
        """The expression, ready to run over the leaves' values."""
        return compile(self.expr, self._type_of, self.text, unit_of=self._unit_of)

    @property
    def condition(self) -> Typed:
        """The typed tree of an expression that must be a condition."""
        checker = Checker(self._type_of, self.text, unit_of=self._unit_of)
        return checker.condition(self.expr, "DEFINE")

    def _type_of(self, name: Name) -> pa.DataType:
        return self.leaf(name).type

    def _unit_of(self, name: Name) -> str | None:
        kind, unit = getattr(self.leaf(name), "ticks", None) or ("", None)
        return unit if kind == "timestamp" else None


class Resolver:
    """Resolves the expressions of one query.

    Parameters
    ----------
    scope
        What names can mean.
    own
        In DEFINE the bit of the variable that is defined: the row at hand is mapped to it.
    one_row
        In MEASURES of ONE ROW PER MATCH, where the row at hand is the match's last.
    """

    def __init__(self, scope: Scope, *, own: tuple[str, int] | None = None,
                 one_row: bool = False) -> None:
        self._scope, self._own, self._one_row = scope, own, one_row

    def resolve(self, expr: Expr) -> Resolved:
        """Replace all that looks at a row."""
        leaves: dict[Leaf, int] = {}

        def change(node: Expr) -> Expr | None:
            leaf = self._leaf(node)
            if leaf is None:
                return None
            if isinstance(leaf, Literal):
                return leaf
            number = leaves.setdefault(leaf, len(leaves))
            return Name(PLACE, str(number), at=node.at)

        return Resolved(rewrite(expr, change), tuple(leaves), self._scope)

    # -- inside ---------------------------------------------------------------------------------

    def _fail(self, problem: str, at: Span, **more: Any) -> QueryError:
        return QueryError(problem, self._scope.text, at, **more)

    def _leaf(self, node: Expr, final: bool = False) -> Leaf | Literal | None:
        if isinstance(node, Name):
            return self._navigation(node, RowOf("last", self._mask(node), final=final))
        if isinstance(node, Star):
            raise self._fail("* stands for rows, and only COUNT(*) counts rows", node.at,
                             mistake="star")
        self._known(node)
        if not isinstance(node, Call) or node.function not in _OWN:
            return None
        kind = node.function
        if kind in ("final", "running"):
            return self._leaf(self._with_semantics(node), final=kind == "final")
        if kind == "match_number":
            self._arguments(node, 0, 0)
            return MatchNumber()
        if kind == "classifier":
            return self._classifier(node, RowOf("last", final=final))
        if kind in AGGREGATES:
            return self._aggregate(node, final)
        return self._navigate(node, final)

    def _known(self, node: Expr | None) -> None:
        """Refuse aggregates that matches do not have."""
        if isinstance(node, Call) and node.function in _OTHERS:
            raise self._fail(f"{node.function.replace('_distinct', '(distinct …)').upper()} is no "
                             "aggregate of a match", node.at, mistake="aggregate",
                             expected=", ".join(map(str.upper, (*AGGREGATES, *_LOGICAL))),
                             hint="ALL ROWS PER MATCH gives the rows, which another query can take")

    def _with_semantics(self, node: Call) -> Call:
        """What FINAL or RUNNING stands before."""
        inner = node.args[0] if len(node.args) == 1 else None  # FINAL(…) is read as a call, too
        self._known(inner)
        if not isinstance(inner, Call) or inner.function not in (*AGGREGATES, *_LOGICAL,
                                                                 "classifier"):
            raise self._fail(f"{node.function.upper()} stands before FIRST, LAST, CLASSIFIER or an "
                             "aggregate", node.at, mistake="semantics")
        if node.function == "final" and self._own is not None:
            raise self._fail("FINAL has no meaning in DEFINE: the match is not complete", node.at,
                             hint="leave FINAL out", mistake="semantics")
        return inner

    def _navigate(self, node: Call, final: bool) -> Leaf | Literal:
        physical = node.function in _PHYSICAL
        self._arguments(node, 1, 2)
        given = self._offset(node, 1 if physical else 0)
        inner, row = node.args[0], RowOf("last", final=final)
        if physical:
            if isinstance(inner, Call) and inner.function in ("final", "running"):
                final = inner.function == "final"
                inner = self._with_semantics(inner)
            shift = -given if node.function == "prev" else given
            row = RowOf("last", shift=shift, final=final)
            if isinstance(inner, Call) and inner.function in _LOGICAL:
                self._arguments(inner, 1, 2)
                row = replace(row, base=inner.function, offset=self._offset(inner, 0))
                inner = inner.args[0]
        else:
            row = replace(row, base=node.function, offset=given)
        if isinstance(inner, Call) and inner.function == "classifier":
            return self._classifier(inner, row)
        for part in walk(inner):
            if isinstance(part, Call) and part.function in _OWN:
                allowed = " (PREV and NEXT may hold FIRST or LAST, not the other way round)"
                raise self._fail(f"{part.function.upper()} cannot stand inside "
                                 f"{node.function.upper()}", part.at, mistake="nested-navigation",
                                 hint=allowed.strip(" ()") if part.function in _PHYSICAL else None)
        names = [part for part in walk(inner) if isinstance(part, Name)]
        if not names:
            raise self._fail(f"{node.function.upper()} needs a column", inner.at,
                             mistake="navigation-without-column")
        return self._navigation(inner, replace(row, mask=self._common(names)))

    def _navigation(self, inner: Expr, row: RowOf) -> Navigation:
        bare = rewrite(inner, lambda n: Name(None, n.name, at=n.at) if isinstance(n, Name)
                       else None)
        return Navigation(self._seen(row), bare, self._scope.compile(bare),
                          self._scope.check(bare).ticks)

    def _seen(self, row: RowOf) -> RowOf:
        """The same row, named in the one way in which the rest of the code knows it."""
        if self._one_row:
            row = replace(row, final=True)
        if self._own is not None and row.base == "last" and row.offset == 0 and (
                row.mask & self._own[1]):
            return RowOf(shift=row.shift)
        if self._own is None and row.base == "last" and row.mask == _ALL and row.offset == 0 and (
                not row.final):
            return RowOf(shift=row.shift)
        return row

    def _classifier(self, node: Call, row: RowOf) -> Leaf | Literal:
        self._arguments(node, 0, 1)
        if node.args:
            named = node.args[0]
            if not isinstance(named, Name) or named.qualifier is not None:
                raise self._fail("CLASSIFIER takes the name of a variable or SUBSET, or nothing",
                                 named.at, mistake="classifier")
            row = replace(row, mask=self._scope.mask(named.name, named.at))
        row = self._seen(row)
        if self._own is None:
            return Classifier(row)
        if row == RowOf():
            return Literal(self._own[0], "text", at=node.at)
        return Classifier(row)

    def _aggregate(self, node: Call, final: bool) -> Leaf:
        self._arguments(node, 1, 1)
        arg, final = node.args[0], final or self._one_row
        if isinstance(arg, Star) or (isinstance(arg, Name) and arg.name == "*"):
            if node.function != "count":
                raise self._fail(f"{node.function.upper()} needs a column", arg.at, mistake="star")
            mask = _ALL if isinstance(arg, Star) else self._mask(arg)
            return Aggregate("count", mask, None, None, final)
        for part in walk(arg):
            if isinstance(part, Call) and part.function in _OWN:
                raise self._fail(f"{part.function.upper()} cannot stand inside an aggregate",
                                 part.at, mistake="nested-aggregate")
        names = [part for part in walk(arg) if isinstance(part, Name)]
        mask = self._common(names) if names else _ALL
        bare = rewrite(arg, lambda n: Name(None, n.name, at=n.at) if isinstance(n, Name) else None)
        compiled = self._scope.compile(bare)
        ticks = self._scope.check(bare).ticks if node.function in ("min", "max") else None
        return Aggregate(node.function, mask, bare, compiled, final,
                         self._result(node, compiled.type), ticks)

    def _result(self, node: Call, kind: pa.DataType) -> pa.DataType:
        if node.function == "count":
            return _NUMBER
        ordered = pa.types.is_timestamp(kind) or pa.types.is_string(kind)
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if node.function in ("min", "max") and not pa.types.is_null(kind):
            return kind
        if number or (pa.types.is_duration(kind) and node.function == "sum"):
            return pa.float64() if node.function == "avg" else kind
        raise self._fail(f"{node.function.upper()} cannot be taken of "
                         f"{'texts or times' if ordered else kind}", node.at, mistake="type")

    # -- small things ---------------------------------------------------------------------------

    def _mask(self, name: Name) -> int:
        if name.index is not None:
            raise self._fail("rows are not numbered by brackets here", name.at, mistake="index",
                             hint=f"FIRST({name.qualifier}.{name.name}, 2)")
        return _ALL if name.qualifier is None else self._scope.mask(name.qualifier, name.at)

    def _common(self, names: list[Name]) -> int:
        """The variable of all columns inside a navigation or an aggregate, which must be one."""
        masks = [self._mask(n) for n in names]
        for name, mask in zip(names, masks, strict=True):
            if mask != masks[0]:
                raise self._fail("all columns in here must be of the same variable", name.at,
                                 mistake="mixed-variables", expected=str(names[0]), hint=None)
        return masks[0]

    def _offset(self, node: Call, default: int) -> int:
        if len(node.args) < 2:
            return default
        given = node.args[1]
        if not (isinstance(given, Literal) and isinstance(given.value, int)
                and given.kind == "number" and 0 <= given.value < 1 << 31):
            raise self._fail("an offset is a whole number, written out", given.at,
                             mistake="offset", expected=f"{node.function.upper()}(…, 1)")
        return given.value

    def _arguments(self, node: Call, least: int, most: int) -> None:
        if not least <= len(node.args) <= most:
            count = str(least) if least == most else f"{least} or {most}"
            raise self._fail(f"{node.function.upper()} takes {count} arguments, and "
                             f"{len(node.args)} are given", node.at, mistake="arguments")
