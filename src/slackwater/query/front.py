"""The front door: a text of any language, and the kernel that it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias

import pyarrow as pa

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.events import Roles
from slackwater.correlate import Correlate
from slackwater.pattern.match import Match
from slackwater.query.correlate.plan import plan_correlate
from slackwater.query.correlate.query import PairQuery
from slackwater.query.correlate.tree import CorrelateTree
from slackwater.query.errors import QueryError
from slackwater.query.event.query import EventPattern
from slackwater.query.event.tree import EventTree
from slackwater.query.language import parse
from slackwater.query.recognise.query import RecogniseQuery
from slackwater.query.recognise.tree import Recognise
from slackwater.query.select.query import SelectQuery

__all__ = ["Schemas", "compile"]

Schemas: TypeAlias = pa.Schema | Sequence[pa.Schema] | Mapping[str, pa.Schema] | None
"""The columns of a stream; of a query over two streams both, in FROM's order or by name."""

_OWN = ("text", "schema", "roles", "pattern", "left", "right")  # what is no option


def compile(text: str, schemas: Schemas, roles: Roles | tuple[Roles, Roles] | None = None,
            **options: Any) -> SelectQuery | RecogniseQuery | Match | PairQuery:
    """The kernel of a query over data of these columns.

    Parameters
    ----------
    text
        SELECT, with a window, MATCH_RECOGNIZE or two streams, or EVENT.
    schemas
        The columns of its stream, or of both.  An EVENT query does without: its columns are then
        looked for when rows come.
    roles
        Which columns are time, arrival, …
    options
        ``slack`` or ``policy`` (how long to wait for late rows) and those of `SelectQuery`, of
        `RecogniseQuery`, of `slackwater.pattern.Match` or of `slackwater.correlate.Correlate`.

    Examples
    --------
    >>> schema = pa.schema([("time", pa.int64()), ("type", pa.string()), ("x", pa.int64())])
    >>> roles = Roles("time", type="type", unit="s")
    >>> type(compile("SELECT MAX(x) FROM s [RANGE 1 minute]", schema, roles)).__name__
    'SelectQuery'
    >>> type(compile("EVENT SEQ(A a, B b) WITHIN 1 minute", schema, roles)).__name__
    'Match'
    """
    query = parse(text)
    if query.explain:
        raise ConfigError("EXPLAIN gives no rows", step="query",
                          hint="slackwater.query.explain(text), or the command, gives the plan")
    if isinstance(query, CorrelateTree):
        return _pairs(query, schemas, roles, options)
    schema = _only(schemas)
    if isinstance(roles, tuple):
        raise ConfigError("the query reads one stream", step="query", expected="roles of one",
                          got=f"roles of {len(roles)}")
    if isinstance(query, EventTree):
        slack, policy = options.pop("slack", None), options.pop("policy", None)
        if slack is not None and policy is not None:
            raise ConfigError("the order is asked for twice: slack and policy", step="query",
                              hint="leave one out")
        _check_options(options, Match)
        roles = Roles() if roles is None else roles
        match = Match(EventPattern(text), roles, slack=policy if slack is None else slack,
                      **options)
        if schema is not None:
            roles.check(schema.names, step="query")
            match.pattern.bind(schema, roles)  # mistakes are to be told now, not when rows come
        return match
    kind = RecogniseQuery if isinstance(query, Recognise) else SelectQuery
    _check_options(options, kind)
    return kind(text, schema, Roles() if roles is None else roles, **options)


def _pairs(query: CorrelateTree, schemas: Schemas, roles: Any,
           options: dict[str, Any]) -> PairQuery:
    if isinstance(schemas, Mapping):
        names = [stream.name for stream in query.streams]
        for stream in query.streams:
            if stream.name not in schemas:
                raise QueryError(f"there is no table {stream.name!r}", query.text, stream.at,
                                 expected=f"one of {', '.join(schemas)}", mistake="unknown-table",
                                 hint=did_you_mean(stream.name, list(schemas)))
        schemas = [schemas[name] for name in names]
    if schemas is None or isinstance(schemas, pa.Schema) or len(schemas) != 2:
        raise QueryError("a query over two streams needs two tables, and there is one here",
                         query.text, query.streams[1].at, mistake="two-tables",
                         hint="give both: their names are those in FROM")
    left, right = schemas
    plan = plan_correlate(query, left, right)
    _check_options(options, Correlate, *plan.options)
    given = {} if roles is None else {"roles": roles}
    kernel = plan.correlate(**given, **options)
    for schema, side in zip((left, right), kernel.roles, strict=True):  # type: ignore[arg-type]
        side.check(schema.names, step="query")
    return PairQuery(query.text, left, right, kernel)


def _only(schemas: Schemas) -> pa.Schema | None:
    if schemas is None or isinstance(schemas, pa.Schema):
        return schemas
    if len(schemas) == 1:
        return next(iter(schemas.values() if isinstance(schemas, Mapping) else schemas))
    raise ConfigError("the query reads one stream", step="query", expected="one schema",
                      got=len(schemas))


def _check_options(options: dict[str, Any], kernel: type, *taken: str) -> None:
    known = [f.name for f in fields(kernel) if f.init and f.name not in (*_OWN, *taken)]
    for name in options:
        if name not in known:
            raise ConfigError(f"{name!r} is no option of this query", step="query",
                              expected=f"one of {', '.join(known)}",
                              hint=did_you_mean(name, known))
