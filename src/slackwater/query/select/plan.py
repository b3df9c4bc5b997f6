"""SELECT queries: what to compute before the window, in it, and after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.events import Roles
from slackwater.core.names import unused
from slackwater.query.errors import QueryError, check_result_name
from slackwater.query.expr.arrow import Compiled, compile, compile_condition, schema_lookup
from slackwater.query.expr.elsewhere import function_hint
from slackwater.query.expr.kinds import as_kind, kind_of
from slackwater.query.expr.operators import FUNCTIONS as SCALARS
from slackwater.query.expr.ticks import unit_lookup
from slackwater.query.expr.tree import Call, Expr, Literal, Name, Star, rewrite, walk
from slackwater.query.select.tree import Item, Select
from slackwater.window import FUNCTIONS, Aggregate, Window

__all__ = ["Plan", "aggregate_name", "plan_select", "selected"]

_SAME = {"mean": "avg", "std": "stddev", "stddev_samp": "stddev", "percentile": "quantile",
         "average": "avg"}
_FACTS = {"window_start": pa.timestamp("us", "UTC"), "window_end": pa.timestamp("us", "UTC")}


@dataclass(frozen=True)
class Plan:
    """A query made ready.

    Parameters
    ----------
    where
        Which rows take part.
    arguments
        Columns to compute for the aggregates, by name.
    window
        The kernel in the middle.
    outputs
        The selected columns, by name, over the window's results.
    having
        Which results leave.
    """

    where: Compiled | None
    arguments: dict[str, Compiled]
    window: Window
    outputs: dict[str, Compiled]
    having: Compiled | None = None


def plan_select(select: Select, schema: pa.Schema, roles: Roles) -> Plan:
    """Check a query against the columns it is about, and plan it."""
    planner = _Planner(select, schema, roles)
    planner.check_names()
    where = planner.where()
    group = planner.group()
    outputs = [planner.output(item) for item in planner.items()]
    having = planner.having()
    if not select.windowed and planner.aggregates:
        raise QueryError("an aggregate needs a window to be of", select.text,
                         planner.first_call.at,
                         hint=f"FROM {select.source} [RANGE 30 seconds]", mistake="no-window")
    span = select.range if select.windowed else 1
    window = Window(planner.aggregates, span, select.slide, group,
                    Roles(roles.time, unit=roles.unit), select.session)
    return Plan(where, planner.arguments, window, *planner.compiled(outputs, having, window))


class _Planner:
    def __init__(self, select: Select, schema: pa.Schema, roles: Roles) -> None:
        self._select, self._schema, self._text = select, schema, select.text
        self._unit_of = unit_lookup(roles)
        self._calls: dict[tuple[object, ...], Aggregate] = {}
        self._arguments: dict[Expr, str] = {}
        self.arguments: dict[str, Compiled] = {}
        self.first_call: Expr = select.items[0].expr or Star()
        # columns of the plan's own, which no column of the input is called like
        self._agg, self._arg = unused("_agg", schema.names), unused("_arg", schema.names)

    @property
    def aggregates(self) -> list[Aggregate]:
        return list(self._calls.values())

    def _fail(self, problem: str, node: Expr | Item, **more: str | None) -> QueryError:
        return QueryError(problem, self._text, node.at, **more)

    def _columns(self, *also: str) -> Callable[[Name], pa.DataType]:
        return schema_lookup(self._schema, self._text, also=also)

    def check_names(self) -> None:
        """A column may be qualified by the stream's name, and by nothing else."""
        source, alias = self._select.source, self._select.alias
        known = [n for n in (alias, source) if n is not None]
        for item in self._select.items:
            if item.expr is None and item.name not in (None, *known):
                raise self._stranger(str(item.name), item, f"write * or {known[0]}.*", known)
        trees = [*(item.expr for item in self._select.items), self._select.where,
                 self._select.having, *self._select.group]
        for node in (n for tree in trees if tree is not None for n in walk(tree)):
            if not isinstance(node, Name):
                continue
            if node.index is not None:
                raise self._fail("a row has no elements", node, mistake="index",
                                 hint=f"write {node.name or node.qualifier}")
            if node.qualifier not in (None, *known):
                raise self._stranger(str(node.qualifier), node,
                                     f"write {node.name} or {known[0]}.{node.name}", known)

    def _stranger(self, name: str, node: Expr | Item, write: str, known: list[str]) -> QueryError:
        return self._fail(f"there is no stream {name!r} here", node, mistake="stream",
                          hint=did_you_mean(name, known) or write)

    def where(self) -> Compiled | None:
        condition = self._select.where
        if condition is None:
            return None
        for node in walk(condition):
            if aggregate_name(node):
                raise self._fail("WHERE is about single rows, before they are aggregated", node,
                                 mistake="aggregate-in-where")
        return compile_condition(condition, self._columns(), self._text, unit_of=self._unit_of)

    def group(self) -> tuple[str, ...]:
        columns, found = self._columns(), []
        for name in self._select.group:
            name = self._named(name)
            columns(name)
            if name.name in found:
                raise self._fail(f"{name.name!r} is there twice", name, mistake="twice")
            found.append(name.name)
        return tuple(found)

    def _named(self, name: Name) -> Name:
        """The column that a result of this name is, where the input has no such column."""
        is_result = name.qualifier is None and name.name not in self._schema.names
        return next((item.expr for item in self._select.items if is_result
                     and item.name == name.name and isinstance(item.expr, Name)), name)

    def having(self) -> Expr | None:
        """HAVING, with the results that it names spelt out."""
        results = {item.name: item.expr for item in self._select.items
                   if item.name is not None and item.expr is not None
                   and item.name not in (*self._schema.names, *_FACTS)}

        def change(node: Expr) -> Expr | None:
            if not isinstance(node, Name) or node.qualifier is not None:
                return None
            found = results.get(node.name)
            return None if found is None else replace(found, at=node.at)

        having = self._select.having
        return None if having is None else self.replaced(rewrite(having, change))

    def items(self) -> list[Item]:
        """The selected items, * spelt out."""
        items: list[Item] = []
        for item in self._select.items:
            if item.expr is not None:
                items.append(item)
                continue
            names = self._schema.names if self._select.per_row else [
                "window_start", "window_end", *(self._named(n).name for n in self._select.group)]
            items += [Item(Name(None, n, at=item.at), at=item.at) for n in names]
        return items

    def output(self, item: Item) -> tuple[str, Expr]:
        """The item's name, and its expression with aggregates replaced by columns."""
        expr = item.expr
        assert expr is not None
        name = item.name
        if name is None:
            name = expr.name if isinstance(expr, Name) else self._text[expr.at.start:expr.at.end]
        return name, self.replaced(expr)

    def replaced(self, expr: Expr) -> Expr:
        """The expression with aggregates replaced by columns."""
        for node in walk(expr):
            if isinstance(node, Name) and node.name.startswith((self._agg, self._arg)):
                self._columns()(node)  # no column is called so: this raises
        return rewrite(expr, self._aggregate)

    def _aggregate(self, node: Expr) -> Expr | None:
        function = aggregate_name(node)
        if function is None:
            if isinstance(node, Call) and node.function not in SCALARS:
                known = (*FUNCTIONS, *SCALARS)
                hint = function_hint(node.function, known)
                raise self._fail(f"there is no function {node.function!r}", node, hint=hint,
                                 expected=None if hint else f"one of {', '.join(known)}",
                                 mistake="function")
            return None
        assert isinstance(node, Call)
        if not self._calls:
            self.first_call = node
        wanted = 2 if function == "quantile" else 1
        if len(node.args) != wanted:
            usage = "quantile(value, 0.9)" if wanted == 2 else f"{node.function}(value)"
            raise self._fail(f"{node.function} takes {wanted} value{'s' if wanted > 1 else ''}, "
                             f"and {len(node.args)} are given", node, hint=usage,
                             mistake="arguments")
        q = self._share(node.args[1]) if wanted == 2 else None
        column = None
        if not isinstance(node.args[0], Star):
            column = self._argument(node.args[0])
        elif function != "count":
            raise self._fail(f"{node.function} needs a column; only COUNT takes *", node.args[0],
                             mistake="star")
        key = (function, column, q)
        if key not in self._calls:
            self._calls[key] = Aggregate(function, column, q, name=f"{self._agg}{len(self._calls)}")
            self._check(self._calls[key], node)
        return Name(None, self._calls[key].name, at=node.at)

    def _share(self, node: Expr) -> float:
        value = node.value if isinstance(node, Literal) and node.kind == "number" else None
        if not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise self._fail("the second value of quantile is a number between 0 and 1", node,
                             hint="quantile(value, 0.9)", mistake="quantile")
        return float(value)

    def _argument(self, expr: Expr) -> str:
        """The column that holds an aggregate's argument: one of the input, or a computed one."""
        for node in walk(expr):
            if aggregate_name(node):
                raise self._fail("an aggregate cannot be taken of an aggregate", node,
                                 mistake="nested-aggregate")
        compiled = compile(expr, self._columns(), self._text, unit_of=self._unit_of)
        if isinstance(expr, Name):
            kind = self._schema.field(expr.name).type
            if as_kind(kind) == kind:
                return expr.name
        if expr not in self._arguments:
            name = f"{self._arg}{len(self._arguments)}"
            self._arguments[expr], self.arguments[name] = name, compiled
        return self._arguments[expr]

    def wide_schema(self) -> pa.Schema:
        """The input's columns and the computed ones."""
        return pa.schema([*self._schema, *(pa.field(n, c.type) for n, c in self.arguments.items())])

    def _check(self, aggregate: Aggregate, node: Call) -> None:
        try:
            aggregate.result_type(self.wide_schema())
        except ConfigError as why:
            kind = kind_of(self.wide_schema().field(str(aggregate.column)).type)
            raise self._fail(f"{node.function} cannot be taken of this: it is {kind}", node.args[0],
                             expected=str(why.expected), mistake="type") from None

    def compiled(self, outputs: list[tuple[str, Expr]], having: Expr | None,
                 window: Window) -> tuple[dict[str, Compiled], Compiled | None]:
        results = window.result_schema(self.wide_schema())

        def schema_of(name: Name) -> pa.DataType:
            if name.name in results.names and name.name not in self.arguments:
                return results.field(name.name).type
            if not window.per_row and name.name in self._schema.names:
                kind = "SLIDE" if self._select.session is None else "SESSION"
                raise self._fail(
                    f"with {kind} a result is of many rows, and {name.name!r} is of one", name,
                    hint="add it to GROUP BY, or aggregate it", mistake="not-grouped")
            if name.name in _FACTS and self._select.windowed:
                return _FACTS[name.name]
            if name.name in _FACTS:
                raise self._fail(f"{name.name!r} needs a window", name, mistake="no-window",
                                 hint=f"FROM {self._select.source} [RANGE 30 seconds]")
            shown = pa.schema([f for f in results
                               if not f.name.startswith((self._agg, self._arg))])
            return schema_lookup(shown, self._text)(name)

        found: dict[str, Compiled] = {}
        for (name, expr), item in zip(outputs, self.items(), strict=True):
            check_result_name(name, self._text, item.at)
            if name in found:
                raise self._fail(f"two columns are called {name!r}", item,
                                 hint="give one of them another name with AS", mistake="twice")
            found[name] = selected(expr, schema_of, self._text, self._unit_of)
        if having is None:
            return found, None
        return found, compile_condition(having, schema_of, self._text, where="HAVING",
                                        unit_of=self._unit_of)


def selected(expr: Expr, schema_of: Callable[[Name], pa.DataType], text: str,
             unit_of: Callable[[Name], str | None] = lambda name: None) -> Compiled:
    """A column alone passes through as it is, whatever its type; the rest is computed."""
    if isinstance(expr, Name):
        kind = schema_of(expr)
        return Compiled(kind, (expr,), lambda columns: columns(expr))
    return compile(expr, schema_of, text, unit_of=unit_of)


def aggregate_name(node: Expr) -> str | None:
    """The aggregate that a call is of, by its first name; None: it is no such call."""
    if not isinstance(node, Call):
        return None
    function = _SAME.get(node.function, node.function)
    return function if function in FUNCTIONS else None
