"""Expressions as trees: frozen nodes, each with its place in the query's text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

__all__ = [
    "Between", "Binary", "Call", "Case", "Cast", "Expr", "InList", "IsNull", "Like", "Literal",
    "Name", "Span", "Star", "Unary", "conjuncts", "rewrite", "walk",
]


@dataclass(frozen=True)
class Span:
    """Where a node stands: line and column from 1, start and end as offsets into the text."""

    line: int
    column: int
    start: int
    end: int


_NOWHERE = Span(1, 1, 0, 0)


@dataclass(frozen=True)
class Node:
    """What all nodes have; two nodes are equal if they say the same, wherever they stand."""

    at: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Literal(Node):
    """A constant.

    `kind` is "number", "text", "boolean", "null", "duration" (value in microseconds) or "timestamp"
    (microseconds UTC).
    """

    value: int | float | str | bool | None
    kind: str


@dataclass(frozen=True)
class Name(Node):
    """A column: `col`, `var.col`, `var[i].col`.

    `index` is the text between the brackets without blanks ("i", "i-1", "first"), "*" for empty
    brackets, None without brackets.  `b[i]` alone has the empty `name`.
    """

    qualifier: str | None
    name: str
    index: str | None = None

    def __str__(self) -> str:
        if self.qualifier is None:
            return self.name
        index = "" if self.index is None else f"[{'' if self.index == '*' else self.index}]"
        return f"{self.qualifier}{index}" + (f".{self.name}" if self.name else "")


@dataclass(frozen=True)
class Star(Node):
    """The * of COUNT(*)."""


@dataclass(frozen=True)
class Unary(Node):
    """`op` is "-" or "not"."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Node):
    """`op` is one of + - * / %, = != < <= > >=, "and", "or"."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class InList(Node):
    """`operand [NOT] IN (items)`."""

    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True)
class Between(Node):
    """`operand [NOT] BETWEEN low AND high`, both ends included."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Node):
    """`operand IS [NOT] NULL`."""

    operand: Expr
    negated: bool = False


@dataclass(frozen=True)
class Like(Node):
    """`operand [NOT] LIKE pattern`; % stands for any text, _ for one character."""

    operand: Expr
    pattern: Expr
    negated: bool = False


@dataclass(frozen=True)
class Call(Node):
    """`function(args)`; the function's name in lower case."""

    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Case(Node):
    """`CASE WHEN condition THEN value … ELSE otherwise END`; one value for each condition."""

    conditions: tuple[Expr, ...]
    values: tuple[Expr, ...]
    otherwise: Expr


@dataclass(frozen=True)
class Cast(Node):
    """`CAST(operand AS kind)`."""

    operand: Expr
    kind: str


Expr: TypeAlias = (
    Literal | Name | Star | Unary | Binary | InList | Between | IsNull | Like | Call | Case | Cast
)


def children(node: Expr) -> Iterator[Expr]:
    """The expressions directly inside a node."""
    for f in fields(node):
        value = getattr(node, f.name)
        if isinstance(value, Node):
            yield value  # type: ignore[misc]
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Node))  # type: ignore[misc]


def walk(node: Expr) -> Iterator[Expr]:
    """The node and everything inside it, outermost first.

    Examples
    --------
    >>> from slackwater.query.expr.parse import parse_expression
    >>> [str(n) for n in walk(parse_expression("a.x + y > 2")) if isinstance(n, Name)]
    ['a.x', 'y']
    """
    yield node
    for child in children(node):
        yield from walk(child)


def rewrite(node: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The tree with every node for which `change` gives another replaced by that other."""
    other = change(node)
    if other is not None:
        return other
    changed: dict[str, object] = {}
    for f in fields(node):
        value = getattr(node, f.name)
        if isinstance(value, Node):
            changed[f.name] = rewrite(value, change)  # type: ignore[arg-type]
        elif isinstance(value, tuple):
            changed[f.name] = tuple(
                rewrite(v, change) if isinstance(v, Node) else v  # type: ignore[arg-type]
                for v in value)
    return replace(node, **changed) if changed else node  # type: ignore[arg-type]


def conjuncts(node: Expr | None) -> list[Expr]:
    """The parts that AND joins at the top.

    Examples
    --------
    >>> from slackwater.query.expr.parse import parse_expression
    >>> len(conjuncts(parse_expression("a = 1 AND (b = 2 OR c = 3) AND d")))
    3
    """
    if node is None:
        return []
    if isinstance(node, Binary) and node.op == "and":
        return conjuncts(node.left) + conjuncts(node.right)
    return [node]
