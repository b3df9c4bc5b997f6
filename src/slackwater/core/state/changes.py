"""What has changed since pages were last written, in a log that is small beside them.

New keys fall into pages at random, so that writing the pages of a few of them means writing nearly
all.  Instead each snapshot appends the slots that have changed, with the records of those that have
a key now; when the log has grown too long for that, the pages take it in.  A slot in the log
overrides what an older page or an older part of the log says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state.record import Record

__all__ = ["Changes"]

Int64 = NDArray[np.int64]
UInt32 = NDArray[np.uint32]
_NO_SLOTS = np.zeros(0, np.int64)


class Changes:
    """The log; it is read as a whole when it is loaded."""

    def __init__(self, name: str, store: Store, segment_bytes: int) -> None:
        self.name, self._store, self._segment_bytes = name, store, segment_bytes
        self.overridden = np.zeros(64, bool)
        """Slots in the log, or to be written to it."""
        self.nbytes = 0
        """How long the log is in the store."""
        self._left: list[UInt32] = []
        self._new: list[Int64] = []
        self._new_left: list[UInt32] = []
        # segments first…next − 1 are full; the one that is not is written anew with what is new
        self._first = self._next = 0
        self._open, self._open_left, self._open_bytes = _NO_SLOTS, np.zeros(0, np.uint32), 0

    def grow(self, room: int) -> None:
        """Know slots up to `room`."""
        if room > len(self.overridden):
            self.overridden = np.concatenate(
                [self.overridden, np.zeros(max(room, 2 * len(self.overridden))
                                           - len(self.overridden), bool)])

    def note(self, slots: Int64, left: UInt32) -> None:
        """These slots have changed; `left` are the first halves of hashes that leave their page."""
        self.overridden[slots] = True
        self._new.append(slots)
        if len(left):
            self._left.append(left)
            self._new_left.append(left)

    def left(self) -> UInt32:
        """The first halves of the hashes of all keys that are in a page and should not be."""
        return np.concatenate([np.zeros(0, np.uint32), *self._left])

    def new(self) -> Int64:
        """The slots that have changed since the last snapshot."""
        return np.unique(np.concatenate([_NO_SLOTS, *self._new]))

    def append(self, is_live: Callable[[Int64], NDArray[np.bool_]],
               encode: Callable[[Int64], dict[str, NDArray[Any]]]) -> None:
        """Write what is new."""
        if not self._new:
            return
        slots = np.union1d(self._open, self.new())
        left = np.concatenate([self._open_left, *self._new_left])
        live = is_live(slots)
        arrays = {**encode(slots[live]), "dead": slots[~live].astype(np.int32), "left": left}
        blob = Record(self.name, 1, {}, arrays).encode()
        self._store.put(self._blob(self._next), blob)
        self.nbytes += len(blob) - self._open_bytes
        self._open, self._open_left, self._open_bytes = slots, left, len(blob)
        self._new, self._new_left = [], []
        if len(blob) >= self._segment_bytes:
            self._close()

    def clear(self) -> None:
        """Forget all: the pages have taken it in."""
        for serial in range(self._first, self._next + (self._open_bytes > 0)):
            self._store.drop(self._blob(serial))
        self._close()
        self._first = self._next
        self.overridden[:] = False
        self._left, self._new, self._new_left, self.nbytes = [], [], [], 0

    def save(self) -> dict[str, Any]:
        """Plain JSON values for `load`."""
        return {"first": self._first, "next": self._next, "open": self._open_bytes,
                "bytes": self.nbytes}

    def load(self, meta: Mapping[str, Any], room: int,
             adopt: Callable[[Mapping[str, NDArray[Any]]], None]) -> None:
        """Read the log, the newest first; `adopt` takes the records of slots not overridden yet."""
        self._first, self._next, self._open_bytes = meta["first"], meta["next"], meta["open"]
        self.nbytes = meta["bytes"]
        self.overridden = np.zeros(room, bool)
        for serial in range(self._next + (self._open_bytes > 0) - 1, self._first - 1, -1):
            arrays = Record.decode(self._store.get(self._blob(serial)), kind=self.name,
                                   version=1).arrays
            adopt(arrays)
            slots = np.concatenate([arrays["slot"], arrays["dead"]]).astype(np.int64)
            self.overridden[slots] = True
            self._left.append(arrays["left"])
            if serial == self._next:
                self._open, self._open_left = np.sort(slots), arrays["left"]

    def _blob(self, serial: int) -> str:
        return f"{self.name}/{serial}"

    def _close(self) -> None:
        self._next += self._open_bytes > 0
        self._open, self._open_left, self._open_bytes = _NO_SLOTS, np.zeros(0, np.uint32), 0
