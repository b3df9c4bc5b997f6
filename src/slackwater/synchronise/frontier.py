"""Synchronise thousands of sources by their frontiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.kernel import Store
from slackwater.core.keyed import Keyed
from slackwater.core.release import release_behind, released, walk_over
from slackwater.core.slots import positions
from slackwater.synchronise.admit import Queue, admit, expire_all, queue_of
from slackwater.synchronise.book import FOREVER, NEVER
from slackwater.synchronise.config import Synchroniser
from slackwater.synchronise.logic import Int64, SyncLogic
from slackwater.synchronise.rows import Released, clock_and_member, to_hold, without_extras

__all__ = ["FrontierSync"]


@dataclass(frozen=True)
class FrontierSync(Synchroniser):
    """The production method: per-source frontiers, and rows sorted once a batch.

    An event costs the time to put one source right in a heap, O(log sources), and its share of a
    sort; held rows stay in sorted runs that are read only when due. Parameters: see `Synchroniser`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from slackwater.core.events import Roles
    >>> sync = FrontierSync(Roles("time", source="source", unit="ms"), sources=("a", "b"),
    ...                     max_delay=None)
    >>> logic = sync.start()
    >>> batch = pa.record_batch({"time": [5, 7, 6], "source": ["a", "a", "b"]})
    >>> logic.push(batch).ready["time"].to_pylist()
    [5, 6]
    >>> logic.finish().ready["time"].to_pylist()
    [7]

    References
    ----------
    The release rule is that of the paper on time synchronisation with binary trees
    (`TreeSync`); the frontiers and the merge are ours.
    """

    def logic(self, store: Store) -> FrontierLogic:
        """A logic with nothing held."""
        return FrontierLogic(self, store)


class FrontierLogic(SyncLogic):
    """A running `FrontierSync`."""

    def _take(self, given: Keyed, member: Int64) -> tuple[Released, Int64, Int64]:
        new, slots, count = given.new, given.slots, len(given)
        limits, book = self._limits(), self._book()
        end = np.maximum(book.key["clock"][slots], _last_arrivals(new.arrival, given.key,
                                                                  len(slots)))
        due, queue = self._queue(slots, end, count)
        # rows of this very batch may time out in it, if it is long enough
        due = due or (count > 0 and 0 <= limits[0] < int(end.max()) - int(new.arrival.min()))
        before_failures = book.member["failures"].copy() if due else None
        late_by, clock, mark = (np.zeros(count, np.int64) for _ in range(3))
        forced = np.full(count, NEVER)
        admit(book, slots, given.key, member, new.time, new.arrival, queue, *limits,
              self.forget_sources, late_by, clock, mark, forced)
        self._touch_failed(before_failures)
        held = self._buffer.upto(slots, book.key["mark"][slots]) if len(self._buffer) else None
        before = 0 if held is None else len(held)
        key, time, n = given.key, new.time, new.n
        if held is not None and before:
            key = np.concatenate([positions(slots, held.slot), key])
            time, n = np.concatenate([held.time, time]), np.concatenate([held.n, n])
        walk = walk_over(key, time, n, before, book.key["gone"][slots], np.full(len(slots), -1))
        release_behind(walk, late_by, mark)
        rows, step = released(walk)
        stays = np.ones(len(time), bool)
        stays[rows] = False
        stays[before:][late_by > 0] = False
        old = rows[rows < before]
        payload = new.rows
        if held is not None and before:
            self._buffer.leave(held, ~stays[:before])
            payload = pa.concat_batches([without_extras(held.payload(old)), new.rows])
            self._count(held.slot, ~stays[:before])
        index = np.empty(len(rows), np.int64)
        index[rows < before] = np.arange(len(old))
        index[rows >= before] = rows[rows >= before] - before + len(old)
        book.key["gone"][slots] = np.maximum(book.key["gone"][slots], book.key["mark"][slots])
        self._hold(given, clock, member, np.flatnonzero(stays[before:]))
        timed_out = (time[rows] <= forced[step]) & (rows != before + step)
        return (Released(payload.take(pa.array(index)), time[rows], clock[step], timed_out,
                         new.n[step]), late_by, clock)

    def _pass_time(self, now: Int64) -> Released:
        book = self._book()
        before = book.key["mark"].copy()
        due, queue = self._queue(np.arange(len(now)), now, 0)
        failures = book.member["failures"].copy() if due else None
        forced = np.full(len(now), NEVER)
        expire_all(book, now, queue, *self._limits(), forced)
        self._touch_failed(failures)
        self._marks.touch(np.flatnonzero(book.key["mark"] != before))
        return self._release_upto(np.where(now == NEVER, NEVER, book.key["mark"]), now, forced)

    def _release_punctuated(self, slots: Int64, time: Int64) -> Released:
        keys = self._key_rows
        limits = np.full(len(keys), NEVER)
        limits[slots] = keys["mark"][slots]
        return self._release_upto(limits, keys["clock"], np.full(len(keys), NEVER))

    def _release_all(self) -> Released:
        keys = self._key_rows
        moved = np.flatnonzero(keys["mark"] < keys["top"])
        keys["mark"][moved] = keys["top"][moved]
        self._marks.touch(moved)
        return self._release_upto(keys["mark"].copy(), keys["clock"], np.full(len(keys), NEVER))

    def _release_upto(self, limits: Int64, now: Int64, forced: Int64) -> Released:
        """Release each key up to its limit; together, so in time order over all keys."""
        keys = self._key_rows
        held = self._buffer.due(limits)
        np.maximum(keys["gone"], limits, out=keys["gone"])
        if not len(held):
            return self._none_released()
        order = np.lexsort((held.n, held.time))
        rows = without_extras(held.payload(order))
        self._buffer.leave(held, np.ones(len(held), bool))
        self._count(held.slot, np.ones(len(held), bool))
        self._marks.touch(held.slot)
        slot, time = held.slot[order], held.time[order]
        return Released(rows, time, now[slot], time <= forced[slot], slot)

    def _save(self) -> dict[str, Any]:
        return {}

    def _load(self, meta: Mapping[str, Any]) -> None:
        pass

    def _queue(self, slots: Int64, end: Int64, more: int) -> tuple[bool, Queue]:
        """What may time out until the keys' clocks reach `end`; whether anything may.

        Held rows are read only if one of them may be too old.
        """
        limit, _, _ = self._limits()
        since = self._key_rows["since"][slots]
        none = np.zeros(0, np.int64)
        if limit < 0:
            return False, queue_of(len(slots), none, none, none, none, more)
        due = np.flatnonzero((since != FOREVER) & (end != NEVER)
                             & (end - np.where(since == FOREVER, end, since) > limit))
        if not len(due):
            return False, queue_of(len(slots), none, none, none, none, more)
        held = self._buffer.upto(slots[due], np.full(len(due), FOREVER))
        clock, member = clock_and_member(held)
        exact = np.full(len(slots), FOREVER)
        key = positions(slots, held.slot)
        np.minimum.at(exact, key, clock)
        self._key_rows["since"][slots[due]] = exact[due]
        self._marks.touch(slots[due])
        order = np.argsort(held.n)
        return True, queue_of(len(slots), key[order], held.time[order], clock[order],
                              member[order], more)

    def _touch_failed(self, before: Int64 | None) -> None:
        """Members whose failures were counted have changed (None: nothing was due)."""
        if before is not None:
            now = self._member_rows["failures"][:len(before)]
            self._members.touch(np.flatnonzero(before != now))

    def _hold(self, given: Keyed, clock: Int64, member: Int64, stay: Int64) -> None:
        """Hold new rows; a key that held none before has waited since the first of them."""
        if len(stay) == 0:
            return
        rows, slots = self._key_rows, given.slots
        fresh = np.full(len(slots), FOREVER)
        np.minimum.at(fresh, given.key[stay], clock[stay])
        rows["since"][slots] = np.minimum(rows["since"][slots], fresh)
        rows["held"][slots] += np.bincount(given.key[stay], minlength=len(slots))
        self._buffer.add(to_hold(given.new, given.slot, clock, member, stay))

    def _count(self, slot: Int64, left: NDArray[np.bool_]) -> None:
        """Rows have left: a key that holds none waits for nothing."""
        rows = self._key_rows
        np.subtract.at(rows["held"], slot[left], 1)
        empty = np.unique(slot)
        empty = empty[rows["held"][empty] == 0]
        rows["since"][empty] = FOREVER


@njit(cache=True)
def _last_arrivals(arrival: Int64, key: Int64, keys: int) -> Int64:
    last = np.full(keys, NEVER)
    for j in range(len(arrival)):
        last[key[j]] = max(last[key[j]], arrival[j])
    return last
