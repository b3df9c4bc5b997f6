"""The end of the log on the disk: frames are added, a frame that failed is taken back."""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from slackwater.gateway.frames import SEGMENT, Head, encode, segment_header
from slackwater.gateway.places import End, Place, folder_synced
from slackwater.gateway.segments import Segment, segment_path
from slackwater.gateway.store import LogFailed

__all__ = ["Writer", "is_full"]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PIECES = 512  # writev takes no more than IOV_MAX

_log = logging.getLogger("slackwater.gateway")


class Writer:
    """The open segment.  One thread at a time.

    Parameters
    ----------
    folder
        The log.
    segments
        What it holds, oldest first; the writer adds to it.
    beyond
        Number of the next record: where the last segment ends, or more if numbers are not to be
        used again.
    """

    def __init__(self, folder: Path, segments: list[Segment], beyond: int) -> None:
        self._folder = folder
        self.segments = segments
        self.sync_seconds = 0.0
        self._end = End(folder)
        if not segments:
            self._file = self._started(beyond, beyond)
        elif beyond > segments[-1].end:
            self._file = self._started(beyond, segments[-1].end)
        else:
            self._file = os.open(segments[-1].path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            os.fsync(self._file)  # sound, but perhaps not yet durable when the last owner died
        self._end.tell(self.end)

    @property
    def end(self) -> Place:
        """The durable end."""
        last = self.segments[-1]
        return Place(last.end, last.base, last.size)

    def add(self, arrivals: npt.NDArray[np.int64], tags: npt.NDArray[np.uint32],
            lengths: npt.NDArray[np.uint32], payloads: Sequence[bytes]) -> int:
        """Make one frame durable and tell readers; gives its size.

        Raises
        ------
        OSError
            If the disk is full; nothing of the frame is left.
        LogFailed
            If the disk cannot be believed; `renew` may help.
        """
        segment = self.segments[-1]
        frame = encode(segment.end, arrivals, tags, lengths, payloads)
        size = sum(map(len, frame))
        try:
            _write(self._file, frame)
        except OSError as problem:
            self._undo(segment, problem)
        begin = time.perf_counter()
        try:
            os.fdatasync(self._file)
        except OSError as problem:
            with suppress(OSError):  # a process that opens the log next must not find it either
                os.ftruncate(self._file, segment.size)
            # the kernel may have dropped the pages: what a later fsync says is worth nothing
            raise LogFailed(f"the disk failed to keep what was written: {problem.strerror}",
                            step="gateway log") from problem
        self.sync_seconds += time.perf_counter() - begin
        segment.end += len(lengths)
        segment.size += size
        segment.last_arrival = int(arrivals[-1])
        self._tell()
        return size

    def renew(self) -> None:
        """Go on after a failure: what is not known to be durable is cut off, a new file begins.

        All that was acknowledged had been synced before the failure.

        Raises
        ------
        OSError
            If the disk still fails.
        """
        segment = self.segments[-1]
        file = os.open(segment.path, os.O_RDWR | os.O_CLOEXEC)
        try:
            os.ftruncate(file, segment.size)
            os.fsync(file)
        finally:
            os.close(file)
        self.roll()

    def roll(self) -> None:
        """Close the open segment and start another, unless it holds nothing yet."""
        end = self.segments[-1].end
        if end == self.segments[-1].base:
            return  # the next one would have the same name
        opened = self._started(end, end)
        os.close(self._file)
        self._file = opened
        self._tell()

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._file)
        self._end.close()

    def _tell(self) -> None:
        try:
            self._end.tell(self.end)
        except OSError as problem:  # it is durable; readers will see it with the next frame
            _log.error("%s: readers cannot be told of the end: %s", self._folder, problem)

    def _started(self, base: int, after: int) -> int:
        path = segment_path(self._folder, base)
        last_arrival = self.segments[-1].last_arrival if self.segments else 0
        file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC,
                       0o644)
        try:
            _write(file, [segment_header(Head(base, after))])
            os.fsync(file)
            folder_synced(self._folder)
        except OSError:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        self.segments.append(Segment(path, base, SEGMENT, base, last_arrival))
        return file

    def _undo(self, segment: Segment, problem: OSError) -> None:
        """Take back a frame that did not fit; it must not stand between sound ones."""
        try:
            os.ftruncate(self._file, segment.size)
        except OSError as worse:
            raise LogFailed(
                f"a frame was written in part and cannot be cut off: {worse.strerror}",
                step="gateway log") from worse
        if problem.errno in _FULL:
            raise problem
        raise LogFailed(f"the log cannot be written: {problem.strerror}",
                        step="gateway log") from problem


def is_full(problem: OSError) -> bool:
    """Whether an error means that there is no room, and nothing else."""
    return problem.errno in _FULL


def _write(file: int, pieces: Sequence[bytes]) -> None:
    if len(pieces) > _PIECES:
        pieces = [b"".join(pieces)]
    views = [memoryview(piece) for piece in pieces]
    while views:
        written = os.writev(file, views)
        while views and written >= len(views[0]):
            written -= len(views.pop(0))
        if views:
            views[0] = views[0][written:]
