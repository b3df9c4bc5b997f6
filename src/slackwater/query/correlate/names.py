"""Names in a query over two streams: which side a column is of, and what it is called in a pair."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from slackwater.core.errors import did_you_mean
from slackwater.correlate.rows import pair_columns
from slackwater.query.correlate.tree import Absolute, CorrelateTree, Moment, Timed
from slackwater.query.errors import QueryError
from slackwater.query.expr.arrow import schema_lookup
from slackwater.query.expr.tree import Expr, Name, rewrite, walk
from slackwater.query.select.plan import aggregate_name

__all__ = ["PAIR", "Names", "Place"]

PAIR = 2
"""The place of what neither side has: the pair's probability."""


class Place(NamedTuple):
    """A column: its side (0 left, 1 right, or `PAIR`), its name there, its name in a pair."""

    side: int
    column: str
    label: str


class Names:
    """Finds the columns that a query names, and tells what is wrong with those it does not find."""

    def __init__(self, tree: CorrelateTree, schemas: tuple[pa.Schema, pa.Schema]) -> None:
        self._tree, self._schemas = tree, schemas
        self._aliases = [stream.alias for stream in tree.streams]
        labels = pair_columns(*(schema.names for schema in schemas))
        self._labels = [dict(zip(schema.names, names, strict=True))
                        for schema, names in zip(schemas, labels, strict=True)]
        self.pairs = pa.schema([
            *(pa.field(self._labels[side][field.name], field.type)
              for side, schema in enumerate(schemas) for field in schema),
            pa.field("probability", pa.float64())])

    def place(self, name: Name) -> Place:
        """Where a column is."""
        text, aliases = self._tree.text, self._aliases
        if name.index is not None:
            raise QueryError("a stream's rows have no numbers here", text, name.at,
                             hint=f"{name.qualifier}.{name.name or 'column'}", mistake="index")
        if name.qualifier is not None:
            if name.qualifier not in aliases:
                raise QueryError(f"there is no stream {name.qualifier!r}", text, name.at,
                                 expected=" or ".join(aliases), mistake="unknown-stream",
                                 hint=did_you_mean(name.qualifier, aliases))
            side = aliases.index(name.qualifier)
            schema_lookup(self._schemas[side], text)(name)
            return Place(side, name.name, self._labels[side][name.name])
        if name.name.lower() == "probability":
            return Place(PAIR, "probability", "probability")
        found = [side for side in (0, 1) if name.name in self._schemas[side].names]
        if len(found) > 1:
            raise QueryError(f"both streams have a column {name.name!r}", text, name.at,
                             hint=" or ".join(f"{alias}.{name.name}" for alias in aliases),
                             mistake="ambiguous")
        if not found:
            either = pa.schema([pa.field(n, pa.null()) for n in dict.fromkeys(
                [*self._schemas[0].names, *self._schemas[1].names])])
            schema_lookup(either, text, also=["PROBABILITY"])(name)
        return Place(found[0], name.name, self._labels[found[0]][name.name])

    def sides(self, expr: Expr) -> set[int]:
        """The sides that an expression is about."""
        return {self.place(node).side for node in walk(expr) if isinstance(node, Name)}

    def of_pair(self, expr: Expr) -> Expr:
        """The expression over the columns of a pair."""
        return rewrite(expr, lambda node: Name(None, self.place(node).label, at=node.at)
                       if isinstance(node, Name) else None)

    def of_side(self, expr: Expr) -> Expr:
        """The expression over the columns of its one side."""
        return rewrite(expr, lambda node: Name(None, node.name, at=node.at)
                       if isinstance(node, Name) else None)

    def check_plain(self, expr: Expr) -> None:
        """Refuse aggregates, and what belongs to the timing condition alone."""
        for node in walk(expr):
            if aggregate_name(node):
                raise QueryError("a result is of one pair, and an aggregate is of many",
                                 self._tree.text, node.at, mistake="aggregate-of-pairs",
                                 hint="select the columns, and aggregate the results in a query of "
                                 "their own")
            if isinstance(node, (Moment, Absolute, Timed)):
                alias = self._aliases[0]
                raise QueryError("only a timing condition in WHERE can be about @ and | |",
                                 self._tree.text, node.at, mistake="moment",
                                 hint=f"select its ends: {alias}.time_min, {alias}.time_max")
