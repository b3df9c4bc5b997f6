"""One parser for all languages: what a text is, the grammar that takes it says."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias, TypeVar

from lark import Tree
from lark.exceptions import UnexpectedInput

from slackwater.core.errors import did_you_mean
from slackwater.query.correlate.parse import CORRELATE
from slackwater.query.correlate.tree import CorrelateTree
from slackwater.query.errors import QueryError
from slackwater.query.event.parse import EVENT
from slackwater.query.event.tree import EventTree
from slackwater.query.expr.parse import Language
from slackwater.query.expr.tree import Span
from slackwater.query.grammar import parser_of
from slackwater.query.recognise.parse import RECOGNISE
from slackwater.query.recognise.tree import Recognise
from slackwater.query.select.parse import SELECT
from slackwater.query.select.tree import Select

__all__ = ["Query", "parse", "parse_as", "query_kind", "streams_of"]

Query: TypeAlias = Select | Recognise | CorrelateTree | EventTree
"""The tree of any query; each has its `text`, and `explain`: whether its plan is asked for."""

Kind = TypeVar("Kind", Select, Recognise, CorrelateTree, EventTree)
_BY_FIRST_WORD: dict[str, tuple[Language, ...]] = {
    "SELECT": (SELECT, CORRELATE, RECOGNISE), "EVENT": (EVENT,)}
_KINDS = {Select: "select", Recognise: "recognise", CorrelateTree: "correlate", EventTree: "event"}


@lru_cache(maxsize=64)
def parse(text: str) -> Query:
    """Read a query of any language.

    Of a text that none takes, the error is that of the language that understood the most of it.

    Examples
    --------
    >>> parse("SELECT a.x FROM A a, B b WHERE |@a - @b| <= 1 s").streams[1].name
    'B'
    >>> parse("EXPLAIN SELECT x FROM s").explain
    True
    """
    refusals = []
    for language in _BY_FIRST_WORD[_first_word(text)]:
        found = language.tree(text)
        if isinstance(found, Tree):
            query: Query = language.build(text, found)
            return query
        refusals.append(found)
    raise max(refusals, key=lambda refusal: refusal.at).error()


def parse_as(kind: type[Kind], text: str | None) -> Kind:
    """Read a query that is known to be of this kind."""
    query = parse(text or "")
    assert isinstance(query, kind)
    return query


def query_kind(text: str) -> str:
    """Tell what a query is: "select", "recognise", "correlate" (over two streams) or "event".

    Examples
    --------
    >>> query_kind("select 1 from s"), query_kind("EVENT SEQ(A a, B b) WITHIN 1 s")
    ('select', 'event')
    >>> query_kind("SELECT * FROM A a, B b WHERE |@a - @b| <= 1 s")
    'correlate'
    """
    return _KINDS[type(parse(text))]


def streams_of(query: Query) -> tuple[str, ...]:
    """The streams that FROM names; an EVENT query has no FROM."""
    if isinstance(query, CorrelateTree):
        return tuple(stream.name for stream in query.streams)
    return () if isinstance(query, EventTree) else (query.source,)


_SUBQUERY = "run the inner query first: as a step of a pipeline, or with --out"


def _first_word(text: str) -> str:
    try:
        words = parser_of("head", "head").parse(text).children
    except UnexpectedInput as why:
        at = why.pos_in_stream if getattr(why, "token", None) is None else why.token.start_pos
        at = len(text.rstrip()) if at is None or at < 0 else at
        word = text[at:].split(None, 1)[0] if text[at:].strip() else ""
        word = word[: next((i for i, c in enumerate(word) if not (c.isalnum() or c == "_")),
                           len(word))]
        line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
        raise QueryError("a query begins with SELECT or EVENT", text,
                         Span(line, column, at, at + max(len(word), 1)),
                         hint=_SUBQUERY if word.upper() == "WITH" else
                         did_you_mean(word, [*_BY_FIRST_WORD, "EXPLAIN"]),
                         mistake="first-word") from None
    return str(words[1]).upper()
