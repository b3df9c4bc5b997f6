"""A few rows for people to look at: bounded, whatever the rows hold.

Enters: rows as Arrow or Spark has them.  Leaves: what JSON can hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from slackwater.core.plain import plain

__all__ = ["brief", "brief_rows"]

_TEXT, _LIST, _FIELDS, _DEEP = 120, 20, 24, 4


def brief_rows(rows: pa.RecordBatch, most: int, without: tuple[str, ...] = ()) -> list[Any]:
    """The last rows of a batch.

    Examples
    --------
    >>> brief_rows(pa.RecordBatch.from_pydict({"a": [1, 2, 3]}), 2)
    [{'a': 2}, {'a': 3}]
    """
    kept = [name for name in rows.schema.names if name not in without][:_FIELDS]
    last = rows.select(kept).slice(max(rows.num_rows - most, 0))
    return [brief(row) for row in last.to_pylist()]


def brief(value: Any, depth: int = 0) -> Any:
    """A value, cut where it is long.

    Examples
    --------
    >>> brief({"a": "x" * 200})["a"][-3:]
    'xx…'
    """
    if isinstance(value, Mapping):
        if depth >= _DEEP:
            return "…"
        return {str(name)[:_TEXT]: brief(inner, depth + 1)
                for name, inner in list(value.items())[:_FIELDS]}
    if isinstance(value, (list, tuple)):
        if depth >= _DEEP:
            return "…"
        return [brief(inner, depth + 1) for inner in value[:_LIST]]
    value = plain(value)
    return value[:_TEXT] + "…" if isinstance(value, str) and len(value) > _TEXT else value
