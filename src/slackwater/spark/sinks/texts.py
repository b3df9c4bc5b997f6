"""How sinks write values as text: with all that the rows have."""

from __future__ import annotations

__all__ = ["JSON", "TIMES"]

_MICROS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"

# Spark's own formats end at the milliseconds
TIMES = {"timestampFormat": f"{_MICROS}XXX", "timestampNTZFormat": _MICROS}
"""Spark's options for times with and without a zone."""

JSON = {**TIMES, "ignoreNullFields": "false"}
"""Its options for JSON: a field that is null is told as such."""
