"""What became of rows: the columns that every operator adds to those of its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import NEVER

__all__ = ["outcome", "outcome_schema"]

_STAMP = pa.timestamp("us", "UTC")


def outcome_schema(schema: pa.Schema) -> pa.Schema:
    """An input's schema with ``_reason`` and ``_released`` added."""
    return schema.append(pa.field("_reason", pa.string())).append(pa.field("_released", _STAMP))


def outcome(rows: pa.RecordBatch, reason: pa.Array | Sequence[Any] | NDArray[Any] | None,
            released: NDArray[np.int64]) -> pa.RecordBatch:
    """Rows with why and when they were let go; null where no clock could tell."""
    why = pa.nulls(rows.num_rows, pa.string()) if reason is None else pa.array(reason, pa.string())
    stamps = pa.array(released, pa.int64(), mask=released == NEVER).cast(_STAMP)
    return pa.RecordBatch.from_arrays([*rows.columns, why, stamps],
                                      schema=outcome_schema(rows.schema))
