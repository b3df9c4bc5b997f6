"""One run per checkpoint: two would write over each other."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from pyspark.sql import SparkSession

from slackwater.core.errors import ConfigError
from slackwater.spark.run.far_folder import FarFolder

__all__ = ["locked", "near_lock"]


def near_lock(checkpoint: str) -> IO[str]:
    """Have a folder of this machine to oneself until the file is closed, or raise.

    A process that was killed holds no lock.
    """
    path = Path(checkpoint)
    path.parent.mkdir(parents=True, exist_ok=True)
    held = path.with_name(f"{path.name}.lock").open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        raise ConfigError("another run has this checkpoint", step="checkpoint", got=str(path),
                          hint="stop it first, or give this one another checkpoint: folder"
                          ) from None
    return held


@contextmanager
def locked(session: SparkSession, checkpoint: str) -> Iterator[None]:
    """Have a checkpoint to oneself, wherever it is."""
    far = FarFolder.of(session, checkpoint) if "://" in checkpoint else None
    if far is None:
        with closing(near_lock(checkpoint.removeprefix("file://"))):
            yield
        return
    with closing(far):
        far.lock()
        yield
