"""MATCH_RECOGNIZE queries: text to tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token

from slackwater.core.durations import micros
from slackwater.query.expr.parse import Builder, Language, plain
from slackwater.query.expr.tree import Call, Expr, Literal, Name, Span
from slackwater.query.mistakes import EXPRESSION_MISTAKES, RIGHT_BEHIND, Mistake
from slackwater.query.recognise.dialects import standard
from slackwater.query.recognise.tree import (
    Anchor,
    Define,
    Either,
    Exclude,
    Measure,
    Order,
    Pattern,
    Permute,
    Recognise,
    Repeat,
    Sequence,
    Skip,
    Subset,
    Variable,
)
from slackwater.query.select.tree import Item

__all__ = ["MISTAKES", "RECOGNISE", "parse_recognise"]

_HEAD = "SELECT * FROM s MATCH_RECOGNIZE ("
_MOST_PERMUTED = 6

MISTAKES = (
    *(Mistake("no-pattern", "MATCH_RECOGNIZE needs a PATTERN",
              "PATTERN (A B+) DEFINE B AS B.price < PREV(B.price)",
              (f"{_HEAD} ORDER BY t DEFINE A AS x > 1)", f"{_HEAD} ORDER BY t )"), token=token)
      for token in ("_DEFINE", "RPAR")),
    Mistake("expression-for-column", "PARTITION BY and ORDER BY take columns, not expressions",
            "compute the value in a step before this one",
            (f"{_HEAD} PARTITION BY f(x)", f"{_HEAD} PARTITION BY x, f(x)",
             f"{_HEAD} ORDER BY f(x)", f"{_HEAD} ORDER BY t, f(x)"), token="LPAR"),
    Mistake("filtered-before", RIGHT_BEHIND[0], RIGHT_BEHIND[1],
            ("SELECT * FROM s WHERE x > 1 MATCH_RECOGNIZE (",), token="WHERE"),
    Mistake("measure-without-name", "every measure needs a name",
            "MEASURES LAST(A.price) AS bottom",
            tuple(f"{_HEAD} ORDER BY t MEASURES {measure} PATTERN (A))"
                  for measure in ("a", "a.b", "f(a)", "1", "a + b", "FINAL f(a)", "a * b", "(a)")),
            token="_PATTERN"),
    Mistake("define-without-as", "a condition stands after AS", "DEFINE A AS A.price > 10",
            (f"{_HEAD} PATTERN (A) DEFINE A x > 1)",)),
    Mistake("within-without-duration", "WITHIN needs a duration", "WITHIN INTERVAL '1' HOUR",
            (f"{_HEAD} PATTERN (A) WITHIN 3 DEFINE A AS x)",
             f"{_HEAD} PATTERN (A) WITHIN x DEFINE A AS x)")),
    Mistake("order-around", "matches leave as they are decided, and cannot be sorted",
            "leave this ORDER BY out: matches of a partition leave in the order of their time",
            (f"{_HEAD} ORDER BY t PATTERN (A)) ORDER BY x",
             f"{_HEAD} ORDER BY t PATTERN (A)) AS m ORDER BY x",
             f"{_HEAD} ORDER BY t PATTERN (A)) WHERE x ORDER BY x"), token="ORDER"),
    *(Mistake(m.name, m.problem, m.hint,
              tuple(f"{_HEAD} PATTERN (A) DEFINE A AS {sample})" for sample in m.samples), m.token)
      for m in EXPRESSION_MISTAKES),
)


def parse_recognise(text: str) -> Recognise:
    """Read a query.

    Examples
    --------
    >>> query = parse_recognise('''SELECT * FROM prices MATCH_RECOGNIZE (
    ...     PARTITION BY symbol ORDER BY time MEASURES LAST(down.price) AS bottom
    ...     PATTERN (start down+ up+) WITHIN INTERVAL '1' HOUR
    ...     DEFINE down AS down.price < PREV(down.price), up AS up.price > PREV(up.price))''')
    >>> query.source, query.within, [m.name for m in query.measures]
    ('prices', 3600000000, ['bottom'])
    """
    found: Recognise = RECOGNISE.read(text)
    return found


class _Builder(Builder):
    def recognise(self, at: Span, explain: Token | None, *parts: Any) -> Recognise:
        items = tuple(p for p in parts if isinstance(p, Item))
        source, before, pattern, after, around = parts[len(items):]
        partition, order, measures, rows, skip = before
        within, subsets, defines = after
        alias, where = around
        shape, rows_at = rows or ("one", at)
        time = order[0].column if order else None
        return Recognise(
            self.text, items, source, pattern or Sequence((), at=at), partition or (), order or (),
            tuple(replace(m, expr=standard(m.expr, time)) for m in measures or ()), shape, rows_at,
            skip or Skip(), within, subsets or (),
            tuple(replace(d, condition=standard(d.condition, time)) for d in defines or ()),
            alias, where, explain is not None, at=at)

    def before(self, at: Span, *clauses: Any) -> tuple[Any, ...]:
        return clauses

    def inner(self, at: Span, pattern: Pattern | None) -> Pattern | None:
        return pattern

    def after(self, at: Span, *clauses: Any) -> tuple[Any, ...]:
        return clauses

    def around(self, at: Span, *clauses: Any) -> tuple[Any, ...]:
        return clauses

    # -- the query around it --------------------------------------------------------------------

    def item(self, at: Span, expr: Expr, name: Token | None) -> Item:
        return Item(expr, None if name is None else plain(name), at=at)

    def all_columns(self, at: Span, _: Token) -> Item:
        return Item(None, at=at)

    def all_of(self, at: Span, name: Token, _: Token) -> Item:
        return Item(None, plain(name), at=at)

    def source(self, at: Span, name: Token) -> str:
        return plain(name)

    def alias(self, at: Span, *names: Token) -> str:
        return plain(names[-1])

    def where(self, at: Span, condition: Expr) -> Expr:
        return condition

    # -- clauses --------------------------------------------------------------------------------

    def partition(self, at: Span, *columns: Name) -> tuple[Name, ...]:
        return tuple(map(self._bare, columns))

    def order(self, at: Span, *columns: Order) -> tuple[Order, ...]:
        return columns

    def ordered(self, at: Span, column: Name, way: Token | None, nulls: Token | None) -> Order:
        first = None if nulls is None else nulls.split()[-1].upper() == "FIRST"
        return Order(self._bare(column), way is not None and way.upper() == "DESC", first, at=at)

    def _bare(self, column: Name) -> Name:
        if column.qualifier is not None or column.index is not None:
            raise self.fail("a column stands here by its own name", column.at,
                            hint=f"write {column.name}", mistake="qualified")
        return column

    def measures(self, at: Span, *measures: Measure) -> tuple[Measure, ...]:
        return measures

    def measure(self, at: Span, expr: Expr, name: Token) -> Measure:
        return Measure(expr, plain(name), at=at)

    def rows(self, at: Span, token: Token) -> tuple[str, Span]:
        words = token.upper().split()
        if words[0] == "ONE":
            if len(words) > 4:
                shown = words[4] in ("SHOW",)
                if not shown:
                    raise self.fail("only ALL ROWS PER MATCH can leave rows out or add some", at,
                                    hint="ONE ROW PER MATCH", mistake="one-row")
            return "one", at
        more = words[4] if len(words) > 4 else "SHOW"
        return {"SHOW": "all", "OMIT": "omit", "WITH": "unmatched"}[more], at

    def skip_past(self, at: Span, _: Token) -> Skip:
        return Skip("past", at=at)

    def skip_next(self, at: Span, _: Token) -> Skip:
        return Skip("next", at=at)

    def skip_to(self, at: Span, how: Token, name: Token) -> Skip:
        return Skip("first" if how.upper().endswith("FIRST") else "last", plain(name), at=at)

    def within(self, at: Span, length: Any) -> int:
        value = int(length.value or 0) if isinstance(length, Literal) else micros(str(length))
        if value < 0:
            raise self.fail("WITHIN cannot be negative", at, mistake="within")
        return value

    def subsets(self, at: Span, *subsets: Subset) -> tuple[Subset, ...]:
        return subsets

    def subset(self, at: Span, name: Token, *members: Token) -> Subset:
        found = tuple(Variable(plain(m), at=self.span(m)) for m in members)
        return Subset(plain(name), found, at=at)

    def defines(self, at: Span, *defines: Define) -> tuple[Define, ...]:
        return defines

    def define(self, at: Span, name: Token, condition: Expr) -> Define:
        return Define(plain(name), condition, at=at)

    # -- patterns -------------------------------------------------------------------------------

    def variable(self, at: Span, name: Token) -> Pattern:
        return Variable(plain(name), at=at)

    def sequence(self, at: Span, *parts: Pattern) -> Pattern:
        return Sequence(parts, at=at)

    def either(self, at: Span, left: Pattern, right: Pattern) -> Pattern:
        before = left.parts if isinstance(left, Either) else (left,)
        return Either((*before, right), at=at)

    def bracket(self, at: Span, inner: Pattern | None) -> Pattern:
        # a group of its own, so that (A | B) | C stays as it was written
        return Sequence(() if inner is None else (inner,), at=at)

    def excluded(self, at: Span, _: Token, inner: Pattern) -> Pattern:
        return Exclude(inner, at=at)

    def permute(self, at: Span, *parts: Pattern) -> Pattern:
        if len(parts) > _MOST_PERMUTED:
            raise self.fail(f"PERMUTE of {len(parts)} parts has too many orders", at,
                            expected=f"at most {_MOST_PERMUTED} parts", mistake="permute")
        return Permute(parts, at=at)

    def anchor(self, at: Span, token: Token) -> Pattern:
        return Anchor(token == "^", at=at)

    def quantified(self, at: Span, part: Pattern, how: Token, lazy: Token | None) -> Pattern:
        least, most = _times(str(how))
        if most is not None and (most < least or most == 0):
            raise self.fail(f"{how} can never be", at, mistake="quantifier",
                            expected="{n,m} with n ≤ m and m > 0")
        return Repeat(part, least, most, lazy is not None, at=at)

    # -- expressions ----------------------------------------------------------------------------

    def final(self, at: Span, how: Token, call: Call) -> Expr:
        return Call(how.lower(), (call,), at=at)

    def call_of(self, at: Span, function: Token, variable: Token, star: Token) -> Expr:
        return Call(function.lower(), (Name(plain(variable), "*", at=self.span(variable)),), at=at)


def _times(how: str) -> tuple[int, int | None]:
    if how in "*+?":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[how]
    low, comma, high = (s.strip() for s in how[1:-1].partition(","))
    least = int(low or 0)
    return least, (int(high) if high else None) if comma else least


RECOGNISE = Language("recognise", "recognise", MISTAKES, _Builder)
