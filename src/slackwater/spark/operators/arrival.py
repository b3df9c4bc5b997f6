"""The arrival column of a DataFrame, stamped where the data has none."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from slackwater.core.errors import ConfigError
from slackwater.core.names import ARRIVAL

__all__ = ["with_arrival"]


def with_arrival(df: DataFrame, arrival: str | None, *, step: str) -> tuple[DataFrame, str]:
    """The DataFrame and the name of its arrival column.

    A streaming row without one arrives when its micro-batch runs.  That moment is the same for all
    rows of the micro-batch and is kept in the offset log, so that a replay repeats it.
    """
    if arrival is not None:
        return df, arrival
    if not df.isStreaming:
        raise ConfigError(
            "a batch DataFrame has no order of its own", step=step,
            expected="arrival=, the column of the time when each row was received",
            hint="if it was never recorded, arrival=time gives plain sorting")
    for name in df.columns:
        if name.casefold() == ARRIVAL:
            raise ConfigError(
                f"the input has a column {name!r}, where operators write the time of arrival",
                step=step, expected="another name, or this column as the arrival",
                hint=f"rename it, or say arrival={name!r}")
    return df.withColumn(ARRIVAL, F.current_timestamp()), ARRIVAL
