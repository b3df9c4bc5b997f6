"""Queries on Spark: SELECT over windows, row patterns and two streams, EVENT for patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.events import Roles
from slackwater.core.names import column_names
from slackwater.query import compile, parse, query_kind, streams_of
from slackwater.reorder import Policy
from slackwater.spark.operators.arrival import with_arrival
from slackwater.spark.operators.correlate_query import OPTIONS, pairs_of_views
from slackwater.spark.operators.match import match
from slackwater.spark.runner.carry import arrow_schema, carry
from slackwater.spark.runner.operator_spec import operator_spec

__all__ = ["query"]


def query(
    data: DataFrame | SparkSession,
    text: str,
    *,
    time: str = "time",
    arrival: str | None = None,
    source: str | None = None,
    sequence: str | None = None,
    type: str | None = None,
    by: str | Sequence[str] = (),
    slack: Duration | None = None,
    policy: Policy | str | None = None,
    unit: str | None = None,
    emit: str | None = None,
    quiet: Duration | None = "10s",
    shards: int | None = None,
    **correlation: Any,
) -> DataFrame:
    """Run a query of Slackwater's language over a streaming or batch DataFrame.

    Results come with ``_status`` "ready"; the input rows that took no part because they were late
    or had no usable time come too, whole, in the column ``_row``, with the reason.  `ready` keeps
    the results alone.

    Parameters
    ----------
    data
        A DataFrame; or a session, whose table or view the query's FROM names (two of them for a
        query over two streams).
    text
        ``SELECT … FROM name [RANGE …, SLIDE …, DRATIO …] WHERE … GROUP BY …``,
        ``SELECT … FROM name MATCH_RECOGNIZE (PARTITION BY … ORDER BY … PATTERN (…) DEFINE …)``,
        ``SELECT … FROM A a, B b WHERE |@a − @b| <= 5 seconds CONFIDENCE 80% AND …`` or
        ``EVENT SEQ(…) WHERE … WITHIN … RETURN …``.
    time, arrival, source, sequence, type, unit
        Which columns are what (see `reorder`); `type` for EVENT queries.
    by
        Key columns, of an EVENT query beside those that its WHERE equates.
    slack, policy
        How long to wait for late rows, where the query has no DRATIO: a duration, or a policy.
    emit
        For EVENT queries: "final" (unless the query says EMIT), or "eager" with retractions.
    quiet, shards
        As for `reorder`.
    correlation
        For queries over two streams: `time_min`, `time_max`, `max_delay`, `shortest`, `longest` and
        `distribution`, as for `correlate`.
    """
    kind = query_kind(text)
    for name in correlation:
        if kind != "correlate" or name not in OPTIONS:
            raise ConfigError(f"{name!r} is no option of this query", step="query",
                              hint=did_you_mean(name, OPTIONS) if kind == "correlate" else None)
    if kind == "correlate":
        return pairs_of_views(data, text, by=by, arrival=arrival, unit=unit, shards=shards,
                              **correlation)
    if kind == "event":
        if not isinstance(data, DataFrame):
            raise ConfigError("an EVENT query has no FROM", step="query",
                              expected="a DataFrame instead of the session")
        waits = policy if slack is None else slack
        return match(data, text, time=time, arrival=arrival, sequence=sequence, source=source,
                     type=type or "type", by=by, slack=waits, emit=emit, unit=unit,
                     quiet=quiet, shards=shards)
    df = data if isinstance(data, DataFrame) else data.table(streams_of(parse(text))[0])
    df, arrival = with_arrival(df, arrival, step="query")
    by = column_names(by)
    roles = Roles(time, arrival, source, sequence, key=by, unit=unit)
    kernel = compile(text, arrow_schema(df), roles, slack=slack, policy=policy)
    pause = None if quiet is None else micros(quiet, name="quiet")
    return carry(df, operator_spec(kernel, arrow_schema(df), pause, "query"), shards=shards)
