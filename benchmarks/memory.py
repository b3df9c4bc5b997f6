"""The memory of a process and of all that it started, sampled while it runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


class PeakMemory(threading.Thread):
    """`peaks` has the greatest resident size of each process, in bytes, by kind.

    The kinds: ``jvm`` (Spark's driver, and in an embedded session its executor), ``worker`` (Python
    processes of Spark's) and ``driver`` (the Python process that was started).
    """

    def __init__(self, root: int, every: float = 0.2) -> None:
        super().__init__(daemon=True)
        self._root, self._every, self._done = root, every, threading.Event()
        self.peaks: dict[str, int] = {}

    def run(self) -> None:
        while not self._done.wait(self._every):
            for pid in _tree(self._root):
                try:
                    size = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
                    program = Path(f"/proc/{pid}/exe").readlink().name
                except (OSError, IndexError):
                    continue  # it has ended
                kind = "driver" if pid == self._root else (
                    "jvm" if program == "java" else "worker")
                self.peaks[kind] = max(size, self.peaks.get(kind, 0))

    def stop(self) -> None:
        self._done.set()
        self.join()


def _tree(root: int) -> Iterable[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])
