"""The arrival column of a DataFrame, stamped where the data has none."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from slackwater.core.errors import ConfigError

__all__ = ["with_arrival"]

_STAMP = "_arrival"


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
    return df.withColumn(_STAMP, F.current_timestamp()), _STAMP
