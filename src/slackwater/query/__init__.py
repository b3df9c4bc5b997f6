"""The query language: text in, a kernel out.

``SELECT … FROM name [RANGE …, SLIDE …, DRATIO …] WHERE … GROUP BY …`` and
``EVENT SEQ(…) WHERE … WITHIN … RETURN …`` share one expression language, and so does
``SELECT … FROM A a, B b WHERE |@a − @b| <= 5 seconds CONFIDENCE 80%`` and standard SQL's
``SELECT … FROM name MATCH_RECOGNIZE (…)``.  Expressions are
type-checked and run over Arrow columns; nothing is ever evaluated as Python.

`compile` is the one way in, and `explain` tells the plan.  Inside, each language has a folder:
`select`, `event`, `correlate` and `recognise`, with `tree`, `parse` (text to tree), `plan` (tree
and columns to what must be done) and `query` (the kernel); `expr` has the expressions that all
share, `grammar` the grammars.

Enters: a query's text and the schema of the data.  Leaves: a kernel, or a `QueryError` that draws
the place and gives a hint.  May import: the stages and what they may import.
"""

from __future__ import annotations

from slackwater.core.callable_module import make_callable
from slackwater.query.correlate.tables import correlate_query, run_correlate_query
from slackwater.query.errors import QueryError
from slackwater.query.explain import explain
from slackwater.query.front import compile
from slackwater.query.language import parse, parse_as, query_kind, streams_of
from slackwater.query.select.query import SelectQuery, quality

__all__ = ["QueryError", "SelectQuery", "compile", "correlate_query", "explain", "make_query",
           "parse", "parse_as", "quality", "query_kind", "run_correlate_query", "streams_of"]

make_callable(__name__)  # slackwater.query(df, "SELECT …") is slackwater.frames.query

make_query = compile
"""The name that `compile` had."""
