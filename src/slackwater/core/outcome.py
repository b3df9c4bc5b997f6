"""What became of rows: the columns that every operator adds to those of its input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import NEVER
from slackwater.core.state.ipc import joined

__all__ = ["Refused", "in_order", "outcome", "outcome_schema"]

Int64 = NDArray[np.int64]
_STAMP = pa.timestamp("us", "UTC")


def outcome_schema(schema: pa.Schema) -> pa.Schema:
    """An input's schema with ``_reason`` and ``_released`` added."""
    return schema.append(pa.field("_reason", pa.string())).append(pa.field("_released", _STAMP))


def outcome(rows: pa.RecordBatch, reason: pa.Array | Sequence[Any] | NDArray[Any] | None,
            released: Int64) -> pa.RecordBatch:
    """Rows with why and when they were let go; null where no clock could tell."""
    why = pa.nulls(rows.num_rows, pa.string()) if reason is None else pa.array(reason, pa.string())
    stamps = pa.array(released, pa.int64(), mask=released == NEVER).cast(_STAMP)
    return pa.RecordBatch.from_arrays([*rows.columns, why, stamps],
                                      schema=outcome_schema(rows.schema))


@dataclass(frozen=True)
class Refused:
    """Quarantined rows, with the columns that say why and when.

    Parameters
    ----------
    rows
        The rows.
    by
        The number of the arrival that made each be refused, or of the next one to come.
    place
        Where in the input that was; None for those that had been taken before.
    """

    rows: pa.RecordBatch
    by: Int64
    place: Int64 | None = None


def in_order(parts: Sequence[Refused]) -> pa.RecordBatch:
    """All of them, in the order in which they were refused, wherever the input was cut."""
    rows = joined([part.rows for part in parts])
    if len(parts) == 1 and parts[0].place is not None:
        return rows
    by = np.concatenate([part.by for part in parts])
    place = np.concatenate([np.full(len(part.by), np.iinfo(np.int64).max)
                            if part.place is None else part.place for part in parts])
    order = np.lexsort((place, by))
    return rows.take(pa.array(order))
