"""A SELECT query as a tree."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.query.expr.tree import Expr, Name, Node

__all__ = ["Item", "Select"]


@dataclass(frozen=True)
class Item(Node):
    """One thing selected, with its name if AS gives one; no expression: every column (*)."""

    expr: Expr | None
    name: str | None = None


@dataclass(frozen=True)
class Select(Node):
    """A SELECT query; durations in microseconds."""

    text: str
    items: tuple[Item, ...]
    source: str
    range: int | None = None
    slide: int | None = None
    dratio: float | None = None
    where: Expr | None = None
    group: tuple[Name, ...] = ()
    having: Expr | None = None
    explain: bool = False
