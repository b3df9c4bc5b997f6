"""A log folder belongs to one process at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from slackwater.core.errors import ConfigError

__all__ = ["locked", "said_clearly"]


@contextmanager
def said_clearly(folder: Path) -> Iterator[None]:
    """What the system says of a folder that cannot be used, as an error of the configuration."""
    try:
        yield
    except OSError as problem:
        raise ConfigError("the log cannot be opened", step="gateway log",
                          got=f"{folder}: {problem.strerror}",
                          expected="a folder on a disk with some room, that this user may change"
                          ) from problem


def locked(folder: Path) -> int:
    """The folder's open lock file, held by this process until it is closed.

    Raises
    ------
    ConfigError
        If another process has it.
    """
    handle = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(handle, 20, 0).decode(errors="replace") or "unknown"
        os.close(handle)
        raise ConfigError("another gateway has this log open", step="gateway log",
                          got=f"{folder}, process {owner}",
                          hint="stop it, or give this one a folder of its own") from None
    with suppress(OSError):  # on a full disk nobody is told who has it; the lock holds all the same
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle
