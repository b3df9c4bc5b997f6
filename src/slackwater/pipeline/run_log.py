"""A run's log: one JSON object per line, each with its time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from slackwater.core.plain import plain, to_json

__all__ = ["RunLog", "stamped"]


def stamped(line: Mapping[str, Any]) -> dict[str, Any]:
    """The line with the time in front, made of what JSON can hold."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"at": now, **plain(dict(line))}


class RunLog:
    """Appends lines to a file; each is whole when `write` returns."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> RunLog:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # half a character in a producer's name must not end the run
        self._file = self._path.open("a", encoding="utf-8", errors="replace")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._file.close()

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one object, as `stamped` makes it."""
        self._file.write(to_json(line) + "\n")
        self._file.flush()
