"""What Spark has written down about a query: which micro-batches it planned, and which are done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from slackwater.core.errors import ConfigError
from slackwater.spark.run.far_folder import FarFolder

__all__ = ["QueryLog", "query_logs"]

_PARTITIONS = "spark.sql.shuffle.partitions"


class _Folder(Protocol):
    def names(self, folder: str) -> list[str]:
        """What is in a folder; nothing if there is none."""

    def text(self, name: str) -> str | None:
        """What is in a file; None: there is none."""


class _NearFolder:
    """A folder of this machine."""

    def __init__(self, path: str) -> None:
        self._at = Path(path.removeprefix("file://"))

    def names(self, folder: str) -> list[str]:
        """What is in a folder."""
        at = self._at / folder
        return sorted(one.name for one in at.iterdir()) if at.is_dir() else []

    def text(self, name: str) -> str | None:
        """What is in a file."""
        at = self._at / name
        return at.read_text() if at.exists() else None


def folder_of(session: SparkSession, address: str) -> _Folder:
    """The folder, wherever it is."""
    if "://" not in address or address.startswith("file://"):
        return _NearFolder(address)
    far = FarFolder.of(session, address)
    if far is None:
        raise ConfigError("Spark Connect gives no access to its file systems", step="checkpoint",
                          got=address, hint="use a classic session: --master")
    return far


class QueryLog:
    """The offset and commit logs in a query's checkpoint.

    Parameters
    ----------
    session
        To get at file systems that are not this machine's.
    address
        The folder that the query was given as its checkpointLocation.
    """

    def __init__(self, session: SparkSession, address: str) -> None:
        self.address = address
        self._folder = folder_of(session, address)

    @property
    def planned(self) -> int | None:
        """The last micro-batch whose offsets were written down."""
        return self._last("offsets")

    @property
    def done(self) -> int | None:
        """The last one that was committed."""
        return self._last("commits")

    @property
    def pending(self) -> bool:
        """Whether a planned micro-batch is not done: the next start runs it again."""
        return self.planned is not None and self.planned != self.done

    @property
    def partitions(self) -> int | None:
        """How many state partitions the last planned micro-batch has; None: nothing ran yet."""
        if self.planned is None:
            return None
        lines = (self._folder.text(f"offsets/{self.planned}") or "").splitlines()
        try:
            found = json.loads(lines[1])["conf"].get(_PARTITIONS)
        except (IndexError, ValueError, KeyError):
            return None  # Spark died as it wrote, and will plan the micro-batch anew
        return None if found is None else int(found)

    @property
    def has_state(self) -> bool:
        """Whether one of its operators keeps a state."""
        return any(name.isdigit() for name in self._folder.names("state"))

    def _last(self, log: str) -> int | None:
        return max((int(name) for name in self._folder.names(log) if name.isdigit()), default=None)


def query_logs(session: SparkSession, checkpoint: str) -> dict[str, QueryLog]:
    """The queries in a pipeline's checkpoint folder, or the one whose folder it is, by name."""
    root = folder_of(session, checkpoint)
    if not root.names(""):
        raise ConfigError("there is no such checkpoint folder, or it is empty", step="state",
                          got=checkpoint)
    bare = checkpoint.rstrip("/")
    names = root.names("queries")
    found = ({name: QueryLog(session, f"{bare}/queries/{name}") for name in names} if names else
             {bare.rpartition("/")[2]: QueryLog(session, bare)})
    found = {name: log for name, log in found.items() if log.has_state}
    if not found:
        raise ConfigError("no query with a state has run with this checkpoint", step="state",
                          got=checkpoint,
                          hint="give the checkpoint: folder of a pipeline file, or that of a query")
    return found
