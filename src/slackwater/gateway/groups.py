"""Events that wait for the disk: what one caller appended, and what one fsync takes of them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slackwater.gateway.store import Appended, Packed

__all__ = ["Columns", "Entry", "columns_of", "group_of"]

_GROUP = 32 << 20  # bytes that are written at once, unless one caller brings more
_PER_EVENT = 16


@dataclass
class Entry:
    """The events of one caller, and who is told when they are durable."""

    payloads: Sequence[bytes] | Packed
    tags: Sequence[int] | None = None
    arrival: int = 0
    future: Future[Appended] = field(default_factory=Future)

    def __post_init__(self) -> None:
        held = (len(self.payloads.payload) if isinstance(self.payloads, Packed)
                else sum(map(len, self.payloads)))
        self.size = _PER_EVENT * len(self.payloads) + held


class Columns(NamedTuple):
    """What a frame is made of; the payloads are the events end to end."""

    arrivals: npt.NDArray[np.int64]
    tags: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.uint32]
    payloads: list[bytes]


def group_of(waiting: Sequence[Entry]) -> list[Entry]:
    """The first entries, as many as are written at once; at least one, if there is one."""
    sizes = accumulate(entry.size for entry in waiting)
    return [entry for number, (entry, size) in enumerate(zip(waiting, sizes, strict=True))
            if not number or size <= _GROUP]


def columns_of(group: Sequence[Entry]) -> Columns:
    """The events of all entries one after another."""
    return Columns(
        np.concatenate([np.arange(e.arrival, e.arrival + len(e.payloads), dtype=np.int64)
                        for e in group]),
        np.concatenate([np.zeros(len(e.payloads), np.uint32) if e.tags is None
                        else np.array(e.tags, np.uint32) for e in group]),
        np.concatenate([_lengths(e.payloads) for e in group]),
        [e.payloads.payload if isinstance(e.payloads, Packed) else b"".join(e.payloads)
         for e in group])


def _lengths(payloads: Sequence[bytes] | Packed) -> npt.NDArray[np.uint32]:
    if isinstance(payloads, Packed):
        return np.frombuffer(payloads.lengths, np.uint32)
    return np.fromiter(map(len, payloads), np.uint32, len(payloads))
