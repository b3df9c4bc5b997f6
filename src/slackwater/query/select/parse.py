"""SELECT queries: text to tree."""

from __future__ import annotations

from typing import Any

from lark import Token

from slackwater.core.durations import format_duration
from slackwater.query.expr.elsewhere import function_hint
from slackwater.query.expr.parse import Builder, Language, plain
from slackwater.query.expr.tree import Call, Expr, Literal, Name, Span
from slackwater.query.mistakes import EXPRESSION_MISTAKES, Mistake
from slackwater.query.select.tree import Item, Select

__all__ = ["SELECT", "parse_select"]

SELECT_MISTAKES = (
    Mistake("nothing-selected", "SELECT needs at least one expression before FROM",
            "SELECT MAX(value) FROM …", ("SELECT FROM s",), token="FROM"),
    Mistake("no-as", "a result's name stands behind AS", "SELECT temp AS t",
            ("SELECT a b", "SELECT f(x) b", "SELECT f(*) b", "SELECT 1 b", "SELECT s.a b",
             "SELECT (a) b", "SELECT a + b c", "SELECT a * b c"), token="NAME"),
    Mistake("trailing-comma", "an expression is missing after the comma", "take the comma out",
            ("SELECT a, FROM s",), token="FROM"),
    Mistake("no-source", "FROM needs the name of a stream", "FROM Sensors [RANGE 30 seconds]",
            ("SELECT a FROM", "SELECT a FROM [RANGE 3 s]", "SELECT a FROM 3")),
    Mistake("empty-window", "a window needs RANGE or SESSION", "[RANGE 30 seconds]",
            ("SELECT a FROM s []",), token="RSQB"),
    Mistake("no-unit", "SESSION needs a duration with a unit", "SESSION 5 minutes",
            ("SELECT a FROM s [SESSION 5]", "SELECT a FROM s [SESSION]",
             "SELECT a FROM s [SESSION x]")),
    Mistake("no-unit", "RANGE and SLIDE need a duration with a unit", "RANGE 30 seconds",
            ("SELECT a FROM s [RANGE 30]", "SELECT a FROM s [RANGE]",
             "SELECT a FROM s [RANGE 3 s, SLIDE 3]")),
    Mistake("no-ratio", "DRATIO needs a share", "DRATIO 1% (or 0.01)",
            ("SELECT a FROM s [DRATIO x]",)),
    Mistake("group-without-by", "GROUP is followed by BY", "GROUP BY room",
            ("SELECT a FROM s GROUP room",)),
    Mistake("empty-where", "WHERE needs a condition", "WHERE value > 0",
            ("SELECT a FROM s WHERE GROUP BY x",), token="GROUP"),
    Mistake("empty-where", "WHERE needs a condition", "WHERE value > 0",
            ("SELECT a FROM s WHERE",), token="$END"),
    Mistake("empty-having", "HAVING needs a condition", "HAVING COUNT(*) > 1",
            ("SELECT a FROM s GROUP BY x HAVING", "SELECT a FROM s HAVING")),
    *(Mistake(m.name, m.problem, m.hint,
              tuple(f"SELECT a FROM s WHERE {sample}" for sample in m.samples), m.token)
      for m in EXPRESSION_MISTAKES),
)


def parse_select(text: str) -> Select:
    """Read a SELECT query.

    Examples
    --------
    >>> query = parse_select("SELECT MAX(value) FROM Sensors [RANGE 30 seconds, DRATIO 1%]")
    >>> query.source, query.range, query.dratio
    ('Sensors', 30000000, 0.01)
    """
    found: Select = SELECT.read(text)
    return found


class _SelectBuilder(Builder):
    def select(self, at: Span, explain: Token | None, *parts: Any) -> Select:
        items = tuple(p for p in parts if isinstance(p, Item))
        source, alias, window, where, group, having = parts[len(items):]
        return Select(self.text, items, source, alias, where=where, group=group or (),
                      having=having, explain=explain is not None, at=at, **(window or {}))

    def item(self, at: Span, expr: Expr, name: Token | None) -> Item:
        return Item(expr, None if name is None else plain(name), at=at)

    def all_columns(self, at: Span, _: Token) -> Item:
        return Item(None, at=at)

    def all_of(self, at: Span, name: Token, _: Token) -> Item:
        return Item(None, plain(name), at=at)

    def source(self, at: Span, name: Token) -> str:
        return plain(name)

    def alias(self, at: Span, name: Token) -> str:
        return plain(name)

    def window(self, at: Span, *clauses: tuple[str, Any, Span]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value, place in clauses:
            if name in found:
                raise self.fail(f"{name.upper()} is given twice", place, mistake="twice")
            found[name] = value
        if "session" in found and len(found.keys() & {"range", "slide"}):
            other, place = next((n, p) for n, _, p in clauses if n in ("range", "slide"))
            raise self.fail(f"a session is as long as its rows make it, and has no {other.upper()}",
                            place, hint="[SESSION 5 minutes], or [RANGE 5 minutes]",
                            mistake="session-with-length")
        slide, span = found.get("slide"), found.get("range")
        if slide is not None and span is None:
            raise self.fail("SLIDE needs a RANGE", at, hint="[RANGE 30 seconds, SLIDE 5 seconds]",
                            mistake="slide-without-range")
        if slide is not None and span is not None and slide > span:
            place = next(p for name, _, p in clauses if name == "slide")
            raise self.fail("SLIDE cannot be longer than RANGE; rows between windows would be in "
                            "none", place, expected=f"at most {format_duration(span)}",
                            mistake="slide-too-long")
        return found

    def range(self, at: Span, token: Token) -> tuple[str, int, Span]:
        return "range", self._length(token, at), at

    def slide(self, at: Span, token: Token) -> tuple[str, int, Span]:
        return "slide", self._length(token, at), at

    def session(self, at: Span, token: Token) -> tuple[str, int, Span]:
        return "session", self._length(token, at), at

    def _length(self, token: Token, at: Span) -> int:
        length = self.length(token)
        if length < 1:
            raise self.fail("a window cannot have no length", at, mistake="zero-length")
        return length

    def dratio(self, at: Span, number: Token, percent: Token | None) -> tuple[str, float, Span]:
        share = float(number) / (100 if percent is not None else 1)
        if not 0 < share < 1:
            hint = f"DRATIO {number}%" if percent is None and float(number) < 100 else None
            raise self.fail("DRATIO is the share of rows that may be late", at, mistake="ratio",
                            expected="more than 0% and less than 100%", hint=hint)
        return "dratio", share, at

    def where(self, at: Span, condition: Expr) -> Expr:
        return condition

    def having(self, at: Span, condition: Expr) -> Expr:
        return condition

    def group_by(self, at: Span, *columns: Expr) -> tuple[Name, ...]:
        for column in columns:
            if not isinstance(column, Name):
                hint = "write the name of the column" if isinstance(column, Literal) else (
                    isinstance(column, Call) and function_hint(column.function, ())) or (
                    "compute it in a query of its own, and group its results")
                raise self.fail("GROUP BY takes columns, not expressions", column.at,
                                mistake="group-expression", hint=hint)
        return columns  # type: ignore[return-value]


SELECT = Language("select", "select", SELECT_MISTAKES, _SelectBuilder)
