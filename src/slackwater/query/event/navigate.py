"""Which element of a run a name means: `b[i]`, `b[i-2]`, `b[..i]`, PREV, NEXT, FIRST and LAST."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from slackwater.query.event.tree import Alike
from slackwater.query.expr.tree import Call, Expr, Literal, Name, Span, rewrite

__all__ = ["MOST_STEPS", "navigated", "offset_of", "step_of", "upto"]

MOST_STEPS = 1000
_INDEX = re.compile(r"(\.\.)?i([+-]\d{1,9})?")
_STEPS = {"prev": -1, "next": 1}
Fail = Callable[[str, Span, str], Exception]


def offset_of(name: Name) -> int | None:
    """How far from `[i]` the element is (0 without an index); None if the index is no such place.

    Examples
    --------
    >>> [offset_of(Name("b", "v", i)) for i in (None, "i", "i-2", "..i-1", "first", "j")]
    [0, 0, -2, -1, None, None]
    """
    if name.index in (None, "*"):
        return 0
    found = _INDEX.fullmatch(str(name.index))
    return int(found[2] or 0) if found else None


def upto(name: Name) -> bool:
    """Whether it means all elements up to a place: `b[..i]`."""
    return str(name.index).startswith("..")


def step_of(node: Call) -> int:
    """The second argument of first, last, prev and next; −1 if it is no number of steps."""
    if len(node.args) < 2:
        return 0
    given = node.args[1]
    good = isinstance(given, Literal) and type(given.value) is int and given.kind == "number"
    return given.value if good and 0 <= given.value <= MOST_STEPS else -1  # type: ignore


def navigated(expr: Expr, fail: Fail) -> Expr:
    """PREV(b.v, n) is b[i-n].v, NEXT(b.v, n) is b[i+n].v."""
    def change(node: Expr) -> Expr | None:
        if isinstance(node, Alike):  # names columns, not expressions
            return node
        if not (isinstance(node, Call) and node.function in _STEPS):
            return None
        steps = step_of(node) if len(node.args) > 1 else 1
        if not 1 <= len(node.args) <= 2 or steps < 0:
            raise fail(f"{node.function} takes a column and a number of steps up to {MOST_STEPS}",
                       node.at, f"{node.function}(b.value, 1)")
        return _shifted(navigated(node.args[0], fail), _STEPS[node.function] * steps)

    return rewrite(expr, change)


def _shifted(node: Expr, by: int) -> Expr:
    def change(inner: Expr) -> Expr | None:
        if not isinstance(inner, Name) or offset_of(inner) is None:
            return None
        at = (offset_of(inner) or 0) + by
        return replace(inner, index=("..i" if upto(inner) else "i") + (f"{at:+d}" if at else ""))

    return rewrite(node, change)
