"""Correlate two streams of intervals on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from slackwater.core.durations import LONGEST, Duration
from slackwater.core.events import Roles
from slackwater.core.names import BUCKET, column_names
from slackwater.correlate import Correlate
from slackwater.correlate.rows import check_key_types, split_by
from slackwater.spark.operators.arrival import with_arrival
from slackwater.spark.runner.carry import arrow_schema, carry
from slackwater.spark.runner.operator_spec import operator_spec

__all__ = ["correlate"]


def correlate(
    left: DataFrame,
    right: DataFrame,
    *,
    within: Duration | None = None,
    deadline: Duration | None = None,
    delay: Duration | None = None,
    confidence: float = 0.8,
    by: str | Sequence[str | tuple[str, str]] = (),
    time_min: str = "time_min",
    time_max: str = "time_max",
    arrival: str | None = None,
    unit: str | None = None,
    distribution: Any = "uniform",
    max_delay: Duration | tuple[Duration, Duration] = "10s",
    shortest: Duration = 0,
    longest: Duration = "1 minute",
    horizon: Duration | None = None,
    probability: bool = False,
    shards: int | None = None,
) -> DataFrame:
    """Pair the rows of two DataFrames whose times, each an interval, satisfy a timing condition.

    Both streaming, or both batch.  Each pair is a row with the columns of both sides (names that
    clash get ``_left`` and ``_right``) and ``probability``; its ``_status`` is "ready".  Late and
    quarantined rows come whole in ``_left_row`` or ``_right_row``, with the reason.

    Parameters
    ----------
    left, right
        The two sides.
    within, deadline, delay
        The condition, one of the three: |left − right| ≤ d, left + d ≥ right, left + d ≤ right.
    confidence
        The probability with which it must hold.
    by
        Columns that must be equal: names, or (left name, right name). Without any, the work is
        spread over the cluster by overlapping buckets of time, and each pair is found once.
    time_min, time_max, arrival, unit
        Columns of both sides: earliest and latest time, time of receipt (see `reorder`).
    distribution
        How the time is distributed over the interval, for both sides or (left, right).
    max_delay
        How long after its latest time a row may arrive, for both sides or (left, right).
    shortest, longest
        The lengths that an interval may have.
    horizon
        Needed for deadline and delay: rows further apart do not pair.
    probability
        Compute it for every pair; else it is null where the bounds decided without it.
    shards
        As for `reorder`.
    """
    if left.isStreaming or arrival is not None:
        left, stamp = with_arrival(left, arrival, step="correlate")
        right, _ = with_arrival(right, arrival, step="correlate")
    else:
        stamp = None  # in a batch without arrivals nothing is late
    roles = Roles(time_max, stamp, time_min=time_min, time_max=time_max, unit=unit)
    for df in (left, right):
        roles.check(df.columns, step="correlate")
    config = Correlate(
        within, deadline, delay, confidence, column_names(by), roles,
        distribution, max_delay if stamp is not None else LONGEST, shortest, longest, horizon,
        probability=probability)
    if config.by:
        keys = split_by(config.by)
        for df, names in zip((left, right), keys, strict=True):
            Roles(time_max, key=names).check(df.columns, step="correlate")
        check_key_types(arrow_schema(left), arrow_schema(right), config.by)
    what = operator_spec(config, arrow_schema(left), None, "correlate")
    pairs = carry((left, right), what, shards=shards)
    return pairs if config.by else pairs.drop(BUCKET, f"{BUCKET}_left", f"{BUCKET}_right")
