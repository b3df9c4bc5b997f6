"""A run's log: one JSON object a line, each with its time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from slackwater.core.plain import to_json

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
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._file.write(to_json({"at": now, **line}) + "\n")
        self._file.flush()

