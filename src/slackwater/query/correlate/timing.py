"""The timing condition of a query over two streams: what is asked of @b − @a."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.core.errors import did_you_mean
from slackwater.query.correlate.tree import Absolute, CorrelateTree, Moment, Timed
from slackwater.query.errors import QueryError
from slackwater.query.expr.tree import Binary, Expr, Literal, Node, Span, Unary, conjuncts, walk

__all__ = ["Timing", "split_timing"]

CONFIDENCE = 0.8
_FORMS = "|@{a} - @{b}| <= d, @{a} + d >= @{b} or @{a} + d <= @{b}"


@dataclass(frozen=True)
class Timing:
    """A timing predicate in the words of `Correlate`.

    Parameters
    ----------
    form
        "within", "deadline" or "delay".
    length
        d, in microseconds; below zero is possible but for "within".
    confidence
        The probability with which it must hold.
    at
        Where it stands in the query.
    """

    form: str
    length: int
    confidence: float
    at: Span


def split_timing(tree: CorrelateTree) -> tuple[Timing, list[Expr]]:
    """The timing condition, and the other conditions that AND joins to it."""
    reader = _Reader(tree)
    timings: list[Timing] = []
    others: list[Expr] = []
    for part in conjuncts(tree.where):
        if not any(isinstance(node, (Moment, Timed, Absolute)) for node in walk(part)):
            others.append(part)
            continue
        timing = reader.timing(part)
        if timings:
            raise QueryError("a second timing condition", tree.text, part.at,
                             expected=f"one of {reader.forms}", mistake="timing-twice",
                             hint="WITHIN at the end of the query bounds the first one")
        timings.append(timing)
    if not timings:
        raise QueryError("two streams need a timing condition", tree.text, tree.where.at,
                         hint=f"add {reader.example} AND …", mistake="no-timing")
    return timings[0], others


class _Reader:
    def __init__(self, tree: CorrelateTree) -> None:
        self._text = tree.text
        self._a, self._b = (stream.alias for stream in tree.streams)
        self.forms = _FORMS.format(a=self._a, b=self._b)
        self.example = f"|@{self._a} - @{self._b}| <= 5 seconds"

    def _fail(self, problem: str, node: Node, hint: str | None = None,
              mistake: str = "timing") -> QueryError:
        return QueryError(problem, self._text, node.at, expected=self.forms, hint=hint,
                          mistake=mistake)

    def timing(self, node: Expr) -> Timing:
        """Read a condition as ±(@b − @a) + c ≤ 0, or as |@a − @b| ≤ d."""
        at, confidence = node.at, CONFIDENCE
        if isinstance(node, Timed):
            confidence, node = node.confidence, node.condition
            if not any(isinstance(n, Moment) for n in walk(node)):
                raise self._fail("CONFIDENCE belongs to the timing condition, and this is none",
                                 node, mistake="confidence")
        if not isinstance(node, Binary) or node.op in ("and", "or", *"+-*/%"):
            raise self._fail("a timing condition stands by itself, joined to others by AND", node)
        if node.op not in ("<=", ">="):
            raise self._fail(f"a timing condition cannot be made with {node.op}", node,
                             hint=f"use {node.op}=" if node.op in "<>" else None)
        small, great = (node.left, node.right) if node.op == "<=" else (node.right, node.left)
        if isinstance(small, Absolute):
            return Timing("within", self._within(small, great), confidence, at)
        for side in (small, great):
            if isinstance(side, Absolute):
                raise self._fail("times that are far apart have partners without end", node,
                                 hint=f"as a delay: @{self._a} + d <= @{self._b}")
        form, length = self._open(Binary("-", small, great, at=node.at))
        return Timing(form, length, confidence, at)

    def _within(self, bars: Absolute, limit: Expr) -> int:
        moments, apart = self._linear(bars.operand)
        self._check_both(moments, bars)
        none, length = self._linear(limit)
        if none or apart:
            raise self._fail("the bars hold the difference of two times and nothing else",
                             limit if none else bars)
        if length < 0:
            raise self._fail("times cannot be less than nothing apart", limit)
        return length

    def _open(self, node: Expr) -> tuple[str, int]:
        moments, rest = self._linear(node)
        self._check_both(moments, node)
        # @b − @a + rest ≤ 0: b at most −rest later; @a − @b + rest ≤ 0: b at least rest later
        return ("deadline", -rest) if moments[self._b] == 1 else ("delay", rest)

    def _check_both(self, moments: dict[str, int], node: Node) -> None:
        if sorted(moments.values()) != [-1, 1]:
            raise self._fail("a timing condition is about the difference of the two streams' times",
                             node)

    def _linear(self, node: Expr) -> tuple[dict[str, int], int]:
        """How often each time counts, and the duration beside them."""
        if isinstance(node, Moment):
            if node.alias not in (self._a, self._b):
                raise QueryError(f"there is no stream {node.alias!r}", self._text, node.at,
                                 expected=f"@{self._a} or @{self._b}", mistake="unknown-stream",
                                 hint=did_you_mean(node.alias, [self._a, self._b]))
            return {node.alias: 1}, 0
        if isinstance(node, Literal) and node.kind == "duration":
            return {}, int(node.value)  # type: ignore[arg-type]
        if isinstance(node, Literal) and node.kind == "number":
            raise QueryError("a duration needs a unit", self._text, node.at,
                             hint=f"{node.value} seconds", mistake="no-unit")
        if isinstance(node, Unary) and node.op == "-":
            return _minus(*self._linear(node.operand))
        if isinstance(node, Binary) and node.op in ("+", "-"):
            one, apart = self._linear(node.left)
            two, more = self._linear(node.right)
            if node.op == "-":
                two, more = _minus(two, more)
            both = {a: one.get(a, 0) + two.get(a, 0) for a in (*one, *two)}
            return {a: times for a, times in both.items() if times}, apart + more
        raise self._fail("a timing condition is made of times and durations only", node)


def _minus(moments: dict[str, int], rest: int) -> tuple[dict[str, int], int]:
    return {alias: -times for alias, times in moments.items()}, -rest
