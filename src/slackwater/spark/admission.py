"""How much a streaming source may read at once, in the words of the Spark that is there.

Since 4.2 Spark tells a source in Python where the next micro-batch starts and how much it may have,
and asks it where a run with availableNow is to end.  Spark 4.1 asks for the latest offset and no
more: there the classes below stand for those that it lacks, and `start` is None in `latestOffset`.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

__all__ = ["BOUNDED", "ReadAllAvailable", "ReadLimit", "ReadMaxRows",
           "SupportsTriggerAvailableNow"]

BOUNDED = importlib.util.find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether sources in Python can be told how much to read."""

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
else:
    try:
        from pyspark.sql.streaming.datasource import (
            ReadAllAvailable,
            ReadLimit,
            ReadMaxRows,
            SupportsTriggerAvailableNow,
        )
    except ImportError:
        class ReadLimit:
            """A limit."""

        class ReadAllAvailable(ReadLimit):
            """None."""

        @dataclass
        class ReadMaxRows(ReadLimit):
            """So many rows."""

            max_rows: int

        class SupportsTriggerAvailableNow:
            """Spark 4.1 asks nobody: it takes the first latest offset for the end."""
