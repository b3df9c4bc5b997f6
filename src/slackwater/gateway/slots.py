"""Who reads under which name: a lock file per reader, held by one process at a time."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from slackwater.core.errors import ConfigError
from slackwater.gateway.places import (
    Place,
    commit,
    committed,
    folder_made,
    folder_synced,
    reader_name,
)

__all__ = ["Slot", "is_held", "remove_reader"]

_PAUSE, _LEAST_PATIENCE = 0.05, 0.2  # longer than anybody's look at a lock takes


class Slot:
    """A reader's name, held by one process at a time.

    Two scans of one log in one Spark query have the same name and different positions.  The second
    gets the name with `~2`, so that retention waits for both.  Before it does, it waits a while:
    the holder may be the run before this one, about to end.

    Parameters
    ----------
    folder
        The log.
    name
        The reader.
    patience
        Seconds to wait for the name itself.
    """

    def __init__(self, folder: Path, name: str, *, patience: float = 3.0) -> None:
        folder_made(folder / "readers")
        self._folder = folder
        for number in range(1, 1000):
            self.name = reader_name(name if number == 1 else f"{name}~{number}")
            lock = _locked(folder, self.name, patience if number == 1 else _LEAST_PATIENCE)
            if lock is not None:
                self._lock = lock
                return
        raise ConfigError("has too many readers of the same name", step="gateway", got=name)

    def start(self, place: Place) -> None:
        """Hold what is at or after `place`; never lets go of more than was let go before."""
        known = committed(self._folder, self.name)
        if known is None or place < known:
            commit(self._folder, self.name, place)

    def commit(self, place: Place) -> None:
        """Let go of what is before `place`."""
        commit(self._folder, self.name, place)

    def close(self) -> None:
        """Let another process have the name."""
        os.close(self._lock)


def is_held(folder: Path, name: str) -> bool:
    """Whether a process has the reader's lock now."""
    try:
        handle = os.open(_lock_file(folder, name), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)


def remove_reader(folder: Path, name: str, *, patience: float = _LEAST_PATIENCE) -> bool:
    """Forget a reader, so that retention does not wait for it; False if a process reads under it.

    The lock is held meanwhile: a process that starts now registers after this, not in between.
    """
    home = folder / "readers"
    folder_made(home)
    lock = _locked(folder, reader_name(name), patience)
    if lock is None:
        return False
    try:
        (home / f"{name}.json").unlink(missing_ok=True)
        _lock_file(folder, name).unlink(missing_ok=True)
        folder_synced(home)
    finally:
        os.close(lock)
    return True


def _lock_file(folder: Path, name: str) -> Path:
    return folder / "readers" / f"{name}.lock"


def _locked(folder: Path, name: str, patience: float) -> int | None:
    """The open lock file of a name, locked by this process alone; None if another one has it."""
    file, until = _lock_file(folder, name), time.monotonic() + patience
    while True:
        handle = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            if time.monotonic() >= until:
                return None
            time.sleep(_PAUSE)
            continue
        # whoever removed the name meanwhile removed this file: its lock keeps nobody out
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(file)):
                return handle
        os.close(handle)
