"""Reading a gateway's log from any process, by record numbers, as Arrow batches."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from slackwater.core.errors import ConfigError, DataError
from slackwater.gateway.frames import SEGMENT, Frame, Records, open_frame, segment_start, walk
from slackwater.gateway.places import Place, read_end
from slackwater.gateway.segments import segment_path, segments

__all__ = ["SCHEMA", "LogReader", "Span"]

SCHEMA = pa.schema([pa.field("record", pa.int64()), pa.field("arrival", pa.timestamp("us", "UTC")),
                    pa.field("event", pa.string())])
_ROWS, _BYTES = 1 << 16, 16 << 20


@dataclass(frozen=True)
class Span:
    """A range of records within one segment; `byte` is that of a frame at or before the first."""

    segment: int
    byte: int
    first: int
    end: int


class LogReader:
    """A log as its gateway has made it durable; needs no lock and changes nothing.

    Parameters
    ----------
    folder
        The log folder of a gateway that is running or has run.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir() or read_end(self.folder) is None:
            raise ConfigError("is not the log of a gateway", step="path", got=str(folder),
                              hint="start one: slackwater gateway --log FOLDER")

    def first(self) -> Place:
        """The oldest record that is still kept."""
        base = int(segments(self.folder)[0].stem)
        return Place(base, base, SEGMENT)

    def end(self) -> Place:
        """The durable end: what may be read now."""
        end = read_end(self.folder)
        assert end is not None, "the file is made before the first record and never removed"
        return end

    def advance(self, start: Place, rows: int, most: int | None = None) -> Place:
        """The place `rows` records after `start`, or the end if that comes first.

        With `most` it is no more than about so many bytes of the log further, but one frame is.
        """
        end, target = self.end(), start.record + rows
        passed = 0
        for span in self.spans(start, end):
            last = end.byte if span.segment == end.segment else (
                segment_path(self.folder, span.segment).stat().st_size)
            far = most is not None and passed + last - span.byte > most
            if span.end <= target and not far:
                passed += last - span.byte
                continue
            for _, frame in self._frames(span):
                full = most is not None and passed + frame.end_byte - span.byte > most
                if frame.end > target:
                    return Place(max(target, frame.first), span.segment, frame.byte)
                if full and frame.first > start.record:
                    return Place(frame.first, span.segment, frame.byte)
            passed += last - span.byte
        return end

    def spans(self, start: Place, end: Place) -> list[Span]:
        """The records from `start` to before `end`, segment by segment.

        Raises
        ------
        DataError
            If some of them are no longer kept.
        """
        if start.record >= end.record:
            return []
        bases = [int(p.stem) for p in segments(self.folder)]
        if not bases or start.record < bases[0]:
            raise DataError(
                "records that are to be read have been let go of", step="gateway log",
                expected=f"records from {start.record} on",
                got=f"{self.folder} starts at {bases[0] if bases else end.record}",
                hint="register the reader before retention runs: slackwater gateway --reader NAME",
            )
        found = []
        for base, following in zip(bases, [*bases[1:], None], strict=True):
            if base >= end.record or (following is not None and following <= start.record):
                continue
            byte = start.byte if base == start.segment else SEGMENT
            found.append(Span(base, byte, max(base, start.record),
                              end.record if following is None else min(end.record, following)))
        return found

    def read(self, span: Span) -> Iterator[pa.RecordBatch]:
        """The span's records in order, in batches of some size."""
        gathered: list[Records] = []
        rows = size = 0
        for data, frame in self._frames(span):
            if frame.first >= span.end:
                break
            records = open_frame(data, frame)
            gathered.append(records)
            rows, size = rows + frame.count, size + len(records.payload)
            if rows >= _ROWS or size >= _BYTES:
                yield from _batch(gathered, span)
                gathered, rows, size = [], 0, 0
        yield from _batch(gathered, span)

    def _frames(self, span: Span) -> Iterator[tuple[mmap.mmap, Frame]]:
        path = segment_path(self.folder, span.segment)
        with path.open("rb") as file:
            # mapped: only the pages of the span are touched, however long the segment is
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        byte, reached = span.byte, span.first
        for frame in walk(data, span.byte, None):
            if frame.end > span.first:
                yield data, frame
            byte, reached = frame.end_byte, frame.end
            if reached >= span.end:
                return
        if not self._given_up(span.segment, reached):
            raise DataError(f"a record is damaged: segment {path.name}, byte {byte}",
                            step="gateway log", got=str(path),
                            expected=f"record {reached}, as it was when it was acknowledged",
                            hint="restore the segment from a copy")

    def _given_up(self, segment: int, reached: int) -> bool:
        """Whether the records from `reached` on were lost when the gateway recovered."""
        following = [p for p in segments(self.folder) if int(p.stem) > segment]
        if not following:
            return False
        with following[0].open("rb") as file:
            head = segment_start(file.read(SEGMENT))
        return head is not None and head.after == reached < head.base


def _batch(gathered: list[Records], span: Span) -> Iterator[pa.RecordBatch]:
    if not gathered:
        return
    counts = [len(r.lengths) for r in gathered]
    lengths = np.concatenate([r.lengths for r in gathered])
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    payload = b"".join(r.payload for r in gathered)
    events = pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(payload))
    numbers = np.concatenate([np.arange(r.first, r.first + n)
                              for r, n in zip(gathered, counts, strict=True)])
    arrivals = pa.array(np.concatenate([r.arrivals for r in gathered])).cast(SCHEMA.field(1).type)
    batch = pa.RecordBatch.from_arrays([pa.array(numbers), arrivals, events], schema=SCHEMA)
    low = int(np.searchsorted(numbers, span.first))
    high = int(np.searchsorted(numbers, span.end))
    if low < high:
        yield batch.slice(low, high - low)
