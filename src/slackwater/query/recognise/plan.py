"""A MATCH_RECOGNIZE query, checked against the columns of the data and laid out for the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slackwater.core.errors import did_you_mean
from slackwater.query.errors import QueryError, check_result_name
from slackwater.query.expr.arrow import Compiled, compile, schema_lookup
from slackwater.query.expr.tree import Expr, Name, conjuncts
from slackwater.query.recognise.automaton import Automaton, automaton
from slackwater.query.recognise.coder import Coder
from slackwater.query.recognise.resolve import (
    Classifier,
    MatchNumber,
    Navigation,
    Resolved,
    Resolver,
    Scope,
)
from slackwater.query.recognise.tree import Exclude, Order, Pattern, Recognise

__all__ = ["Plan", "plan_recognise"]

_MOST_VARIABLES = 62


@dataclass(frozen=True)
class Plan:
    """What there is to know of a query.

    Parameters
    ----------
    tree, schema
        The query, and the columns of its input.
    graph
        The pattern's states.
    masks
        The bits of each variable and SUBSET.
    local
        For each variable the conditions that look at the row itself, or a fixed number of rows
        before or after it: true or not whatever the match is.
    coder
        The other conditions, as instructions.
    measures
        The results of a match, by name.
    matched
        The columns of the matches, before SELECT.
    outputs, where
        What SELECT makes of them.
    back, ahead
        How many rows before a match, and after a row, are looked at.
    unit
        Of times that are whole numbers.
    """

    tree: Recognise
    schema: pa.Schema
    graph: Automaton
    masks: dict[str, int]
    local: tuple[tuple[Resolved, ...], ...]
    coder: Coder
    measures: dict[str, Resolved]
    matched: pa.Schema
    outputs: dict[str, Compiled]
    where: Compiled | None
    back: int
    ahead: int
    unit: str | None = None

    @property
    def partition(self) -> tuple[str, ...]:
        """The columns whose values keep partitions apart."""
        return tuple(c.name for c in self.tree.partition)

    @property
    def time(self) -> str:
        """The column that says when a row happened."""
        return self.tree.order[0].column.name

    @property
    def ties(self) -> tuple[Order, ...]:
        """What puts rows of equal time in order."""
        return self.tree.order[1:]

    @property
    def remembers(self) -> bool:
        """Whether a partition without open rows still matters: its rows, or how far it has come."""
        counts = any(isinstance(leaf, MatchNumber) for r in self.measures.values()
                     for leaf in r.leaves) or any(
            isinstance(leaf, MatchNumber) for d in self.tree.defines
            for leaf in Resolver(self.scope, own=(d.name, 0)).resolve(d.condition).leaves)
        return bool(self.back or counts or self.graph.anchored_start)

    @property
    def scope(self) -> Scope:
        """What names mean."""
        return Scope(self.tree.text, self.schema, self.masks, self.time, self.unit)


def plan_recognise(tree: Recognise, schema: pa.Schema, unit: str | None = None) -> Plan:
    """Check a query and lay it out, or raise a `QueryError` that draws the place of a mistake.

    `unit` is that of times which are whole numbers.
    """
    return _Planner(tree, schema, unit).plan()


class _Planner:
    def __init__(self, tree: Recognise, schema: pa.Schema, unit: str | None) -> None:
        self._tree, self._schema, self._unit = tree, schema, unit

    def _fail(self, problem: str, at: Any, **more: Any) -> QueryError:
        return QueryError(problem, self._tree.text, at, **more)

    def plan(self) -> Plan:
        tree = self._tree
        self._check_columns()
        graph = automaton(tree.pattern, tree.text)
        if len(graph.variables) > _MOST_VARIABLES:
            raise self._fail(f"the pattern has {len(graph.variables)} variables", tree.pattern.at,
                             expected=f"at most {_MOST_VARIABLES}", mistake="pattern")
        masks = self._masks(graph)
        scope = self._scope(masks)
        local, coder, rows = self._conditions(graph, scope)
        measures = self._measures(scope)
        rows += [leaf.row for m in measures.values() for leaf in m.leaves
                 if isinstance(leaf, (Navigation, Classifier))]
        matched = self._matched(measures)
        outputs, where = self._select(matched)
        if tree.rows == "unmatched" and _excludes(tree.pattern):
            raise self._fail("rows cannot be both left out by {- -} and shown as unmatched",
                             tree.rows_at, mistake="exclusion",
                             hint="ALL ROWS PER MATCH, or a pattern without {- -}")
        return Plan(tree, self._schema, graph, masks, local, coder, measures, matched, outputs,
                    where, max([0, *(-r.shift for r in rows)]), max([0, *(r.shift for r in rows)]),
                    self._unit)

    def _scope(self, masks: dict[str, int]) -> Scope:
        tree = self._tree
        return Scope(tree.text, self._schema, masks, tree.order[0].column.name, self._unit)

    # -- clauses --------------------------------------------------------------------------------

    def _check_columns(self) -> None:
        tree = self._tree
        lookup = schema_lookup(self._schema, tree.text)
        if not tree.order:
            raise self._fail("ORDER BY is missing", tree.pattern.at, mistake="no-order",
                             expected="ORDER BY and the time column, before PATTERN")
        for column in (*tree.partition, *(o.column for o in tree.order)):
            lookup(column)
        first = tree.order[0]
        if first.descending:
            raise self._fail("time goes forward: the first column of ORDER BY cannot be DESC",
                             first.at, mistake="descending", hint="turn the pattern round")
        for columns in (tree.partition, [o.column for o in tree.order]):
            names = [c.name for c in columns]
            for column in columns:
                if names.count(column.name) > 1:
                    raise self._fail(f"{column.name!r} is there twice", column.at, mistake="twice")

    def _masks(self, graph: Automaton) -> dict[str, int]:
        tree = self._tree
        masks = {name: 1 << i for i, name in enumerate(graph.variables)}
        scope = self._scope(masks)
        unions = {}
        for subset in tree.subsets:
            if subset.name in masks or subset.name in unions:
                raise self._fail(f"{subset.name!r} is the name of something else already",
                                 subset.at, mistake="twice")
            union = 0
            for member in subset.members:
                union |= scope.mask(member.name, member.at)
            unions[subset.name] = union
        seen = set()
        for define in tree.defines:
            bit = scope.mask(define.name, define.at)
            if bit in seen:
                raise self._fail(f"{define.name!r} is defined twice", define.at, mistake="twice")
            seen.add(bit)
        masks.update(unions)
        if tree.skip.variable is not None:
            self._scope(masks).mask(tree.skip.variable, tree.skip.at)
        return masks

    def _conditions(self, graph: Automaton,
                    scope: Scope) -> tuple[tuple[tuple[Resolved, ...], ...], Coder, list[Any]]:
        by_bit = {scope.mask(d.name, d.at): d for d in self._tree.defines}
        local, coder, rows = [], Coder(scope), []
        for i, name in enumerate(graph.variables):
            mine, others = [], []
            define = by_bit.get(1 << i)
            if define is not None:
                resolver = Resolver(scope, own=(name, 1 << i))
                self._checked(resolver.resolve(define.condition))
                for part in conjuncts(define.condition):
                    resolved = resolver.resolve(part)
                    rows += [leaf.row for leaf in resolved.leaves if isinstance(leaf, Navigation)]
                    if all(isinstance(leaf, Navigation) and leaf.row.base == "current"
                           for leaf in resolved.leaves):
                        mine.append(resolved)
                    else:
                        others.append(resolved)
            local.append(tuple(mine))
            try:
                coder.condition(others)
            except RecursionError:
                assert define is not None
                raise self._too_deep(define.condition.at) from None
        return tuple(local), coder, rows

    def _checked(self, resolved: Resolved) -> None:
        """Check a condition as a whole, before its parts are looked at one by one."""
        try:
            resolved.condition  # noqa: B018
        except RecursionError:
            raise self._too_deep(resolved.expr.at) from None

    def _too_deep(self, at: Any) -> QueryError:
        return self._fail("the expression is nested too deeply", at)

    def _measures(self, scope: Scope) -> dict[str, Resolved]:
        resolver = Resolver(scope, one_row=self._tree.rows == "one")
        found: dict[str, Resolved] = {}
        for measure in self._tree.measures:
            check_result_name(measure.name, self._tree.text, measure.at)
            if measure.name in found:
                raise self._fail(f"two measures are called {measure.name!r}", measure.at,
                                 mistake="twice")
            found[measure.name] = resolver.resolve(measure.expr)
            found[measure.name].compile()
        return found

    def _matched(self, measures: dict[str, Resolved]) -> pa.Schema:
        """Partition columns, then measures; with ALL ROWS also the columns of ORDER BY before and
        all others behind, as the standard has it."""
        tree, schema = self._tree, self._schema
        first = [c.name for c in tree.partition]
        if tree.rows != "one":
            first += [o.column.name for o in tree.order if o.column.name not in first]
        fields = [schema.field(name) for name in first]
        fields += [pa.field(name, r.compile().type) for name, r in measures.items()]
        if tree.rows != "one":
            fields += [f for f in schema if f.name not in first]
        names = [f.name for f in fields]
        for measure in tree.measures:
            if names.count(measure.name) > 1:
                raise self._fail(f"the result would have two columns {measure.name!r}", measure.at,
                                 hint="give the measure another name with AS", mistake="twice")
        if not fields:
            raise self._fail("the result would have no columns", tree.at, mistake="no-columns",
                             hint="add MEASURES, or ALL ROWS PER MATCH")
        return pa.schema(fields)

    def _select(self, matched: pa.Schema) -> tuple[dict[str, Compiled], Compiled | None]:
        tree = self._tree
        lookup = schema_lookup(matched, tree.text)

        def schema_of(name: Name) -> pa.DataType:
            if name.qualifier not in (None, tree.alias, tree.source):
                known = [n for n in (tree.alias, tree.source) if n is not None]
                raise self._fail(f"there is no table {name.qualifier!r} here", name.at,
                                 expected=" or ".join(known), mistake="unknown-table",
                                 hint=did_you_mean(str(name.qualifier), known))
            return lookup(name)

        found: dict[str, Compiled] = {}
        for item in tree.items:
            if item.expr is None:
                if item.name not in (None, tree.alias, tree.source):
                    schema_of(Name(item.name, "*", at=item.at))
                some: list[tuple[str, Expr]] = [(n, Name(None, n, at=item.at))
                                                for n in matched.names]
            else:
                name = item.name or (item.expr.name if isinstance(item.expr, Name) else
                                     tree.text[item.expr.at.start:item.expr.at.end])
                some = [(name, item.expr)]
            for name, expr in some:
                if name in found:
                    raise self._fail(f"the result would have two columns {name!r}", item.at,
                                     hint="give one another name with AS", mistake="twice")
                check_result_name(name, tree.text, item.at)
                found[name] = _kept(expr, matched) or compile(expr, schema_of, tree.text)
        where = None if tree.where is None else compile(tree.where, schema_of, tree.text)
        if where is not None and not pa.types.is_boolean(where.type):
            raise self._fail("WHERE needs a condition", tree.where.at,  # type: ignore[union-attr]
                             hint="compare it with something: … > 0", mistake="type")
        return found, where


def _kept(expr: Expr, matched: pa.Schema) -> Compiled | None:
    """A bare column leaves as it came, whatever its type."""
    if isinstance(expr, Name) and expr.qualifier is None and expr.name in matched.names:
        return Compiled(matched.field(expr.name).type, (expr,), lambda columns: columns(expr))
    return None


def _excludes(node: Pattern) -> bool:
    parts = getattr(node, "parts", ()) or ((node.part,) if hasattr(node, "part") else ())
    return isinstance(node, Exclude) or any(_excludes(p) for p in parts)
