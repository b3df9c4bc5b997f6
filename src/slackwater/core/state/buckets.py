"""Which page a hash belongs to: linear hashing over the first bits of hashes.

There are 2^level + split pages.  The first `split` prefixes of `level` bits have been split in two,
by one more bit; the others are still whole.  One page is split at a time as keys come, and joined
again as they go, so the whole directory is these two numbers and three flags per page.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.state.pages import pack_flags, unpack_flags

__all__ = ["Buckets"]

UInt64 = NDArray[np.uint64]


class Buckets:
    """The directory of pages; a page's number is the prefix it would have if all were split."""

    def __init__(self) -> None:
        self._level = self._split = 0
        self.dirty = np.zeros(2, bool)
        self.stored = np.zeros(2, bool)
        self.missing = np.zeros(2, bool)
        """Stored and not read yet."""

    def __len__(self) -> int:
        return (1 << self._level) + self._split

    def name(self, page: int) -> str:
        """What a page's blob is called, apart from the table."""
        depth, prefix = self._prefix(page)
        return f"{depth}.{prefix:x}"

    def span(self, page: int) -> tuple[np.uint64, np.uint64]:
        """The least and the greatest hash of a page."""
        depth, prefix = self._prefix(page)
        return (np.uint64(prefix << (64 - depth)), np.uint64(((prefix + 1) << (64 - depth)) - 1))

    def mark(self, hashes: UInt64, flags: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Set the flags (new ones if none are given) of the pages of these hashes."""
        flags = np.zeros(len(self.dirty), bool) if flags is None else flags
        _mark(hashes, self._level, self._split, flags)
        return flags

    def next_split(self) -> int:
        """The page that `split` splits; it must have been read."""
        return 2 * self._split

    def split(self) -> None:
        """Have one page more; the two halves are to be written."""
        page = self.next_split()
        self._split += 1
        self.dirty[page:page + 2], self.stored[page:page + 2] = True, False
        if self._split == 1 << self._level:
            self._level, self._split = self._level + 1, 0
            for flags in ("dirty", "stored", "missing"):
                spread = np.zeros(2 * len(getattr(self, flags)), bool)
                spread[::2] = getattr(self, flags)
                setattr(self, flags, spread)

    def last_split(self) -> tuple[int, int]:
        """The two pages that `join` joins; they must have been read."""
        if self._split == 0:
            self._level, self._split = self._level - 1, 1 << (self._level - 1)
            for flags in ("dirty", "stored", "missing"):
                setattr(self, flags, getattr(self, flags)[::2].copy())
        return 2 * self._split - 2, 2 * self._split - 1

    def join(self) -> None:
        """Have one page less; what the last two become is to be written."""
        page, other = self.last_split()
        self._split -= 1
        self.dirty[page], self.dirty[other] = True, False
        self.stored[page] = self.stored[other] = False

    def save(self) -> dict[str, Any]:
        """Plain JSON values for `load`."""
        return {"level": self._level, "split": self._split, "stored": pack_flags(self.stored)}

    def load(self, meta: dict[str, Any]) -> None:
        """Know the pages that `save` told of; those in the store are to be read when needed."""
        self._level, self._split = meta["level"], meta["split"]
        count = 2 << self._level
        self.dirty = np.zeros(count, bool)
        self.stored = unpack_flags(meta["stored"], count)
        self.missing = self.stored.copy()

    def _prefix(self, page: int) -> tuple[int, int]:
        if page >> 1 < self._split:
            return self._level + 1, page
        return self._level, page >> 1


@njit(cache=True, nogil=True)
def _mark(hashes: UInt64, level: int, split: int, flags: NDArray[np.bool_]) -> None:
    shift = np.uint64(63 - level)
    for h in hashes:
        page = np.int64(h >> shift)
        if page >> 1 >= split:
            page &= ~1
        flags[page] = True
