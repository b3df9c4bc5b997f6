"""The log of a Delta table, version by version: which files were added, and whether any went."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs

from slackwater.core.errors import ConfigError, DataError

__all__ = ["Added", "DeltaLog"]

_READ = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "appendOnly"}
"""Features that ask nothing of those who only read files."""


@dataclass(frozen=True)
class Added:
    """A file that a version has added."""

    version: int
    index: int
    path: str
    size: int
    rows: int | None
    modified: int
    """In milliseconds."""
    partition: tuple[tuple[str, str | None], ...] = ()


class DeltaLog:
    """What a table's versions have added.

    Parameters
    ----------
    uri
        The table, as deltalake names it.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._seen: dict[int, tuple[Added, ...]] = {}

    def last(self) -> int:
        """The newest version."""
        return int(self._table().version())

    def check(self) -> None:
        """Refuse a table whose files are not its rows."""
        table = self._table()
        asked = {*(table.protocol().reader_features or ())} - _READ
        if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
            asked.add("columnMapping")
        if asked:
            raise ConfigError("the table asks more of its readers than to read its files",
                              step="delta", got=f"{self.uri}: {', '.join(sorted(asked))}",
                              hint="rewrite it without these features")

    def snapshot(self, version: int) -> tuple[Added, ...]:
        """The files that a version has, the oldest first."""
        table = self._table()
        table.load_as_version(version)
        found = sorted(pa.table(table.get_add_actions(flatten=False)).to_pylist(),
                       key=lambda add: (add["modification_time"], add["path"]))
        return tuple(Added(version, i, unquote(add["path"]), add["size_bytes"], add["num_records"],
                           add["modification_time"], _texts(add.get("partition") or {}))
                     for i, add in enumerate(found))

    def commit(self, version: int) -> tuple[Added, ...]:
        """The files that a version has added with new rows, in the order of the log.

        Raises
        ------
        DataError
            It has deleted or rewritten rows, or the log no longer has it.
        """
        if version not in self._seen:
            self._seen[version] = tuple(self._commit(version))
            for old in [v for v in self._seen if v < version - 100]:
                del self._seen[old]
        return self._seen[version]

    def _commit(self, version: int) -> Iterator[Added]:
        index = 0
        for action in self._actions(version):
            removed, added = action.get("remove"), action.get("add")
            if removed is not None and removed.get("dataChange", True):
                raise DataError(f"version {version} of the table deletes or rewrites rows",
                                step="delta", got=self.uri,
                                hint="only rows that are added can be read as a stream; begin with "
                                     "a new checkpoint to read the table as it is now")
            if added is None or not added.get("dataChange", True):
                continue  # files that were only put together: their rows have been read
            stats = json.loads(added.get("stats") or "{}")
            yield Added(version, index, unquote(added["path"]), added["size"],
                        stats.get("numRecords"), added["modificationTime"],
                        _texts(added.get("partitionValues") or {}))
            index += 1

    def _actions(self, version: int) -> Iterator[dict[str, Any]]:
        system, root = pyarrow.fs.FileSystem.from_uri(self.uri)
        path = f"{root.rstrip('/')}/_delta_log/{version:020d}.json"
        try:
            with system.open_input_stream(path) as file:
                text = file.read()
        except FileNotFoundError:
            raise DataError(f"the table's log no longer has version {version}", step="delta",
                            got=self.uri, hint="raise delta.logRetentionDuration; a new checkpoint "
                                               "begins with the table as it is now") from None
        for line in text.splitlines():
            yield json.loads(line)

    def _table(self) -> Any:
        import deltalake

        return deltalake.DeltaTable(self.uri)


def _texts(values: dict[str, Any]) -> tuple[tuple[str, str | None], ...]:
    return tuple((name, None if value is None else str(value)) for name, value in values.items())
