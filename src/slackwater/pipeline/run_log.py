"""A run's log: one JSON object a line, each with its time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["RunLog"]


class RunLog:
    """Appends lines to a file; each is whole when `write` returns."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> RunLog:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a", encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._file.close()

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one object, with the time in front."""
        whole = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **line}
        self._file.write(json.dumps(_finite(whole), ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return value
