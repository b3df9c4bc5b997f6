"""Reorder on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.names import column_names
from slackwater.reorder import Policy, Reorder
from slackwater.spark.operators.arrival import with_arrival
from slackwater.spark.outcomes import in_order_per
from slackwater.spark.runner.carry import arrow_schema, carry
from slackwater.spark.runner.operator_spec import operator_spec

__all__ = ["reorder"]


def reorder(
    df: DataFrame,
    policy: Policy | str | None = None,
    *,
    time: str = "time",
    arrival: str | None = None,
    source: str | None = None,
    sequence: str | None = None,
    by: str | Sequence[str] = (),
    scope: str | Sequence[str] | None = None,
    unit: str | None = None,
    max_future_skew: Duration = "5 minutes",
    max_delay: Duration | None = None,
    align: bool = False,
    quiet: Duration | None = "10s",
    shards: int | None = None,
) -> DataFrame:
    """Put a streaming or batch DataFrame in time order, waiting as long as a policy says.

    Every input row comes out exactly once, with its own columns and ``_status`` (ready, late or
    quarantined), ``_reason`` and ``_released``; `ready`, `late` and `quarantined` split them.
    Ready rows leave in time order per key; `with_watermark` makes them fit for Spark's own
    event-time operators, and see `align` for what those ask of several keys.

    Parameters
    ----------
    df
        Rows to put in order.
    policy
        How long to wait: a `Policy` or its name, such as ``"MeanPlusRange"`` or ``"bsttda"``. None:
        with a source ``Tide``, else ``MeanPlusRange``.
    time
        Column of the time when the event happened.
    arrival
        Column of the time when the system received it (Kafka's record time, a gateway's stamp):
        then a replay gives the same result. Without it, a streaming row arrives when its
        micro-batch runs; a batch DataFrame needs one.
    source, sequence
        Columns of the producer and of its running number, for policies that look at them.
    by
        Key columns: each combination is put in order by itself.
    scope
        Key columns whose values share one estimate (see `Reorder`).
    unit
        Unit of integer times.
    max_future_skew, max_delay
        Bounds beyond which a row is quarantined (see `Reorder`).
    align
        Put all keys into one order with one estimate, so that Spark's own operators, which have one
        watermark for all keys (the greatest time that any of them released), lose no row of a
        slower key. All rows then share one state partition. Slackwater's own stages need no
        alignment: they have a watermark per key.
    quiet
        By how much a silent key's time follows that of the whole input: its rows leave as if time
        had passed. Real time counts only while the input has nothing more to give. None: they wait
        for the key's next row.
    shards
        Into how many parts the state of a streaming DataFrame is divided, fixed by the checkpoint:
        the most tasks that can share it. Default: 8, or spark.sql.shuffle.partitions if that is
        more. How many tasks share it can change (``slackwater state migrate``).
    """
    by = column_names(by)
    df, arrival = with_arrival(df, arrival, step="reorder")
    roles = Roles(time, arrival, source, sequence, key=by, unit=unit)
    roles.check(df.columns, step="reorder")
    if align:
        if scope is not None:
            raise ConfigError("aligned keys share one estimate; a scope has no say", step="reorder",
                              hint="leave out either align or scope")
        roles = replace(roles, key=())
    kernel = Reorder(policy, roles, None if scope is None else column_names(scope), max_future_skew,
                     max_delay)
    pause = None if quiet is None else micros(quiet, name="quiet")
    what = operator_spec(kernel, arrow_schema(df), pause, "reorder")
    return in_order_per(carry(df, what, shards=shards), roles.key)
