"""Values as JSON can hold them: the one encoder of commands, files and logs.

Times are ISO text in UTC and end in ``Z`` (a time without a zone is UTC), durations are seconds,
NaN and infinities are null, bytes are hexadecimal.

Enters: values, also nested, as Arrow and numpy give them.  Leaves: what `json` writes.
May import: nothing of the package.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

__all__ = ["plain", "to_json"]


def to_json(value: Any, *, indent: int | None = None) -> str:
    """JSON text.

    Examples
    --------
    >>> to_json({"at": datetime(2024, 1, 1, 12), "share": float("nan")})
    '{"at": "2024-01-01T12:00:00Z", "share": null}'
    """
    return json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """The value, made of what JSON knows."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return moment.isoformat().replace("+00:00", "Z")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)  # a float would be another number
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if hasattr(value, "item"):  # numpy's scalars
        return plain(value.item())
    return str(value)
