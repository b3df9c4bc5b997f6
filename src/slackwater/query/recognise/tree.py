"""A MATCH_RECOGNIZE query as a tree: frozen nodes, each with its place in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from slackwater.query.expr.tree import Expr, Name, Node, Span
from slackwater.query.select.tree import Item

__all__ = ["Anchor", "Define", "Either", "Exclude", "Measure", "Order", "Pattern", "Permute",
           "Recognise", "Repeat", "Sequence", "Skip", "Subset", "Variable"]


@dataclass(frozen=True)
class Variable(Node):
    """A row that is mapped to a pattern variable."""

    name: str


@dataclass(frozen=True)
class Sequence(Node):
    """Parts, one after the other; none: the empty pattern."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Either(Node):
    """Alternatives, the first preferred."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Permute(Node):
    """The parts in any order; orders are preferred as they come by the list."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Repeat(Node):
    """`part` least…most times (most None: any number), as often as can be unless `lazy`."""

    part: Pattern
    least: int
    most: int | None
    lazy: bool = False


@dataclass(frozen=True)
class Exclude(Node):
    """A part whose rows ALL ROWS PER MATCH leaves out."""

    part: Pattern


@dataclass(frozen=True)
class Anchor(Node):
    """The start of the partition, or its end."""

    start: bool


Pattern: TypeAlias = Variable | Sequence | Either | Permute | Repeat | Exclude | Anchor


@dataclass(frozen=True)
class Order(Node):
    """A column of ORDER BY."""

    column: Name
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class Measure(Node):
    """A result and its name."""

    expr: Expr
    name: str


@dataclass(frozen=True)
class Skip(Node):
    """Where the search goes on: "past" the match, at the "next" row, or at a variable's row."""

    how: str = "past"
    variable: str | None = None


@dataclass(frozen=True)
class Subset(Node):
    """A name for several variables."""

    name: str
    members: tuple[Variable, ...]


@dataclass(frozen=True)
class Define(Node):
    """The condition of a variable."""

    name: str
    condition: Expr


@dataclass(frozen=True)
class Recognise(Node):
    """The whole query; `within` in microseconds.

    `rows` is "one", "all" (empty matches shown), "omit" (they are not) or "unmatched" (rows without
    a match, too).
    """

    text: str
    items: tuple[Item, ...]
    source: str
    pattern: Pattern
    partition: tuple[Name, ...] = ()
    order: tuple[Order, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: str = "one"
    rows_at: Span = field(default=Span(1, 1, 0, 0), compare=False)
    skip: Skip = Skip()
    within: int | None = None
    subsets: tuple[Subset, ...] = ()
    defines: tuple[Define, ...] = ()
    alias: str | None = None
    where: Expr | None = None
    explain: bool = False
