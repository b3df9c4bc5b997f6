"""A run log as a file: find it, read it, follow it while it grows."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slackwater.core.errors import ConfigError, DataError

__all__ = ["LogReader", "find_log", "follow"]

_LINE = 1 << 24  # bytes: a longer line is no line of ours


def find_log(run: Path) -> Path:
    """The log of a run: the file itself, or the one of a folder that was written last."""
    if not run.is_dir():
        return run
    logs = [file for file in (*run.glob("*.jsonl"), *run.glob("*/*.jsonl")) if _is_log(file)]
    if not logs:
        raise ConfigError("has no run log", step=str(run), expected="a file *.jsonl of a run",
                          hint="write one with metrics: {log: run.jsonl} in the pipeline file")
    return max(logs, key=lambda file: file.stat().st_mtime)


def _is_log(file: Path) -> bool:
    with file.open("rb") as lines:
        first = _object(lines.readline(_LINE))
    return first is not None and first["event"] == "start"


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and {"at", "event"} <= found.keys() else None


class LogReader:
    """Reads what a log has gained since the last time.

    Parameters
    ----------
    path
        The file; it need not be there yet.
    take
        Called with each whole line.
    """

    def __init__(self, path: Path, take: Callable[[dict[str, Any]], None]) -> None:
        self._path, self._take = path, take
        self._place, self._which = 0, -1
        self._rest = b""
        self.lines = self.skipped = 0

    def read(self) -> int:
        """Take the lines that are new and whole; how many."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return 0
        before = self.lines
        with file:
            found = self._path.stat()
            if found.st_ino != self._which or found.st_size < self._place:
                # another file by this name, or one that was cut: from its start
                self._place, self._which, self._rest = 0, found.st_ino, b""
            file.seek(self._place)
            while block := file.readline(_LINE):
                self._place += len(block)
                self._rest += block
                if not block.endswith(b"\n"):
                    if len(self._rest) > _LINE:
                        self._rest = b""
                    continue
                line, self._rest = _object(self._rest), b""
                if line is None:
                    self.skipped += 1
                else:
                    self.lines += 1
                    self._take(line)
        return self.lines - before

    def check(self) -> None:
        """Raise if what was read is no run log."""
        if not self._path.exists():
            raise DataError("there is no such run log", step=str(self._path),
                            hint="a run writes it with metrics: {log: run.jsonl}")
        if not self.lines:
            raise DataError("is not a run log", step=str(self._path),
                            expected='lines such as {"at": …, "event": "start", …}')


@contextmanager
def follow(reader: LogReader, every: float = 0.5) -> Iterator[None]:
    """While the context lasts: what the log gains is read, in a thread."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(every):
            reader.read()

    thread = threading.Thread(target=run, name="slackwater-log", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
