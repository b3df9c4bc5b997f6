"""Synchronise on Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from slackwater.core.durations import Duration, micros
from slackwater.core.events import Roles
from slackwater.core.names import column_names
from slackwater.spark.operators.arrival import with_arrival
from slackwater.spark.outcomes import in_order_per
from slackwater.spark.runner.carry import arrow_schema, carry
from slackwater.spark.runner.operator_spec import operator_spec
from slackwater.synchronise import method_named

__all__ = ["synchronise"]


def synchronise(
    df: DataFrame,
    *,
    time: str = "time",
    source: str = "source",
    arrival: str | None = None,
    by: str | Sequence[str] = (),
    sources: Sequence[str] | None = None,
    max_delay: Duration | None = "10s",
    max_failures: int | None = 3,
    blame: str = "missing",
    method: str = "frontier",
    unit: str | None = None,
    max_future_skew: Duration = "5 minutes",
    quiet: Duration | None = "10s",
    shards: int | None = None,
) -> DataFrame:
    """Bring many sources, each in order in itself, into one order (see `slackwater.synchronise`).

    A row leaves when every live source has shown one at or after it.  Every input row comes out
    exactly once, as from `reorder`.

    Parameters
    ----------
    df
        A streaming or batch DataFrame.
    time, source, arrival
        Columns of the time, the producer and the time of receipt (see `reorder`).
    by
        Key columns: each combination of values is synchronised by itself.
    sources
        The sources to wait for from the start; None: a source is waited for once it has appeared.
    max_delay
        A row that has waited longer leaves without the sources that it waits for.
    max_failures
        A source that was waited for in vain so often is left out until it comes back.
    blame
        Whose failure it is when a row has waited too long: "missing", the sources that it waited
        for, or "producer", its own.
    method
        "frontier", or one of the paper's: see `slackwater.synchronise.METHODS`.
    unit, max_future_skew, quiet, shards
        As for `reorder`.
    """
    by = column_names(by)
    df, arrival = with_arrival(df, arrival, step="synchronise")
    roles = Roles(time, arrival, source, key=by, unit=unit)
    roles.check(df.columns, step="synchronise")
    kernel = method_named(method)(
        roles, None if sources is None else tuple(sources), max_delay, max_failures,
        blame,  # type: ignore[arg-type]
        max_future_skew=max_future_skew)
    pause = None if quiet is None else micros(quiet, name="quiet")
    what = operator_spec(kernel, arrow_schema(df), pause, "synchronise")
    return in_order_per(carry(df, what, shards=shards), roles.key)
