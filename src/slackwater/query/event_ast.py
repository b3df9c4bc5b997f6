"""An EVENT query as a tree."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.query.ast import Expr, Node, Span

__all__ = ["Alike", "EventTree", "Part", "Returned", "Said", "SkipTo"]


@dataclass(frozen=True)
class Alike(Node):
    """`[id]`: all components are equal in these columns."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """One component, negated or not, as written; without types it takes every event."""

    variable: str
    types: tuple[str, ...]
    kleene: bool
    negated: bool
    at: Span
    least: int = 1
    most: int = 1  # 0: without limit
    greedy: bool = False
    before: str | None = None  # "=>", "->" or "~>", if the query says so
    inside: str | None = None

    @property
    def optional(self) -> bool:
        """A match may do without it."""
        return self.least == 0


@dataclass(frozen=True)
class Returned:
    """One item of RETURN; `name` is None where the user gave none.

    With `every` it is `*` (a `Star`) or `a.*` (a `Name` without a column).
    """

    expr: Expr
    name: str | None
    at: Span
    every: bool = False


@dataclass(frozen=True)
class SkipTo:
    """AFTER MATCH SKIP: "past_last", "next", or "first" and "last" of a variable."""

    to: str
    variable: str | None
    at: Span


@dataclass(frozen=True)
class Said:
    """A word that the query says about itself, as STRATEGY and EMIT do."""

    word: str
    at: Span


@dataclass(frozen=True)
class EventTree:
    """A whole query; `within` in microseconds."""

    text: str
    parts: tuple[Part, ...]
    where: Expr | None
    within: int
    returns: tuple[Returned, ...]
    explain: bool
    skip: SkipTo | None = None
    strategy: Said | None = None
    emit: Said | None = None
