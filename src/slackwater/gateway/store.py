"""Where admitted events go: this machine's log, or a broker; all that the ways in need to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from slackwater.core.errors import SlackwaterError

__all__ = ["Appended", "Backlogged", "LogFailed", "Packed", "Store", "Unkeepable"]


class Backlogged(SlackwaterError):  # noqa: N818  (a state of the log, not a mistake)
    """Nothing is taken just now: the disk is full, a reader is too far behind, a broker is away."""


class LogFailed(SlackwaterError):  # noqa: N818
    """The disk failed to keep what was written; nothing is taken until it is sound again."""


class Unkeepable(SlackwaterError):  # noqa: N818
    """One of the events will never be taken, however often it is sent: a broker allows no more."""


@dataclass(frozen=True)
class Appended:
    """Kept: the number of the first record and how many there are."""

    first: int
    count: int


@dataclass(frozen=True)
class Packed:
    """Many events as one run of bytes and their lengths (uint32, as bytes).

    A batch of a hundred thousand small events is two objects in this form, not a hundred thousand.
    """

    payload: bytes
    lengths: bytes

    def __len__(self) -> int:
        return len(self.lengths) // 4

    def __iter__(self) -> Iterator[bytes]:
        byte = 0
        for length in memoryview(self.lengths).cast("I"):
            yield self.payload[byte:byte + length]
            byte += length


class Store(Protocol):
    """Takes events and says when they are kept."""

    @property
    def failed(self) -> str | None:
        """Why nothing can be kept until something is repaired, or None."""

    @property
    def refusing(self) -> str | None:
        """Why nothing is taken now, or None."""

    @property
    def warning(self) -> str | None:
        """What somebody should look at although events are taken, or None."""

    def append(self, payloads: Sequence[bytes] | Packed, tags: Sequence[int] | None = None
               ) -> Future[Appended]:
        """Queue the events; the future is done when they are kept.

        Raises
        ------
        Backlogged, LogFailed
            If nothing was queued.
        """

    def close(self) -> None:
        """Keep what is queued, and let go."""
