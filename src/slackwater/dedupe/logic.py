"""A running dedupe: the ids that came not long ago are the keys of the stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.core.events import FOREVER
from slackwater.core.kernel import Store
from slackwater.core.keyed import Keyed, KeyedLogic
from slackwater.core.stage import role_names
from slackwater.core.state.pages import Pages
from slackwater.core.steps import Step

if TYPE_CHECKING:
    from slackwater.dedupe.dedupe import Dedupe

__all__ = ["DedupeLogic"]

Int64 = NDArray[np.int64]


class DedupeLogic(KeyedLogic):
    """Forgetting is all there is to it: an id that has been forgotten is new again."""

    version = 2

    def __init__(self, config: Dedupe, store: Store) -> None:
        within, ahead = config.within, config.max_future_skew
        assert isinstance(within, int)
        assert isinstance(ahead, int)
        super().__init__("dedupe", config.roles, store, max_future_skew=ahead, silence=within)
        self._why = ("duplicate: a row with this id arrived before, within "
                     f"{format_duration(within)}")
        self.holds_in(None)
        self._passed = Pages("passed", {"passed": np.bool_(False)}, store)

    def take_keyed(self, given: Keyed) -> Step:
        """The first row of each id that has not passed yet passes."""
        key, slots, rows = given.key, given.slots, given.new.rows
        self._passed.touch(slots)
        first = np.zeros(len(key), bool)
        found, at = np.unique(key, return_index=True)
        first[at] = ~self._passed["passed"][slots[found]]
        self._passed["passed"][slots] = True
        good = first | _without_id(rows, self.roles.key)
        arrival = given.new.arrival
        if good.all():
            return Step([rows], given.new.time, lambda: (None, arrival))
        ready, late = np.flatnonzero(good), np.flatnonzero(~good)
        return Step([rows.take(pa.array(ready))], given.new.time[ready],
                    lambda: (None, arrival[ready]), rows.take(pa.array(late)),
                    pa.repeat(self._why, len(late)), arrival[late])

    def begin_keys(self, slots: Int64, floor: Int64, n: int) -> None:
        """Ids that are new, or new again: their next row passes."""
        self._passed.grow(self.keys.room)
        self._passed.reset(slots)

    def forgotten(self, slots: Int64) -> None:
        """Nobody has these slots now."""
        known = slots[slots < self._passed.rows]
        self._passed.reset(known)

    def busy(self, slots: Int64) -> NDArray[np.bool_]:
        """No row is held."""
        return np.zeros(len(slots), bool)

    def pass_time_keyed(self, now: int) -> Step:
        """Nothing waits for time to pass."""
        return self._nothing()

    def pass_time_of(self, slots: Int64, now: Int64) -> Step:
        """Nothing waits for time to pass."""
        return self._nothing()

    def punctuated_keyed(self, reached: Int64) -> Step:
        """Nothing waits for a promise."""
        return self._nothing()

    def end_keyed(self) -> Step:
        """Nothing waits for the end."""
        return self._nothing()

    def least_mark(self) -> int:
        """Rows pass as they come: how far they have come is for the input to say."""
        return FOREVER

    def identity(self) -> dict[str, Any]:
        """The id's columns and the other roles."""
        return {"roles": role_names(self.roles)}

    def save(self) -> dict[str, Any]:
        """Write what has changed."""
        return {**super().save(), "passed": self._passed.save()}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        super().load(meta)
        self._passed.load(meta["passed"])

    def notes(self) -> dict[str, Any]:
        """How many ids are remembered; rows wait only while their arrival is in doubt."""
        return {"held": self.in_doubt, "keys": len(self.keys)}

    def _nothing(self) -> Step:
        blank = self.blank()
        none = np.zeros(0, np.int64)
        return Step([blank], none, lambda: (None, none))


def _without_id(rows: pa.RecordBatch, columns: tuple[str, ...]) -> NDArray[np.bool_]:
    """Rows whose id has a part that is null."""
    missing = np.zeros(rows.num_rows, bool)
    for name in columns:
        if rows.column(name).null_count:
            missing |= pc.is_null(rows.column(name)).to_numpy(zero_copy_only=False)
    return missing
