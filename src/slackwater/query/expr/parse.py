"""Text to trees: the grammars, and what a parse tree becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from slackwater.core.durations import micros
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.events import event_times
from slackwater.query.errors import QueryError
from slackwater.query.expr.elsewhere import spelt_out
from slackwater.query.expr.tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Expr,
    InList,
    IsNull,
    Like,
    Literal,
    Name,
    Span,
    Star,
    Unary,
)
from slackwater.query.foreign import foreign_word
from slackwater.query.grammar import begins_reserved, parser_of
from slackwater.query.mistakes import EXPRESSION_MISTAKES, Mistake, explain

__all__ = ["CAST_KINDS", "Builder", "Language", "Refusal", "parse_expression", "plain"]

_SAME = {"==": "=", "<>": "!="}
CAST_KINDS = {"integer": "integer", "int": "integer", "bigint": "integer", "long": "integer",
          "real": "real", "double": "real", "float": "real", "text": "text", "string": "text",
          "varchar": "text", "boolean": "boolean", "bool": "boolean", "timestamp": "timestamp",
          "smallint": "integer", "tinyint": "integer"}
_TYPE_HINTS = {"decimal": "REAL, and ROUND(x, 2) for two digits",
               "numeric": "REAL, and ROUND(x, 2) for two digits",
               "date": "a day is YEAR(t), MONTH(t) and DAY(t)"}
_FIELDS = ("year", "month", "day", "hour", "minute", "second", "epoch")


@dataclass(frozen=True)
class Refusal:
    """Why a text is none of a language; `at` is how far its parser came."""

    why: UnexpectedInput
    text: str
    parser: Lark
    mistakes: Sequence[Mistake]

    @property
    def at(self) -> int:
        """The place, as an offset into the text."""
        found = self.why.pos_in_stream
        token = getattr(self.why, "token", None)
        ended = found is None or (token is not None and token.type == "$END")
        return len(self.text) if ended else int(found)

    @property
    def by_a_word(self) -> bool:
        """Whether a reserved word is what cannot stand here, or what nothing else can follow."""
        before = getattr(getattr(self.why, "state", None), "value_stack", None) or [None]
        return begins_reserved(self.text, self.at) or (
            isinstance(before[-1], Token) and begins_reserved(before[-1]))

    def error(self) -> QueryError:
        """The error that draws the place and names the mistake."""
        return (foreign_word(self.text, self.at)
                or explain(self.why, self.text, self.parser, self.mistakes))


@dataclass(frozen=True)
class Language:
    """A grammar with its first rule, samples of mistakes, and what makes nodes of parse trees."""

    grammar: str
    start: str
    mistakes: Sequence[Mistake]
    builder: Callable[[str], Builder]

    def tree(self, text: str) -> Tree | Refusal:
        """The parse tree, or why there is none."""
        parser = parser_of(self.grammar, self.start)
        try:
            return parser.parse(text)
        except UnexpectedInput as why:
            refusal = Refusal(why, text, parser, self.mistakes)
        if not refusal.by_a_word:
            return refusal  # where the two parsers part, the first refuses at once
        try:
            return parser_of(self.grammar, self.start, soft=True).parse(text)
        except UnexpectedInput:
            return refusal

    def read(self, text: str) -> Any:
        """The nodes of a text, or a `QueryError`."""
        found = self.tree(text)
        if isinstance(found, Refusal):
            raise found.error()
        return self.build(text, found)

    def build(self, text: str, tree: Tree) -> Any:
        """The nodes of a parse tree."""
        return self.builder(text).build_expression(tree)


def parse_expression(text: str) -> Expr:
    """Read one expression.

    Examples
    --------
    >>> parse_expression("value > 2 * s.value")
    Binary(op='>', left=Name(qualifier=None, name='value', index=None),
           right=Binary(op='*', left=Literal(value=2, kind='number'),
                        right=Name(qualifier='s', name='value', index=None)))
    >>> parse_expression("value >")
    Traceback (most recent call last):
    ...
    slackwater.query.errors.QueryError: query: the expression ends too early
      line 1, column 8:
        value >
               ^
      expected: a value, a column or a function
    """
    found: Expr = Language("expressions", "expression", EXPRESSION_MISTAKES, Builder).read(text)
    return found


class Builder:
    """Makes nodes out of a parse tree: one method a rule, called with the built children.

    Rules that are imported from another grammar carry its name as a prefix, which is taken off.
    Subclass it for a grammar that has more rules.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def build(self, tree: Any) -> Any:
        """The node of a tree; tokens and placeholders stay what they are."""
        if not isinstance(tree, Tree):
            return tree
        method = getattr(self, tree.data.rpartition("__")[2])
        return method(self.span(tree), *[self.build(child) for child in tree.children])

    def build_expression(self, tree: Any) -> Any:
        """As `build`, with an error instead of a crash where the nesting is absurd."""
        try:
            return self.build(tree)
        except RecursionError:
            raise QueryError("the expression is nested too deeply", self.text, self.span(tree),
                             hint="use IN (…) for long chains of OR") from None

    @staticmethod
    def span(what: Any) -> Span:
        """Where a tree or a token stands."""
        meta = what.meta if isinstance(what, Tree) else what
        if getattr(meta, "start_pos", None) is None:
            return Span(1, 1, 0, 0)
        return Span(meta.line, meta.column, meta.start_pos, meta.end_pos)

    def fail(self, problem: str, at: Span, **more: Any) -> QueryError:
        """An error at a place of this text."""
        return QueryError(problem, self.text, at, **more)

    # -- logic ----------------------------------------------------------------------------------

    def or_(self, at: Span, left: Expr, right: Expr) -> Expr:
        """OR."""
        return Binary("or", left, right, at=at)

    def and_(self, at: Span, left: Expr, right: Expr) -> Expr:
        """AND."""
        return Binary("and", left, right, at=at)

    def not_(self, at: Span, _: Token, operand: Expr) -> Expr:
        """NOT."""
        return Unary("not", operand, at=at)

    def compare(self, at: Span, left: Expr, op: Token, right: Expr) -> Expr:
        """= != < <= > >=."""
        return Binary(_SAME.get(str(op), str(op)), left, right, at=at)

    def in_list(self, at: Span, operand: Expr, negated: Token | None, *items: Expr) -> Expr:
        """IN (…)."""
        return InList(operand, items, negated is not None, at=at)

    def between(self, at: Span, operand: Expr, negated: Token | None, low: Expr,
                high: Expr) -> Expr:
        """BETWEEN … AND …."""
        return Between(operand, low, high, negated is not None, at=at)

    def like(self, at: Span, operand: Expr, negated: Token | None, pattern: Expr) -> Expr:
        """LIKE."""
        return Like(operand, pattern, negated is not None, at=at)

    def is_null(self, at: Span, operand: Expr, negated: Token | None) -> Expr:
        """IS NULL."""
        return IsNull(operand, negated is not None, at=at)

    def is_truth(self, at: Span, operand: Expr, negated: Token | None, truth: Token) -> Expr:
        """IS [NOT] TRUE, IS [NOT] FALSE: never NULL."""
        told = operand if truth.upper() == "TRUE" else Unary("not", operand, at=at)
        found = Call("coalesce", (told, Literal(False, "boolean", at=at)), at=at)
        return found if negated is None else Unary("not", found, at=at)

    def is_distinct(self, at: Span, left: Expr, negated: Token | None, right: Expr) -> Expr:
        """IS [NOT] DISTINCT FROM: NULL equals NULL, and nothing else."""
        nulls = Binary("and", IsNull(left, at=at), IsNull(right, at=at), at=at)
        same = Call("coalesce", (Binary("=", left, right, at=at), nulls), at=at)
        return same if negated is not None else Unary("not", same, at=at)

    # -- arithmetic -----------------------------------------------------------------------------

    def joined(self, at: Span, left: Expr, _: Token, right: Expr) -> Expr:
        """Texts joined by ||."""
        return Call("concat", (left, right), at=at)

    def arithmetic(self, at: Span, left: Expr, op: Token, right: Expr) -> Expr:
        """+ − * / %."""
        return Binary(str(op), left, right, at=at)

    def signed(self, at: Span, op: Token, operand: Expr) -> Expr:
        """A sign; in front of a number it is part of the number."""
        if op == "+":
            return operand
        if isinstance(operand, Literal) and operand.kind in ("number", "duration"):
            assert isinstance(operand.value, (int, float))
            return Literal(-operand.value, operand.kind, at=at)
        return Unary("-", operand, at=at)

    def group(self, at: Span, inner: Expr) -> Expr:
        """Parentheses."""
        return inner

    def case(self, at: Span, *parts: Any) -> Expr:
        """CASE; `CASE x WHEN 1` is short for `CASE WHEN x = 1`."""
        operand, *whens, otherwise = parts
        conditions = [when[0] if operand is None else Binary("=", operand, when[0], at=when[0].at)
                      for when in whens]
        return Case(tuple(conditions), tuple(when[1] for when in whens),
                    Literal(None, "null", at=at) if otherwise is None else otherwise, at=at)

    def when(self, at: Span, condition: Expr, value: Expr) -> tuple[Expr, Expr]:
        """WHEN … THEN …."""
        return condition, value

    def cast(self, at: Span, operand: Expr, kind: Token, *sizes: Token | None) -> Expr:
        """CAST(x AS kind); a text of a length is cut."""
        name, size = CAST_KINDS.get(kind.lower()), [s for s in sizes if s is not None]
        if name is None:
            raise self.fail(f"there is no type {str(kind)!r}", self.span(kind),
                            expected=", ".join(sorted(CAST_KINDS)), mistake="cast",
                            hint=_TYPE_HINTS.get(kind.lower())
                            or did_you_mean(kind.lower(), list(CAST_KINDS)))
        if size and (name != "text" or len(size) > 1 or not size[0].isdigit()):
            raise self.fail(f"{kind} has no such size here", self.span(size[0]), mistake="cast",
                            hint=f"CAST(… AS {kind.upper()})")
        cast = Cast(operand, name, at=at)
        return cast if not size else Call("substring", (
            cast, Literal(1, "number", at=at), self.number(at, size[0])), at=at)

    def extract(self, at: Span, field: Token, operand: Expr) -> Expr:
        """EXTRACT(HOUR FROM t) is HOUR(t)."""
        name = field.lower()
        if name not in _FIELDS:
            raise self.fail(f"EXTRACT does not know {str(field)!r}", self.span(field),
                            expected=", ".join(map(str.upper, _FIELDS)), mistake="extract",
                            hint=did_you_mean(name, _FIELDS))
        return Call(name, (operand,), at=at)

    # -- leaves ---------------------------------------------------------------------------------

    def number(self, at: Span, token: Token) -> Expr:
        """A number: whole ones stay whole, if they fit 64 bits."""
        text = str(token)
        if text.isdigit() and int(text) < 2**63:
            return Literal(int(text), "number", at=at)
        return Literal(float(text), "number", at=at)

    def duration(self, at: Span, token: Token) -> Expr:
        """`30 seconds`, in microseconds."""
        return Literal(self.length(token), "duration", at=at)

    def length(self, token: Token) -> int:
        """The microseconds of a duration."""
        try:
            return micros(str(token))
        except (ConfigError, OverflowError) as why:
            raise self.fail("this duration cannot be read", self.span(token),
                            expected="at most 10,000 years", mistake="duration") from why

    def interval(self, at: Span, length: Token, unit: Token | None = None) -> Literal:
        """`INTERVAL '5' MINUTE`, `INTERVAL '5 minutes'`, `INTERVAL 5 MINUTES`."""
        text = str(length).strip("' ")
        sign = -1 if text.startswith("-") else 1
        try:
            return Literal(sign * micros(f"{text.lstrip('+-')} {unit or ''}".strip()), "duration",
                           at=at)
        except (ConfigError, OverflowError):
            raise self.fail("this interval cannot be read", at, mistake="interval",
                            expected="INTERVAL '90' SECOND; units are SECOND, MINUTE, HOUR, DAY") \
                from None

    def string(self, at: Span, token: Token) -> Expr:
        """'text', with '' for a quote."""
        return Literal(token[1:-1].replace("''", "'"), "text", at=at)

    def timestamp(self, at: Span, token: Token) -> Expr:
        """TIMESTAMP '…': ISO 8601; without a zone it is UTC."""
        return Literal(self.instant(token[1:-1], at), "timestamp", at=at)

    def instant(self, text: str, at: Span) -> int:
        """Microseconds UTC of an ISO text."""
        value, readable = event_times(pa.array([text]), unit=None, name="literal")
        if not np.all(readable):
            raise self.fail(f"{text!r} is not a time", at,
                            expected="ISO 8601, as '2024-05-01 12:30:00' or '2024-05-01T12:30Z'")
        return int(value[0])

    def true(self, at: Span, _: Token) -> Expr:
        """TRUE."""
        return Literal(True, "boolean", at=at)

    def false(self, at: Span, _: Token) -> Expr:
        """FALSE."""
        return Literal(False, "boolean", at=at)

    def null(self, at: Span) -> Expr:
        """NULL."""
        return Literal(None, "null", at=at)

    def column(self, at: Span, name: Token) -> Expr:
        """`col`."""
        return Name(None, plain(name), at=at)

    def qualified(self, at: Span, qualifier: Token, name: Token) -> Expr:
        """`var.col`."""
        return Name(plain(qualifier), plain(name), at=at)

    def element(self, at: Span, qualifier: Token, index: str | None,
                name: Token | None = None) -> Expr:
        """`var[i].col`, or `var[i]` alone."""
        return Name(plain(qualifier), "" if name is None else plain(name), index or "*", at=at)

    def index(self, at: Span, *parts: Token | None) -> str:
        """What stands between the brackets, without blanks, in lower case."""
        return "".join(part for part in parts if part is not None).lower()

    def call(self, at: Span, function: Token, *args: Any) -> Expr:
        """`f(x, y)`, `f(*)`, `f()`."""
        given = tuple(Star(at=self.span(a)) if isinstance(a, Token) else a
                      for a in args if a is not None)
        return spelt_out(Call(function.lower(), given, at=at))

    def distinct_call(self, at: Span, function: Token, value: Expr) -> Expr:
        """`f(DISTINCT x)`, which is a function of its own."""
        return Call(f"{function.lower()}_distinct", (value,), at=at)


def plain(token: Token | str) -> str:
    """A name without its quotes."""
    text = str(token)
    if text.startswith('"'):
        return text[1:-1].replace('""', '"')
    return text.strip("`")
