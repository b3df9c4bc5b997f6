"""Times without a zone are read as UTC: where the session has another, that is worth a word."""

from __future__ import annotations

import warnings

import pyarrow as pa
from pyspark.sql import SparkSession

from slackwater.spark.runner.operator_spec import Input, OperatorSpec

__all__ = ["warn_of_zone"]

_UTC = ("UTC", "Etc/UTC", "Z", "GMT", "+00:00")


def warn_of_zone(session: SparkSession, what: OperatorSpec, given: Input,
                 schema: pa.Schema) -> None:
    """Warn if a time column has no zone of its own and the session's zone is not UTC."""
    zone = session.conf.get("spark.sql.session.timeZone")
    if zone in _UTC:
        return
    kernel = getattr(what.kernel, "chain", what.kernel)
    roles = getattr(getattr(kernel, "reorder", kernel), "roles", None)
    named = [given.arrival, getattr(roles, "time", None)]
    for name in dict.fromkeys(n for n in named if n is not None and n in schema.names):
        kind = schema.field(name).type
        if (pa.types.is_timestamp(kind) and kind.tz is None) or _is_text(kind):
            warnings.warn(
                f"{what.step}: {name!r} ({'text' if _is_text(kind) else 'timestamp_ntz'}) has no "
                f"zone of its own and is read as UTC, while the session's zone is {zone}; cast it "
                "to timestamp if it is in that zone, or set spark.sql.session.timeZone to UTC",
                UserWarning, stacklevel=4)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
