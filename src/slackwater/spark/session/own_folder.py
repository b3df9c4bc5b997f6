"""Folders for programs that this package starts: nobody else may be able to change those."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from pathlib import Path

__all__ = ["is_own", "own_folder"]


def own_folder(name: str) -> Path:
    """A folder that only this user can write to, kept where the user's caches are.

    A fixed name in the shared temporary folder could be somebody else's already, with a program of
    theirs in it.  Where there is no home, a new folder with a name that nobody can guess is made
    for this process.
    """
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        for part in ("slackwater", name):
            folder = folder / part
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_own(folder):
                raise PermissionError(folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(folder)
        return folder
    except (OSError, RuntimeError):
        made = Path(tempfile.mkdtemp(prefix=f"slackwater-{name}-"))
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        return made


def is_own(path: Path) -> bool:
    """Whether this user owns it, nobody else can change it, and it is no link elsewhere."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return (not stat.S_ISLNK(found.st_mode) and found.st_uid == os.getuid()
            and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
