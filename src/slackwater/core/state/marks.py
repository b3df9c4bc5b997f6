"""The watermark of each key, and how many rows it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.events import FOREVER, NEVER
from slackwater.core.kernel import Store
from slackwater.core.state.buffer import Held
from slackwater.core.state.pages import Pages

__all__ = ["Marks"]

Int64 = NDArray[np.int64]


class Marks(Pages):
    """Per slot: time and arrival number of the last row released, birth, rows held.

    `more` are further columns that a stage keeps beside them.
    """

    def __init__(self, name: str, store: Store, **more: Any) -> None:
        # a slot that nobody has holds no row: what a key had there before it was forgotten is gone
        super().__init__(name, {"time": np.int64(NEVER), "n": np.int64(-1),
                                "born": np.int64(FOREVER), "held": np.int64(0), **more}, store)
        self._least: tuple[int, int] | None = None  # the slot that is furthest back, and its time
        self._greatest = NEVER

    @classmethod
    def of_groups(cls, name: str, store: Store) -> Marks:
        """Marks with the group beside them that each key is in."""
        return cls(name, store, group=np.int64(0))

    def begin(self, room: int, slots: Int64, floor: Int64, n: int) -> None:
        """Have `room` slots; those of `slots` start afresh, with rows numbered from `n` on.

        The watermark of a fresh slot is `floor`.
        """
        self.grow(room)
        if len(slots):
            self._forget_least(slots)
            self.reset(slots)
            self["born"][slots] = n
            self["time"][slots] = floor
            self.touch(slots)

    def of(self, slots: Int64) -> tuple[Int64, Int64]:
        """The watermarks of these slots."""
        self.touch(slots)
        return self["time"][slots], self["n"][slots]

    def move(self, slots: Int64, time: Int64, n: Int64) -> None:
        """Move these slots' watermarks on."""
        if len(slots) == 0:
            return
        self.touch(slots)
        self["time"][slots], self["n"][slots] = time, n
        known = time != NEVER
        if not known.any():
            return
        self._greatest = max(self._greatest, int(time[known].max()))
        self._forget_least(slots)
        least = int(np.argmin(np.where(known, time, FOREVER)))
        if self._least is not None and time[least] < self._least[1]:
            self._least = int(slots[least]), int(time[least])

    def reach(self, time: Int64, n: int) -> None:
        """Move every watermark on to `time` (by slot), of rows numbered up to `n`.

        Nothing before it may be held any more.
        """
        self.need_all()
        slots = np.flatnonzero(time[:self.rows] > self["time"][:len(time)])
        self.move(slots, time[slots], np.full(len(slots), n))

    def hold(self, slots: Int64, key: Int64, held: Held | None, stays: NDArray[np.bool_]) -> None:
        """Count: rows of slots[key] have come to be held, held rows that do not stay have left."""
        if len(key):
            self["held"][slots] += np.bincount(key, minlength=len(slots))
        if held is not None and len(held):
            np.subtract.at(self["held"], held.slot[~stays], 1)

    def holding(self, slots: Int64) -> NDArray[np.bool_]:
        """Which of these slots hold rows."""
        self.need(slots)
        return np.asarray(self["held"][slots] > 0)

    def gone(self, slot: Int64, time: Int64, n: Int64) -> NDArray[np.bool_]:
        """Which rows have been released, or are of a key that had the slot before."""
        self.need(slot)
        mark, mark_n = self["time"][slot], self["n"][slot]
        return np.asarray((n < self["born"][slot]) | (time < mark)
                          | ((time == mark) & (n <= mark_n)))

    def extremes(self) -> tuple[int | None, int | None]:
        """The least and the greatest watermark of the keys that have one."""
        if self._greatest == NEVER:
            return None, None
        if self._least is None:
            self.need_all()
            time = self["time"]
            least = int(np.argmin(np.where(time == NEVER, FOREVER, time)))
            self._least = least, int(time[least])
        return self._least[1], self._greatest

    def save(self) -> dict[str, Any]:
        """Write the touched pages."""
        return {"pages": super().save(), "greatest": self._greatest}

    def load(self, meta: Any) -> None:
        """Know the pages that `save` told of."""
        super().load(meta["pages"])
        self._greatest = meta["greatest"]

    def _forget_least(self, slots: Int64) -> None:
        if self._least is not None and (slots == self._least[0]).any():
            self._least = None
