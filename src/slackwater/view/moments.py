"""The times in a result: what a time line draws."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

__all__ = ["epoch", "moments"]

_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MOST = 40


def epoch(text: str) -> float | None:
    """Seconds since 1970 of an ISO time with a zone; None: it is none.

    Examples
    --------
    >>> epoch("1970-01-01T00:01:00Z"), epoch("<b>")
    (60.0, None)
    """
    if not _ISO.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def moments(row: Any) -> list[float]:
    """The times of a match's events, or else those anywhere in a row; of very many the first.

    Examples
    --------
    >>> moments({"at": "1970-01-01T00:00:09Z", "events": {"a": {"time": "1970-01-01T00:00:01Z"}}})
    [1.0]
    >>> moments({"from": "1970-01-01T00:00:09Z", "to": ["1970-01-01T00:00:01Z"]})
    [1.0, 9.0]
    """
    events = row.get("events") if isinstance(row, dict) else None
    named = [] if not isinstance(events, dict) else [
        event["time"] for one in events.values()
        for event in (one if isinstance(one, list) else [one])
        if isinstance(event, dict) and "time" in event]
    return sorted(set(_found(named)) or set(_found(row)))[:_MOST]


def _found(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _found(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _found(inner)
    elif isinstance(value, str) and (at := epoch(value)) is not None:
        yield at
