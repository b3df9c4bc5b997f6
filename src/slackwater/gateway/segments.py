"""The segments of a log folder: what is there, whether it is sound, where a torn tail is cut."""

from __future__ import annotations

import logging
import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from slackwater.core.errors import DataError
from slackwater.gateway.frames import (
    FRAME,
    SEGMENT,
    Bytes,
    Frame,
    Head,
    frame_size,
    next_sound,
    open_frame,
    segment_start,
    walk,
)
from slackwater.gateway.places import folder_synced

__all__ = ["Recovered", "Segment", "recover", "segment_path", "segments", "tail",
           "verify"]

_log = logging.getLogger("slackwater.gateway")
_TORN_BYTES = 64 << 20


@dataclass
class Segment:
    """A file of the log; `end` and `last_arrival` are known once it has been gone through."""

    path: Path
    base: int
    size: int
    end: int
    last_arrival: int = 0


@dataclass
class Recovered:
    """What a log was found to hold."""

    segments: list[Segment]
    cut_bytes: int


def segment_path(folder: Path, base: int) -> Path:
    """The file of the segment that starts with record `base`."""
    return folder / f"{base:020d}.log"


def segments(folder: Path) -> list[Path]:
    """The segments' files in order."""
    return sorted(p for p in folder.glob("*.log") if p.stem.isdigit())


def recover(folder: Path, *, verify_all: bool = True) -> Recovered:
    """Go through the log, cut a torn tail, refuse damage anywhere else.

    Parameters
    ----------
    folder
        The log.
    verify_all
        Check every frame of every segment, not only of the last one.

    Raises
    ------
    DataError
        If a record that was durable is damaged or missing; it names the segment and the byte.
    """
    found: list[Segment] = []
    cut = 0
    files = segments(folder)
    for number, path in enumerate(files):
        last = number == len(files) - 1
        # where a crash left the last one without its header, the end is that of the one before
        whole = verify_all or last or _begun(files[number + 1])[0] is None
        data = _mapped(path) if whole else _headed(path)
        head = segment_start(data)
        if head is None:
            if not last or next_sound(data, 0) is not None:
                raise _damaged(path, 0, "its header is damaged")
            cut += _set_aside(path, 0)  # a crash came while the segment was being made
            break
        if head.base != int(path.stem) or (found and head.after != found[-1].end):
            expected = f"records from {found[-1].end if found else int(path.stem)} on"
            raise _damaged(path, 0, "a segment before it is missing or does not belong here",
                           expected=expected)
        segment = Segment(path, head.base, SEGMENT, head.base)
        if whole:
            frame = None
            for frame in walk(data, SEGMENT, head.base):
                segment.size, segment.end = frame.end_byte, frame.end
            if frame is not None:
                segment.last_arrival = int(open_frame(data, frame).arrivals[-1])
            if segment.size < len(data):
                behind = next_sound(data, segment.size + 1)
                if not last or behind is not None:
                    raise _damaged(path, segment.size, "a record before the tail is damaged")
                cut += _set_aside(path, segment.size)
        else:
            following, arrival = _begun(files[number + 1])
            segment.size = path.stat().st_size
            segment.end = head.base if following is None else following.after
            # the next one's first arrival is no earlier than this one's last
            segment.last_arrival = arrival or int(path.stat().st_mtime * 1e6)
        found.append(segment)
    return Recovered(found, cut)


def verify(segment: Segment) -> None:
    """Check every frame of a closed segment, one in memory at a time.

    Raises
    ------
    DataError
        If a record is damaged; it names the segment and the byte.
    """
    with segment.path.open("rb") as file:
        if segment_start(file.read(SEGMENT)) is None:
            raise _damaged(segment.path, 0, "its header is damaged")
        byte, record = SEGMENT, segment.base
        while size := frame_size(head := file.read(FRAME)):
            frame = next(walk(head + file.read(size - FRAME), 0, record), None)
            if frame is None or frame.end_byte != size:
                break
            byte, record = byte + size, frame.end
    if byte < segment.size or record != segment.end:
        raise _damaged(segment.path, byte, "a record before the tail is damaged")


def tail(segment: Segment) -> Iterator[tuple[Bytes, Frame]]:
    """The segment's frames with the bytes they lie in."""
    data = _mapped(segment.path)
    for frame in walk(data, SEGMENT, segment.base):
        yield data, frame


def _begun(path: Path) -> tuple[Head | None, int]:
    """A segment's header, and the arrival of its first record (0 if there is none)."""
    with path.open("rb") as file:
        data = file.read(SEGMENT + FRAME + 8)
    arrival = int.from_bytes(data[-8:], "little") if len(data) == SEGMENT + FRAME + 8 else 0
    return segment_start(data), arrival


def _mapped(path: Path) -> bytes | mmap.mmap:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""


def _headed(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(SEGMENT)


def _set_aside(path: Path, byte: int) -> int:
    """Cut a segment at `byte`; what is cut off is kept in the folder `torn` for whoever asks."""
    with path.open("r+b") as file:
        file.seek(byte)
        rest = file.read()
        home = _kept_aside(path.parent / "torn", f"{path.stem}-{byte}.bytes", rest)
        if byte:
            file.truncate(byte)
            os.fsync(file.fileno())
    if not byte:
        path.unlink()
    folder_synced(path.parent)
    _log.warning("%s: cut a torn tail of %d bytes at byte %d; %s", path.name, len(rest), byte, home)
    return len(rest)


def _kept_aside(home: Path, name: str, rest: bytes) -> str:
    """Keep torn bytes, and of older ones only some; says where they are."""
    try:
        home.mkdir(exist_ok=True)
        older = sorted(home.glob("*.bytes"), key=lambda file: file.stat().st_mtime_ns)
        room = _TORN_BYTES - len(rest)
        for file in reversed(older):
            room -= file.stat().st_size
            if room < 0:
                file.unlink()
        (home / name).write_bytes(rest)
    except OSError as problem:  # on a full disk, say: nobody was promised these bytes
        with suppress(OSError):
            (home / name).unlink()
        return f"they could not be kept: {problem.strerror}"
    return f"they are kept in {home}"


def _damaged(path: Path, byte: int, problem: str, expected: str | None = None) -> DataError:
    return DataError(
        f"{problem}: segment {path.name}, byte {byte}", step="gateway log", got=str(path),
        expected=expected or "a frame whose checksum holds, as it was when it was acknowledged",
        hint="this is no trace of a crash; restore the segment from a copy, or move it and those "
             "before it away if all readers are past it",
    )
