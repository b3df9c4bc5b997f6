"""Who is heard of, and when last: sources, and the values of a scope.

Whoever is silent for longer than `forget_after` starts afresh with its next row, whatever the
batches; its state is dropped some time after.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import NEVER
from slackwater.core.kernel import Store
from slackwater.core.slots import silences
from slackwater.core.state.keys import Keys
from slackwater.core.state.pages import Pages

__all__ = ["Heard"]

Int64 = NDArray[np.int64]


class Heard:
    """Combinations of some columns, each with the arrival of its last row.

    Parameters
    ----------
    name
        Of its state in the store.
    columns
        Whose values it is about.
    forget_after
        How long one may be silent, in microseconds (None: for ever, as where there are no columns
        to tell them apart).
    """

    def __init__(self, name: str, columns: tuple[str, ...], store: Store,
                 forget_after: int | None) -> None:
        self._keys = Keys(name, columns, store)
        self._last = Pages(f"{name}_heard", {"at": np.int64(NEVER)}, store)
        self._forget_after = forget_after if columns else None
        self._numbers = np.full(1, -1)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def room(self) -> int:
        """One more than the greatest slot."""
        return self._keys.room

    def meet(self, rows: pa.RecordBatch) -> tuple[Int64, Int64]:
        """The slot of each row, and the slots that are new."""
        slot, fresh = self._keys.slots(rows)
        self._last.grow(self.room)
        self._last.reset(fresh)
        if len(self._numbers) < self.room:
            self._numbers = np.full(2 * self.room, -1)
        return slot, fresh

    def silences(self, slot: Int64, arrival: Int64, at: int) -> tuple[int, Int64]:
        """Up to which row nobody starts afresh but with its first row, and who does that."""
        if self._forget_after is None:
            return len(slot), slot[:0]
        self._last.need(slot[at:])
        return silences(slot, arrival, at, self._last["at"], self._numbers, self._forget_after)

    def hear(self, slot: Int64, arrival: Int64) -> None:
        """Note these rows."""
        self._last.touch(slot)
        np.maximum.at(self._last["at"], slot, arrival)

    def silent(self, now: int) -> Int64:
        """Who may be forgotten."""
        live = self._keys.live()
        if self._forget_after is None or not len(live):
            return live[:0]
        self._last.need(live)
        # a little later than need be: arrivals may be a little out of order
        return live[self._last["at"][live] < now - self._forget_after * 5 // 4]

    def forget(self, slots: Int64) -> None:
        """Drop these; their slots will be given to others."""
        self._last.reset(slots)
        self._keys.forget(slots)

    def values(self, slots: Int64) -> list[pa.Array]:
        """The values of each column, by slot."""
        return self._keys.values(slots)

    def save(self) -> dict[str, Any]:
        """Write what changed."""
        return {"keys": self._keys.save(), "last": self._last.save()}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        self._keys.load(meta["keys"])
        self._last.load(meta["last"])
