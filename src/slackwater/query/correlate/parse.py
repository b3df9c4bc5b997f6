"""Queries over two streams: text to tree."""

from __future__ import annotations

from typing import Any

from lark import Token

from slackwater.query.correlate.tree import Absolute, CorrelateTree, Moment, Stream, Timed
from slackwater.query.expr.parse import Builder, Language, plain
from slackwater.query.expr.tree import Expr, Span
from slackwater.query.mistakes import EXPRESSION_MISTAKES, Mistake
from slackwater.query.select.tree import Item

__all__ = ["CORRELATE", "parse_correlate"]

_START = "SELECT a.x FROM A a, B b"
_TIMING = "WHERE |@a - @b| <= 5 seconds"
_SAME = {"−": "-", "≤": "<=", "≥": ">=", "≠": "!="}

CORRELATE_MISTAKES = (
    Mistake("nothing-selected", "SELECT needs at least one expression before FROM",
            "SELECT a.id, b.id AS other, PROBABILITY FROM …", ("SELECT FROM A a, B b",),
            token="FROM"),
    Mistake("trailing-comma", "an expression is missing after the comma", "take the comma out",
            ("SELECT a.x, FROM A a, B b",), token="FROM"),
    Mistake("three-streams", "two streams are correlated at a time",
            "correlate the pairs with the third in a query of their own",
            (f"{_START}, C c", "SELECT a.x FROM A a, B, C c", "SELECT a.x FROM A a, B AS b, C c"),
            token="COMMA"),
    Mistake("window", "a query over two streams has no window: its timing condition is one",
            _TIMING, ("SELECT a.x FROM A a [RANGE 1 s]", "SELECT a.x FROM A [RANGE 1 s]",
                      f"{_START} [RANGE 1 s]", "SELECT a.x FROM A a, B [RANGE 1 s]"),
            token="LSQB"),
    Mistake("no-timing", "two streams need a timing condition", _TIMING,
            (_START, "SELECT a.x FROM A a, B", "SELECT a.x FROM A a, B AS b", f"{_START} WHERE")),
    Mistake("one-stream", "a time like @a is compared with that of a second stream",
            "FROM A a, B b", ("SELECT a.x FROM A a WHERE x", "SELECT a.x FROM A WHERE x",
                              "SELECT a.x FROM A AS a WHERE x"), token="WHERE"),
    Mistake("no-confidence", "CONFIDENCE needs a share", "CONFIDENCE 80% (or 0.8)",
            (f"{_START} {_TIMING} CONFIDENCE AND a.x = 1",)),
    Mistake("moment", "@ stands before the name of a stream", "@a",
            (f"{_START} WHERE @ - @b", f"{_START} WHERE @5")),
    Mistake("bars", "the bars | | stand around a difference of times, and these are not closed",
            "|@a - @b| <= 5 seconds", (f"{_START} WHERE |@a - @b <= 5 s",
                                       f"{_START} WHERE |@a - 5 s <= 5 s"), token="COMPARE"),
    Mistake("within", "WITHIN needs a duration with a unit", "WITHIN 1 hour",
            (f"{_START} {_TIMING} WITHIN", f"{_START} {_TIMING} WITHIN 3")),
    *(Mistake(m.name, m.problem, m.hint,
              tuple(f"{_START} WHERE {sample}" for sample in m.samples), m.token)
      for m in EXPRESSION_MISTAKES),
)

def parse_correlate(text: str) -> CorrelateTree:
    """Read a query over two streams.

    Examples
    --------
    >>> tree = parse_correlate("SELECT a.id FROM Doors a, Lamps b "
    ...                        "WHERE |@a − @b| <= 5 seconds CONFIDENCE 90% AND a.room = b.room")
    >>> [(s.name, s.alias) for s in tree.streams], tree.where.left.confidence
    ([('Doors', 'a'), ('Lamps', 'b')], 0.9)
    """
    found: CorrelateTree = CORRELATE.read(text)
    return found


class _CorrelateBuilder(Builder):
    """Makes the nodes that a query over two streams has beyond expressions."""

    def correlate(self, at: Span, explain: Token | None, *parts: Any) -> CorrelateTree:
        *items, one, two, where, within = parts
        if one.alias == two.alias:
            raise self.fail(f"both streams are called {two.alias!r}", two.at,
                            hint=f"FROM {one.name} a, {two.name} b", mistake="alias-twice")
        return CorrelateTree(self.text, tuple(items), (one, two), where, within,
                             explain is not None, at=at)

    def item(self, at: Span, expr: Expr, name: Token | None) -> Item:
        return Item(expr, None if name is None else plain(name), at=at)

    def all_columns(self, at: Span, _: Token) -> Item:
        return Item(None, at=at)

    def stream(self, at: Span, name: Token, alias: Token | None = None) -> Stream:
        return Stream(plain(name), plain(name if alias is None else alias), at=at)

    def within(self, at: Span, duration: Token) -> int:
        length = self.length(duration)
        if length < 1:
            raise self.fail("WITHIN cannot have no length", at, mistake="zero-length")
        return length

    def timed(self, at: Span, left: Expr, op: Token, right: Expr, number: Token,
              percent: Token | None) -> Timed:
        condition = self.compare(at, left, op, right)
        share = float(number) / (100 if percent is not None else 1)
        if not 1e-9 <= share <= 1:
            hint = f"CONFIDENCE {number}%" if percent is None and float(number) <= 100 else None
            raise self.fail("CONFIDENCE is the probability with which the condition must hold",
                            self.span(number), expected="more than 0%, at most 100%", hint=hint,
                            mistake="confidence")
        return Timed(condition, share, at=at)

    def moment(self, at: Span, alias: Token) -> Moment:
        return Moment(plain(alias), at=at)

    def absolute(self, at: Span, operand: Expr) -> Absolute:
        return Absolute(operand, at=at)

    def compare(self, at: Span, left: Expr, op: Token, right: Expr) -> Expr:
        return super().compare(at, left, _ascii(op), right)

    def arithmetic(self, at: Span, left: Expr, op: Token, right: Expr) -> Expr:
        return super().arithmetic(at, left, _ascii(op), right)


def _ascii(op: Token) -> Token:
    return op.update(value=_SAME.get(str(op), str(op)))


CORRELATE = Language("correlate", "correlate", CORRELATE_MISTAKES, _CorrelateBuilder)
