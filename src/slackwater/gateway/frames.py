"""Bytes of the log: a segment is a header and frames, a frame is what one fsync made durable.

A frame is written only after the one before it is on the disk.  So a damaged frame with a sound one
behind it cannot be the trace of a crash: it was durable once, and the disk or somebody changed it.
A damaged frame with nothing sound behind it is a torn tail.

All numbers are little-endian.  Segment header: magic, base (number of its first record), after
(number at which the segment before it ended), CRC.  Frame: magic, CRC of all that follows it,
length of the body, count, number of the first record; the body holds the arrivals (int64 µs), the
tags (uint32), the lengths (uint32) and then the events' own bytes, end to end: columns, so that a
reader makes Arrow arrays of them without looking at single records.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FRAME", "SEGMENT", "Bytes", "Frame", "Head", "Records", "encode", "frame_size",
           "next_sound", "open_frame", "segment_header", "segment_start", "walk"]

_SEGMENT_MAGIC, _FRAME_MAGIC = b"SWLOG\x00\x00\x01", b"SWF\x01"
_SEGMENT = struct.Struct("<8sqqI")
_FRAME = struct.Struct("<4sIIIq")
SEGMENT, FRAME = _SEGMENT.size, _FRAME.size
_PER_RECORD = 8 + 4 + 4

Bytes = bytes | memoryview | mmap.mmap


@dataclass(frozen=True)
class Head:
    """What a segment says of itself."""

    base: int
    after: int


@dataclass(frozen=True)
class Frame:
    """A sound frame's place in its segment, and the records it holds."""

    byte: int
    end_byte: int
    first: int
    count: int

    @property
    def end(self) -> int:
        """Number of the record that follows the frame's last one."""
        return self.first + self.count


@dataclass(frozen=True)
class Records:
    """A frame's columns; `payload` holds the events end to end, `lengths` cuts it."""

    first: int
    arrivals: npt.NDArray[np.int64]
    tags: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.uint32]
    payload: Bytes


def segment_header(head: Head) -> bytes:
    """The bytes that a segment begins with."""
    plain = _SEGMENT.pack(_SEGMENT_MAGIC, head.base, head.after, 0)
    return plain[:-4] + struct.pack("<I", zlib.crc32(plain[:-4]))


def segment_start(data: Bytes) -> Head | None:
    """The header at the beginning of a segment's bytes, or None if it is not sound."""
    if len(data) < SEGMENT:
        return None
    magic, base, after, crc = _SEGMENT.unpack_from(data)
    if magic != _SEGMENT_MAGIC or crc != zlib.crc32(data[: SEGMENT - 4]):
        return None
    return Head(base, after)


def encode(first: int, arrivals: npt.NDArray[np.int64], tags: npt.NDArray[np.uint32],
           lengths: npt.NDArray[np.uint32], payloads: Sequence[bytes]) -> list[bytes]:
    """One frame of the records `first`, `first` + 1, … as pieces to be written one after another.

    `payloads` are the events end to end, cut anywhere: `lengths` says where each one ends.
    """
    columns = b"".join([arrivals.astype("<i8").tobytes(), tags.astype("<u4").tobytes(),
                        lengths.astype("<u4").tobytes()])
    size = len(columns) + sum(map(len, payloads))
    rest = struct.pack("<IIq", size, len(lengths), first)
    crc = zlib.crc32(columns, zlib.crc32(rest))
    for payload in payloads:
        crc = zlib.crc32(payload, crc)
    return [b"".join([_FRAME_MAGIC, struct.pack("<I", crc), rest, columns]), *payloads]


def _frame_at(data: Bytes, byte: int) -> Frame | None:
    if byte + FRAME > len(data):
        return None
    magic, crc, length, count, first = _FRAME.unpack_from(data, byte)
    end = byte + FRAME + length
    if (magic != _FRAME_MAGIC or end > len(data) or count == 0 or count * _PER_RECORD > length
            or crc != zlib.crc32(data[byte + 8:end])):
        return None
    return Frame(byte, end, first, count)


def walk(data: Bytes, byte: int, first: int | None) -> Iterator[Frame]:
    """Sound frames from `byte` on, each starting with the record after the one before.

    Ends before the first frame that is not sound; the caller compares the last `end_byte` with
    where the bytes should end.  `first` is the record that the first frame must start with, if it
    is known.
    """
    view = memoryview(data)
    while (frame := _frame_at(view, byte)) is not None:
        if first is not None and frame.first != first:
            return
        yield frame
        byte, first = frame.end_byte, frame.end


def frame_size(head: bytes) -> int:
    """Bytes of the frame that begins with these, as far as its header can be believed; else 0."""
    if len(head) < FRAME or not head.startswith(_FRAME_MAGIC):
        return 0
    return FRAME + int(_FRAME.unpack_from(head)[2])


def next_sound(data: bytes | mmap.mmap, byte: int) -> int | None:
    """Byte of a sound frame at or after `byte`, however far: the proof that a gap is no tail."""
    view = memoryview(data)
    while (byte := data.find(_FRAME_MAGIC, byte)) >= 0:
        if _frame_at(view, byte) is not None:
            return byte
        byte += 1
    return None


def open_frame(data: Bytes, frame: Frame) -> Records:
    """The columns of a frame that `walk` has found sound."""
    byte, count = frame.byte + FRAME, frame.count
    arrivals = np.frombuffer(data, "<i8", count, byte)
    tags = np.frombuffer(data, "<u4", count, byte + 8 * count)
    lengths = np.frombuffer(data, "<u4", count, byte + 12 * count)
    payload = memoryview(data)[byte + _PER_RECORD * count:frame.end_byte]
    return Records(frame.first, arrivals, tags, lengths, payload)
