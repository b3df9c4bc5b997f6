"""What the log keeps and when it stops taking: retention and back-pressure.

Retention lets go of whole segments, oldest first, and of none that holds a record which a
registered reader has not committed.  Where that leaves too much, the log stops taking instead.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from slackwater.core.errors import ConfigError
from slackwater.gateway.leases import Leases
from slackwater.gateway.places import Place, readers
from slackwater.gateway.segments import Segment

__all__ = ["Keeper", "Limits", "bytes_after"]

_SMALLEST_SEGMENT = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes, times in microseconds.

    Parameters
    ----------
    segment_size
        A segment is closed once it is this long.
    retain_size
        Let go of the oldest segments while the log is longer than this. None: never.
    retain_share
        The same as a share of the room that the log and the disk's free space make together: what
        others put on the disk makes the log shorter. None: never.
    retain_age
        Let go of segments whose last record is older than this. None: never.
    max_backlog
        Take nothing while the slowest reader has more than this to read; without a registered
        reader the whole log counts. None: no bound.
    min_free
        Take nothing while the disk has less room than this.
    max_pending
        Take nothing while more than this waits for the disk.
    reader_lease
        Seconds that a reader which is away holds retention back. None: without end.
    look_every
        Seconds between looks at the readers' positions and the disk.
    """

    segment_size: int = 64 << 20
    retain_size: int | None = None
    retain_share: float | None = None
    retain_age: int | None = None
    max_backlog: int | None = None
    min_free: int = 64 << 20
    max_pending: int = 64 << 20
    reader_lease: float | None = 7 * 86_400
    look_every: float = 0.2

    def __post_init__(self) -> None:
        for name in ("segment_size", "retain_size", "retain_age", "max_backlog", "max_pending",
                     "reader_lease"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError("must be more than nothing", step=name, got=value)
        if self.retain_share is not None and not 0 < self.retain_share <= 1:
            raise ConfigError("is not a share of a disk", step="retain_share",
                              expected="more than 0, at most 1", got=self.retain_share)
        if self.min_free < 0:
            raise ConfigError("cannot be negative", step="min_free", got=self.min_free)
        if self.retain_size is not None and self.segment_size > self.retain_size // 4:
            # retention works by whole segments: few large ones would make it coarse
            object.__setattr__(self, "segment_size", max(self.retain_size // 4, 1))


class Keeper:
    """Looks at readers and disk now and then; in between it only reckons.

    Parameters
    ----------
    folder
        The log.
    limits
        What to keep.
    kept
        Readers whose lease does not end.
    """

    def __init__(self, folder: Path, limits: Limits, kept: Collection[str] = ()) -> None:
        self._folder, self._limits = folder, limits
        self._leases = Leases(folder, limits.reader_lease, kept)
        self._readers: dict[str, Place] = {}
        self._free = _free(folder)
        self.refusing: str | None = None
        self.segment_size = limits.segment_size

    def look(self, segments: Sequence[Segment]) -> None:
        """Read the readers' positions and the disk's room anew."""
        found = readers(self._folder)
        self._leases.look(found)
        self._readers = found
        self._free = _free(self._folder)
        if self._limits.retain_share is not None:  # on a small disk large segments are too coarse
            room = self._free + sum(s.size for s in segments)
            self.segment_size = min(self._limits.segment_size,
                                    max(room // 16, _SMALLEST_SEGMENT))
        self.judge(segments)

    def judge(self, segments: Sequence[Segment]) -> None:
        """Say whether the log may take more."""
        self.refusing = None
        if self._free < self._limits.min_free:
            self.refusing = "the disk is full"
        elif self._limits.max_backlog is not None:
            behind = self.behind(segments) or {"": sum(s.size for s in segments)}
            name, most = max(behind.items(), key=lambda item: item[1])
            if most > self._limits.max_backlog:
                self.refusing = (f"the reader {name!r} is {most} bytes behind" if name
                                 else f"{most} bytes wait and nobody reads them")

    def behind(self, segments: Sequence[Segment]) -> dict[str, int]:
        """Bytes that each reader has still to commit."""
        return {name: bytes_after(place, segments) for name, place in self._readers.items()}

    def wants_roll(self, segments: Sequence[Segment], now: int) -> bool:
        """Whether the open segment is due by age, which it can only be once it is closed."""
        last, age = segments[-1], self._limits.retain_age
        return age is not None and last.end > last.base and last.last_arrival < now - age

    def due(self, segments: Sequence[Segment], now: int) -> Iterator[Segment]:
        """Segments to let go of, oldest first; the open one never."""
        total = sum(s.size for s in segments)
        largest = self._largest(total)
        # looked at again: a reader may have registered since, and a deletion is not undone
        held = min((p.record for p in readers(self._folder).values()), default=None)
        for segment in list(segments[:-1]):
            old = (self._limits.retain_age is not None
                   and segment.last_arrival < now - self._limits.retain_age)
            large = largest is not None and total > largest
            if not (old or large) or (held is not None and segment.end > held):
                return
            total -= segment.size
            yield segment

    def _largest(self, total: int) -> int | None:
        """How long the log may be now."""
        limits = self._limits
        if limits.retain_share is None:
            return limits.retain_size
        room = self._free + total
        # below `min_free` nothing is taken: the log must not get there by itself
        share = min(int(room * limits.retain_share),
                    room - limits.min_free - 2 * self.segment_size)
        return max(share if limits.retain_size is None else min(share, limits.retain_size), 0)


def _free(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def bytes_after(place: Place, segments: Sequence[Segment]) -> int:
    """Bytes of the log from `place` on."""
    behind = 0
    for segment in segments:
        if segment.base == place.segment:
            behind += max(segment.size - place.byte, 0)
        elif segment.base > place.segment:
            behind += segment.size
    return behind
