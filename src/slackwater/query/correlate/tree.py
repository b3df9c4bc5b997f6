"""A query over two streams as a tree."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.query.expr.tree import Expr, Node
from slackwater.query.select.tree import Item

__all__ = ["Absolute", "CorrelateTree", "Moment", "Stream", "Timed"]


@dataclass(frozen=True)
class Moment(Node):
    """`@a`: when a row of the stream a happened, which is known as an interval only."""

    alias: str


@dataclass(frozen=True)
class Absolute(Node):
    """`|x|`."""

    operand: Expr


@dataclass(frozen=True)
class Timed(Node):
    """`condition CONFIDENCE 80%`."""

    condition: Expr
    confidence: float


@dataclass(frozen=True)
class Stream(Node):
    """One of the two streams: the table's name, and the name that the query gives it."""

    name: str
    alias: str


@dataclass(frozen=True)
class CorrelateTree(Node):
    """A whole query; `within` in microseconds."""

    text: str
    items: tuple[Item, ...]
    streams: tuple[Stream, Stream]
    where: Expr
    within: int | None
    explain: bool = False
