"""The readers of a log, for people: where they are, whether they live, and how to forget one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.gateway.keep import bytes_after
from slackwater.gateway.leases import away
from slackwater.gateway.places import readers
from slackwater.gateway.read import LogReader
from slackwater.gateway.segments import Segment, segments
from slackwater.gateway.slots import is_held, remove_reader

__all__ = ["Reader", "forget", "list_readers"]


@dataclass(frozen=True)
class Reader:
    """A name that retention waits for.

    Parameters
    ----------
    name
        Its name.
    record
        The next record that it reads.
    behind
        Bytes that it has not committed.
    held
        Whether a process reads under this name now.
    away
        Seconds without one, as the gateway has counted them.
    """

    name: str
    record: int
    behind: int
    held: bool
    away: float

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def list_readers(folder: Path) -> list[Reader]:
    """Every registered reader of a log."""
    LogReader(folder)  # a wrong folder is said here
    files = [Segment(p, int(p.stem), p.stat().st_size, int(p.stem)) for p in segments(folder)]
    gone = away(folder)
    return [Reader(name, place.record, bytes_after(place, files), is_held(folder, name),
                   gone.get(name, 0.0))
            for name, place in readers(folder).items()]


def forget(folder: Path, name: str) -> None:
    """Remove a reader.

    Raises
    ------
    ConfigError
        If there is none of that name, or a process reads under it now.
    """
    known = [reader.name for reader in list_readers(folder)]
    if name not in known:
        raise ConfigError(f"there is no reader {name!r}", step="readers", got=str(folder),
                          expected=", ".join(known) or "none at all",
                          hint=did_you_mean(name, known))
    if not remove_reader(folder, name):
        raise ConfigError(f"the reader {name!r} is at work", step="readers", got=str(folder),
                          hint="stop the pipeline that reads under this name first")
