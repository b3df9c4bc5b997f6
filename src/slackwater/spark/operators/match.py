"""Sequence patterns on Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from slackwater.core.durations import Duration, micros
from slackwater.core.events import Roles
from slackwater.core.names import column_names
from slackwater.query import compile
from slackwater.reorder import Policy
from slackwater.spark.operators.arrival import with_arrival
from slackwater.spark.runner.carry import arrow_schema, carry
from slackwater.spark.runner.operator_spec import operator_spec

__all__ = ["match"]


def match(
    df: DataFrame,
    pattern: str,
    *,
    time: str = "time",
    type: str = "type",
    arrival: str | None = None,
    source: str | None = None,
    sequence: str | None = None,
    by: str | Sequence[str] = (),
    slack: Duration | Policy | None = None,
    emit: str | None = None,
    select: str | None = None,
    timed_out: str | bool | None = None,
    max_matches: int = 1_000_000,
    unit: str | None = None,
    max_future_skew: Duration = "5 minutes",
    quiet: Duration | None = "10s",
    shards: int | None = None,
) -> DataFrame:
    """Find sequence patterns in a streaming or batch DataFrame, in any order of arrival.

    Each match is a row: ``match_id``, ``op`` ("+", "-" for a retraction under ``emit="eager"``,
    "timed_out" for a partial match, if asked for), ``events`` (a struct a variable), what RETURN
    asks for; ``_status`` is "ready".  Late and quarantined input rows come too, whole, in
    ``_row``, with the reason.

    Parameters
    ----------
    df
        Events.
    pattern
        ``EVENT SEQ(…) WHERE … WITHIN … RETURN …``.
    time, type, arrival, source, sequence, unit
        Which columns are what (see `reorder`).
    by
        Key columns, beside those that the pattern's WHERE equates.
    slack
        How far back in time an event may come: a duration, or a policy that estimates it; by
        default the policy that `reorder` picks.
    emit
        "final" (unless the pattern says EMIT): a match comes once, when nothing can undo it.
        "eager": at once, and a retraction
        with the same id if a late event undoes it.
    select
        "skip_till_any" (unless the pattern says STRATEGY), "skip_till_next", "strict" or
        "branching".
    timed_out
        True or "all": also partial matches whose window has closed, with the op "timed_out".
    max_matches
        An event that completes more matches than this is quarantined, and the query goes on.
    max_future_skew, quiet, shards
        As for `reorder`.
    """
    by = column_names(by)
    df, arrival = with_arrival(df, arrival, step="match")
    roles = Roles(time, arrival, source, sequence, type, key=by, unit=unit)
    roles.check(df.columns, step="match")
    kernel = compile(pattern, arrow_schema(df), roles, slack=slack, emit=emit, select=select,
                     timed_out=timed_out, max_matches=max_matches, max_future_skew=max_future_skew)
    pause = None if quiet is None else micros(quiet, name="quiet")
    return carry(df, operator_spec(kernel, arrow_schema(df), pause, "match"), shards=shards)
