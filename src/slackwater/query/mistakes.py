"""Samples of mistakes, and the error that each kind of mistake gets.

A query that does not parse stops the parser in some state.  A sample that stops it in the same
state makes the same mistake, so its name and its hint apply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from slackwater.core.durations import UNITS, micros
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.query.errors import QueryError
from slackwater.query.expr.elsewhere import WINDOWS
from slackwater.query.expr.tree import Span

__all__ = ["EXPRESSION_MISTAKES", "RIGHT_BEHIND", "Mistake", "explain"]


@dataclass(frozen=True)
class Mistake:
    """A kind of mistake: its name, what to say, and samples of it.

    With `token`, the mistake is only meant where that terminal (without prefix) is the unexpected
    one; "$END" is the end of the text.
    """

    name: str
    problem: str
    hint: str | None
    samples: tuple[str, ...]
    token: str | None = None


EXPRESSION_MISTAKES = (
    Mistake("empty-in", "IN needs at least one value between its parentheses",
            "IN ('a', 'b')", ("x IN ()",), token="RPAR"),
    Mistake("in-without-list", "IN needs a list in parentheses", "IN ('a', 'b')",
            ("x IN 3", "x NOT IN 3")),
    Mistake("between-without-and", "BETWEEN needs two ends joined by AND",
            "BETWEEN 1 AND 5", ("x BETWEEN 1", "x BETWEEN 1, 5", "x NOT BETWEEN 1")),
    Mistake("is-without-null", "IS is followed by NULL, TRUE, FALSE or DISTINCT FROM",
            "use = for other values, or IS NULL",
            ("x IS 3", "x IS NOT 3")),
    Mistake("qualified-without-column", "a column's name is missing after the dot", None,
            ("x.", "x. > 3")),
)

_WORDS = {
    "NAME": "a name", "QUOTED": "a name", "NUMBER": "a number", "DURATION": "a duration",
    "STRING": "a text", "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "COMMA": "a comma",
    "DOT": "a dot", "COMPARE": "an operator", "PLUS": "an operator", "MINUS": "an operator",
    "JOINED": "an operator", "STAR": "an operator", "SLASH": "an operator",
    "PERCENT": "an operator", "BANG": "!",
    "$END": "the end", "VBAR": "|", "START_ANCHOR": "^", "END_ANCHOR": "$", "EXCLUDE": "{-",
    "LAZY": "?", "QUANTIFIER": "a quantifier", "ROWS": "ONE ROW or ALL ROWS PER MATCH",
    "_AFTER": "AFTER MATCH SKIP", "SEMANTICS": "FINAL or RUNNING",
    "_MATCH_RECOGNIZE": "MATCH_RECOGNIZE", "DIRECTION": "ASC or DESC", "NULLS": "NULLS FIRST",
    "SKIP_TO": "SKIP TO", "SKIP_NEXT": "TO NEXT ROW", "SKIP_PAST": "SKIP PAST LAST ROW",
}
_SIGNS = {"&": "use AND", "|": "use OR, or || to join texts", "{": "use (", "}": "use )",
          "^": "POWER(x, 2)", ":": "CAST(x AS REAL)"}
_LIKE = "LIKE, with % for any text and _ for one character"
_INSTEAD = {"ILIKE": "LOWER(x) LIKE 'e%'", "RLIKE": _LIKE, "REGEXP": _LIKE,
            "ESCAPE": "a backslash takes the % or _ behind it plainly: LIKE '%\\_%'",
            "DIV": "CAST(x / y AS INTEGER)", "MOD": "%",
            **dict.fromkeys(("TUMBLE", "HOP", "ROWS", "TUMBLING", "HOPPING"), WINDOWS)}
"""Operators of other systems, that stand where a name would."""
_OF_RESULTS = "aggregate the results in a query of their own"
_ELSEWHERE = {"GROUP": f"there is no GROUP BY here: {_OF_RESULTS}",
              "HAVING": f"there is no HAVING here: {_OF_RESULTS}"}
RIGHT_BEHIND = ("MATCH_RECOGNIZE stands right behind the name of the stream",
                "rows are filtered in DEFINE or in a step before, matches by a WHERE behind it")
_OPERAND = {"NAME", "NUMBER", "STRING", "LPAR", "MINUS"}
_OPERATORS = {"PLUS", "MINUS", "JOINED", "STAR", "SLASH", "PERCENT", "COMPARE", "IN", "BETWEEN",
              "LIKE", "IS", "NOT"}


def explain(why: UnexpectedInput, text: str, parser: Lark,
            mistakes: Sequence[Mistake]) -> QueryError:
    """The error for a text that does not parse."""
    if isinstance(why, UnexpectedCharacters):
        return _strange_character(why, text)
    assert isinstance(why, UnexpectedToken)
    token, kind = why.token, _bare(why.token.type)
    at = _end_of(text) if kind == "$END" else Span(
        token.line, token.column, token.start_pos, token.end_pos)
    accepted = {_bare(name) for name in why.accepts or why.expected}
    before = text[: at.start].rstrip()
    known = _from_elsewhere(kind, str(token), before, text, at)
    if known is not None:
        return known
    unit = _misspelt_unit(before, str(token)) if kind == "NAME" else None
    follows = re.match(r"\s+([A-Za-zµ]+)", text[at.end:])
    if kind == "NUMBER" and "DURATION" in accepted and follows is not None:
        unit = _misspelt_unit(text[: at.end], follows[1])
        if unit is not None:
            shift = follows.start(1)
            at = Span(at.line, at.column + len(token) + shift, at.end + shift,
                      at.end + follows.end(1))
            token = follows[1]
    if unit is not None:
        return QueryError(f"{str(token)!r} is not a unit of time", text, at, mistake="unit",
                          expected='us, ms, s, m, h or d, as in "30 seconds"', hint=unit)
    if kind in ("NAME", "QUOTED") and len(token) > 2:
        keyword = did_you_mean(str(token), [a for a in accepted if a.isalpha() and a not in _WORDS])
        if keyword is not None:
            return QueryError(f"{str(token)!r} is not expected here", text, at, hint=keyword,
                              expected=_expected(accepted), mistake="keyword")
    taken = _taken_for_a_name(before, accepted, kind, text)
    if taken is not None:
        return taken
    for mistake in mistakes:
        if mistake.token in (None, kind) and _same_state(why, parser, mistake):
            return QueryError(mistake.problem, text, at, hint=mistake.hint, mistake=mistake.name)
    if kind == "$END":
        what = "expression" if accepted >= _OPERAND else "query"
        unclosed = _unclosed(text)
        return QueryError(f"the {what} ends too early", text, at, mistake="end",
                          expected=_expected(accepted),
                          hint=None if unclosed is None else f"{unclosed} is never closed")
    return QueryError(f"{str(token)!r} is not expected here", text, at,
                      expected=_expected(accepted), mistake="token", hint=_hint(kind, accepted))


def _from_elsewhere(kind: str, token: str, before: str, text: str, at: Span) -> QueryError | None:
    """The error for what other systems have in this place."""
    if before.endswith(";"):
        return QueryError("a query ends at its ;", text, at, mistake="two-queries",
                          hint="ask one query at a time")
    if re.match(r"\(?\s*SELECT\b", text[at.start:], re.IGNORECASE) and before:
        return QueryError("there are no queries inside of queries", text, at, mistake="subquery",
                          hint="run the inner one first: as a step of a pipeline, or with --out")
    if kind == "LPAR" and re.search(r"\bTABLE$", before, re.IGNORECASE):
        return QueryError("FROM needs the name of a stream", text, at, mistake="no-source",
                          hint=WINDOWS)
    if kind == "NAME" and token.upper() in _INSTEAD:
        return QueryError(f"there is no {token.upper()} here", text, at,
                          hint=_INSTEAD[token.upper()], mistake="operator")
    if kind == "NAME" and re.fullmatch("MATCH_RECOGNI[SZ]E", token, re.IGNORECASE):
        return QueryError(RIGHT_BEHIND[0], text, at, hint=RIGHT_BEHIND[1],
                          mistake="filtered-before")
    if kind == "COMPARE" and before.endswith("<=") and token == ">":
        return QueryError("there is no <=> here", text, at, mistake="operator",
                          hint="IS NOT DISTINCT FROM")
    return None


def _taken_for_a_name(before: str, accepted: set[str], kind: str, text: str) -> QueryError | None:
    """The error for a misspelt keyword behind FROM, which is read as a name for the stream."""
    word = re.search(r"(?<=\s)\w{3,}$", before)
    if word is None or not accepted >= {"WHERE", "GROUP"}:
        return None
    keywords = ["WHERE", "GROUP", "HAVING"] if kind != "LPAR" else ["MATCH_RECOGNIZE"]
    hint = did_you_mean(word[0], keywords)
    if hint is None:
        return None
    start = word.start()
    at = Span(before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1, start, word.end())
    return QueryError(f"{word[0]!r} is not expected here", text, at, hint=hint, mistake="keyword")


def _bare(terminal: str) -> str:
    return terminal.rpartition("__")[2]


def _same_state(why: UnexpectedToken, parser: Lark, mistake: Mistake) -> bool:
    """Whether a sample stops the parser where this text does, however deep it is nested there."""
    return any(_stops(parser, sample) == why.state.position for sample in mistake.samples)


@lru_cache(maxsize=4096)
def _stops(parser: Lark, sample: str) -> object:
    """The state in which the parser stops at a sample."""
    try:
        parser.parse(sample)
    except UnexpectedToken as why:
        return why.state.position
    except UnexpectedInput:
        pass
    return None


def _end_of(text: str) -> Span:
    body = text.rstrip()
    line = body.count("\n") + 1
    column = len(body) - (body.rfind("\n") + 1) + 1
    return Span(line, column, len(body), len(body) + 1)


def _strange_character(why: UnexpectedCharacters, text: str) -> QueryError:
    at = Span(why.line, why.column, why.pos_in_stream, why.pos_in_stream + 1)
    char = text[why.pos_in_stream]
    if char in "'\"`":
        rest = text[why.pos_in_stream:].split("\n")[0]
        return QueryError("this text has no closing quote", text,
                          Span(at.line, at.column, at.start, at.start + len(rest)),
                          hint=f"add {char} at its end", mistake="quote")
    if char == "@" or (char == "|" and "@" in text[why.pos_in_stream:]):
        return QueryError("a time like @a is compared with that of a second stream", text, at,
                          hint="FROM A a, B b", mistake="one-stream")
    if char == "!":
        return QueryError("'!' is not an operator here", text, at, mistake="character",
                          hint="use NOT, or != for unequal")
    word = re.match(r"\w+", text[why.pos_in_stream:])
    if word is not None and not char.isdigit():
        return QueryError(f"{word[0]!r} has no place here", text,
                          Span(at.line, at.column, at.start, at.start + len(word[0])),
                          hint=_ELSEWHERE.get(word[0].upper()), mistake="character")
    return QueryError(f"{char!r} means nothing here", text, at, mistake="character",
                      hint=_SIGNS.get(char))


def _misspelt_unit(before: str, unit: str) -> str | None:
    """A hint if the unexpected name stands right behind a number, as a misspelt unit does."""
    number = before.rsplit(None, 1)[-1] if before else ""
    if not number.replace(".", "", 1).isdigit():
        return None
    try:
        micros(f"{number} {unit}")
    except ConfigError as unknown:
        return unknown.hint or f"units are {', '.join(UNITS)}"
    return None


def _expected(accepted: Iterable[str]) -> str | None:
    names = set(accepted)
    words = []
    if names >= _OPERAND:
        words.append("a value, a column or a function")
        names -= {*_OPERAND, "PLUS", "DURATION", "QUOTED", "TRUE", "FALSE", "NULL", "_TIMESTAMP",
                  "_CAST", "_EXTRACT", "_INTERVAL", "SEMANTICS", "CASE", "NOT"}
    if len(names & _OPERATORS) > 3:
        words.append("an operator")
        names -= _OPERATORS
        names -= {"AND", "OR", "DOT", "LSQB", "LPAR"}
    for name in sorted(names - {"SEMICOLON"}):  # may end any query: no news
        word = _WORDS.get(name, name.lstrip("_").replace("_", " "))
        if word not in words:
            words.append(word)
    return " or ".join(words) if words else None


def _hint(kind: str, accepted: set[str]) -> str | None:
    if kind in ("NAME", "QUOTED", "STRING", "NUMBER") and "COMMA" in accepted:
        return "is a comma missing, or an operator?"
    if kind == "COMPARE":
        return "join comparisons by AND: a < b AND b < c"
    return None


def _unclosed(text: str) -> str | None:
    stack = []
    for char in text:
        if char in "([":
            stack.append(char)
        elif char in ")]" and stack:
            stack.pop()
    return repr(stack[-1]) if stack else None
