"""Small files of the log folder, each replaced whole or not at all: the end and the readers."""

from __future__ import annotations

import json
import os
import re
import struct
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slackwater.core.errors import ConfigError, DataError

__all__ = ["End", "Place", "commit", "committed", "folder_made", "folder_synced",
           "read_end", "reader_name", "readers"]

_END = struct.Struct("<8sqqqI")
_MAGIC = b"SWEND\x00\x00\x01"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.~-]{0,199}")


@dataclass(frozen=True, order=True)
class Place:
    """A place between two records: the number of the next one, and where its frame begins.

    `segment` and `byte` spare a reader the search: `byte` is that of the frame that holds the
    record, or the segment's end where there is none yet.
    """

    record: int
    segment: int
    byte: int

    def to_json(self) -> dict[str, int]:
        """As a Spark offset, or a reader's file."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Place:
        """The reverse of `to_json`."""
        return cls(int(found["record"]), int(found["segment"]), int(found["byte"]))


class End:
    """The log's durable end, told to readers in other processes; never ahead of the disk.

    It is written over after every fsync of the log and before anyone is told, and not fsynced
    itself: after a power cut it may be old, and the gateway's recovery moves it on.
    """

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "end", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)

    def tell(self, place: Place) -> None:
        """Let readers go up to `place`."""
        plain = _END.pack(_MAGIC, place.record, place.segment, place.byte, 0)[:-4]
        os.pwrite(self._file, plain + struct.pack("<I", zlib.crc32(plain)), 0)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def read_end(folder: Path) -> Place | None:
    """The log's durable end as its gateway last told it, or None where there is none."""
    for _ in range(100):
        try:
            data = (folder / "end").read_bytes()
        except FileNotFoundError:
            return None
        if not data:
            return None
        if len(data) == _END.size:
            magic, record, segment, byte, crc = _END.unpack(data)
            if magic == _MAGIC and crc == zlib.crc32(data[:-4]):
                return Place(record, segment, byte)
        time.sleep(0.001)  # seen in the middle of being written
    raise DataError("the log's end cannot be read", step="gateway", got=str(folder / "end"),
                    hint="start the gateway on this log: it finds the end by itself")


def reader_name(name: str) -> str:
    """`name` if it can be that of a reader: it becomes part of a file's name."""
    if not _NAME.fullmatch(name):
        raise ConfigError("cannot be a reader's name", step="reader",
                          expected="letters, digits, _ . - ~ (at most 200)", got=repr(name))
    return name


def folder_synced(folder: Path) -> None:
    """Make the folder's own entries durable: names that came, went or changed."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def folder_made(folder: Path) -> None:
    """Make a folder and those above it, and make their names durable."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        folder_synced(one.parent)


def commit(folder: Path, name: str, place: Place) -> None:
    """Note, durably, that `name` needs nothing before `place` any more."""
    home = folder / "readers"
    folder_made(home)
    draft = home / f".{reader_name(name)}.{os.getpid()}"
    with draft.open("w") as file:
        json.dump(place.to_json(), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(home / f"{name}.json")
    folder_synced(home)


def committed(folder: Path, name: str) -> Place | None:
    """Where `name` has got to, or None if nobody of that name has registered."""
    file = folder / "readers" / f"{reader_name(name)}.json"
    try:
        return Place.from_json(json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise DataError("a reader's position cannot be read", step="gateway", got=str(file),
                        expected='{"record": …, "segment": …, "byte": …}',
                        hint="remove the file if that reader is gone for good") from error


def readers(folder: Path) -> dict[str, Place]:
    """Every registered reader with its position; one that cannot be read holds everything."""
    found: dict[str, Place] = {}
    for file in sorted((folder / "readers").glob("*.json")):
        if _NAME.fullmatch(file.stem):  # else it is no reader's: somebody's own file, a draft
            try:
                place = committed(folder, file.stem)
            except DataError:
                place = Place(0, 0, 0)
            if place is not None:
                found[file.stem] = place
    return found
