"""The query language: text in, a kernel out.

``SELECT … FROM name [RANGE …, SLIDE …, DRATIO …] WHERE … GROUP BY …`` and
``EVENT SEQ(…) WHERE … WITHIN … RETURN …`` share one expression language, and so does
``SELECT … FROM A a, B b WHERE |@a − @b| <= 5 seconds CONFIDENCE 80%`` and standard SQL's
``SELECT … FROM name MATCH_RECOGNIZE (…)``.  Expressions are
type-checked and run over Arrow columns; nothing is ever evaluated as Python.

Enters: a query's text and the schema of the data.  Leaves: a kernel, or a `QueryError` that draws
the place and gives a hint.  May import: the stages and what they may import.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from slackwater.core.callable_module import make_callable
from slackwater.core.errors import did_you_mean
from slackwater.core.events import Roles
from slackwater.core.kernel import Kernel
from slackwater.query.correlate.parse import has_two_streams, parse_correlate
from slackwater.query.correlate.tables import correlate_query, run_correlate_query
from slackwater.query.errors import QueryError
from slackwater.query.expr.tree import Span
from slackwater.query.recognise_text import is_recognise
from slackwater.query.select.query import SelectQuery, quality

__all__ = ["QueryError", "SelectQuery", "correlate_query", "make_query", "quality", "query_kind",
           "run_correlate_query"]

make_callable(__name__)  # slackwater.query(df, "SELECT …") is slackwater.frames.query

_KINDS = {"SELECT": "select", "EVENT": "event", "EXPLAIN": "event"}


def query_kind(text: str) -> str:
    """Tell what a query is: "select", "event", or "correlate" for a SELECT over two streams.

    A SELECT with MATCH_RECOGNIZE is a "select", too.

    Examples
    --------
    >>> query_kind("select 1 from s"), query_kind("EVENT SEQ(A a, B b) WITHIN 1 s")
    ('select', 'event')
    >>> query_kind("SELECT * FROM A a, B b WHERE |@a - @b| <= 1 s")
    'correlate'
    """
    start = re.match(r"(?:\s|--[^\n]*(?:\n|$))*", text)
    at = start.end() if start else 0
    word = re.match(r"\w+", text[at:])
    first = word[0] if word else ""
    if first.upper() not in _KINDS:
        line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
        raise QueryError("a query begins with SELECT or EVENT", text,
                         Span(line, column, at, at + max(len(first), 1)),
                         hint=did_you_mean(first, list(_KINDS)), mistake="first-word")
    kind = _KINDS[first.upper()]
    if kind == "select" and not is_recognise(text) and has_two_streams(text):
        return "correlate"
    return kind


def make_query(text: str, schema: pa.Schema, roles: Roles, **options: Any) -> Kernel:
    """The kernel of a query over data of this schema.

    The options are those of `SelectQuery`, of `RecogniseQuery` or of `slackwater.pattern.Match`.
    """
    kind = query_kind(text)
    if kind == "correlate":
        raise QueryError("a query over two streams needs two tables, and there is one here", text,
                         parse_correlate(text).streams[1].at, mistake="two-tables",
                         hint="run_correlate_query, or slackwater.spark.query with a session")
    if kind == "select" and is_recognise(text):
        from slackwater.query.recognise import RecogniseQuery

        return RecogniseQuery(text, schema, roles, **options)
    if kind == "select":
        return SelectQuery(text, schema, roles, **options)
    from slackwater.query.event.query import event_query

    return event_query(text, roles, **options)
