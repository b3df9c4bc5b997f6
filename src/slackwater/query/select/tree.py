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
    alias: str | None = None
    range: int | None = None
    slide: int | None = None
    session: int | None = None
    dratio: float | None = None
    where: Expr | None = None
    group: tuple[Name, ...] = ()
    having: Expr | None = None
    explain: bool = False

    @property
    def per_row(self) -> bool:
        """Whether a result is of one row, and not of a group and a window."""
        return self.slide is None and self.session is None

    @property
    def windowed(self) -> bool:
        """Whether there is a window for aggregates to be of."""
        return self.range is not None or self.session is not None
