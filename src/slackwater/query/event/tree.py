"""An EVENT query as a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from slackwater.query.expr.tree import Expr, Node, Span

__all__ = ["Alike", "Choice", "EventTree", "Group", "Node_", "Part", "Returned", "Said", "SkipTo",
           "Until", "Unwanted"]


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

    absent: bool = False  # a match may do without it, because of what it stands in
    loops: tuple[int, ...] = ()  # the repeated groups that it stands in, from the outermost
    row: int = -1  # of a negated one: the number of the negation
    within: tuple[int, str | None] | None = None  # after the event before, or after a variable's

    @property
    def optional(self) -> bool:
        """A match may do without it."""
        return self.least == 0 or self.absent

    @property
    def many(self) -> bool:
        """It stands for a list of events."""
        return self.kleene or bool(self.loops)


@dataclass(frozen=True)
class Group:
    """`(A a, B b)+`; its items, each with the arrow before it."""

    items: tuple[tuple[str | None, Node_], ...]
    least: int
    most: int
    greedy: bool
    inside: str | None
    at: Span


@dataclass(frozen=True)
class Choice:
    """`OR(…)`, `AND(…)`."""

    kind: str
    options: tuple[Node_, ...]
    at: Span


@dataclass(frozen=True)
class Unwanted:
    """`!(B b, C c)`."""

    parts: tuple[Part, ...]
    at: Span


@dataclass(frozen=True)
class Until:
    """`B+ b[] UNTIL C c`."""

    node: Node_
    stop: Part
    at: Span


Node_: TypeAlias = Part | Group | Choice | Unwanted | Until


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
    whole: Group
    where: Expr | None
    within: int
    returns: tuple[Returned, ...]
    explain: bool
    skip: SkipTo | None = None
    strategy: Said | None = None
    emit: Said | None = None
    timed_out: Said | None = None
    row: bool = True  # components and single negations, one after the other

    @property
    def shape(self) -> Group | None:
        """Its structure, where it is more than a row of components."""
        return None if self.row else self.whole
