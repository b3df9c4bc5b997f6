"""Dedupe on Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from slackwater.core.durations import Duration, micros
from slackwater.core.events import Roles
from slackwater.core.names import column_names
from slackwater.dedupe import Dedupe
from slackwater.spark.operators.arrival import with_arrival
from slackwater.spark.runner.carry import arrow_schema, carry
from slackwater.spark.runner.operator_spec import operator_spec

__all__ = ["dedupe"]


def dedupe(
    df: DataFrame,
    by: str | Sequence[str],
    *,
    within: Duration = "10 minutes",
    time: str = "time",
    arrival: str | None = None,
    unit: str | None = None,
    max_future_skew: Duration = "5 minutes",
    quiet: Duration | None = "10s",
    shards: int | None = None,
) -> DataFrame:
    """Let each event of a streaming or batch DataFrame pass once (see `slackwater.dedupe`).

    Rows pass at once.  Every input row comes out exactly once, as from `reorder`: ``ready``, or
    ``late`` if a row with its id arrived before it, no longer than `within` before.

    Parameters
    ----------
    df
        Rows, some of them perhaps sent twice.
    by
        The columns that together are an event's id. Rows with a null in one of them have no id,
        and pass.
    within
        How long an id is remembered on the arrival clock after the last row that had it. Make it
        longer than senders go on sending again, and than partitions of the input are apart.
    time, arrival, unit, max_future_skew, shards
        As for `reorder`.
    quiet
        By how much the time at which ids are forgotten follows that of the input; None: only new
        rows make it pass.
    """
    df, arrival = with_arrival(df, arrival, step="dedupe")
    roles = Roles(time, arrival, key=column_names(by), unit=unit)
    roles.check(df.columns, step="dedupe")
    kernel = Dedupe(roles, within, max_future_skew)
    pause = None if quiet is None else micros(quiet, name="quiet")
    what = operator_spec(kernel, arrow_schema(df), pause, "dedupe")
    return carry(df, what, shards=shards)
