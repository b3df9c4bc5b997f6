"""Synchronise thousands of sources by their frontiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.kernel import Store
from slackwater.core.state.buffer import Rows
from slackwater.reorder.release import by_step, order_by_key
from slackwater.synchronise.admit import Queue, admit, expire_all, place, queue_of
from slackwater.synchronise.book import CLOCK, FAILURES, GONE, HELD, MARK, NEVER, SINCE, TOP
from slackwater.synchronise.config import Synchroniser
from slackwater.synchronise.logic import FOREVER, Int64, SyncLogic
from slackwater.synchronise.rows import Arrivals, Released, clock_of, member_of

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

    def _logic(self, store: Store | None) -> FrontierLogic:
        return FrontierLogic(self, store)


class FrontierLogic(SyncLogic):
    """A running `FrontierSync`."""

    def _take(self, new: Arrivals) -> tuple[Released, Int64, Int64]:
        count, limits = len(new.time), self._limits()
        end = self._key_rows[:, CLOCK].copy()
        np.maximum.at(end, new.key, new.arrival)
        queue, failures = self._queue(end, count)
        late_by, clock, mark = (np.zeros(count, np.int64) for _ in range(3))
        ready, forced = np.zeros(count, np.int64), np.full(count, NEVER)
        admit(self._book(), new.key, new.member, new.time, new.arrival, queue, *limits, late_by,
              clock, mark, ready, forced)
        self._touch_failed(failures)
        arrived = new.held(clock)
        rows, step, stays = self._release(arrived, late_by, mark)
        timed_out = (rows.time > ready[step]) & (rows.time <= forced[step])
        self._keep(arrived.take(np.flatnonzero(stays)))
        return Released(rows, clock[step], timed_out), late_by, clock

    def _pass_time(self, now: Int64) -> Released:
        book = self._book()
        before = book.key[:, MARK].copy()
        queue, failures = self._queue(now, 0)
        forced = np.full(len(before), NEVER)
        expire_all(book, now, queue, *self._limits(), forced)
        self._touch_failed(failures)
        self._marks.touch(np.flatnonzero(book.key[:, MARK] != before))
        return self._quiet_release(now, forced)

    def _let_all_go(self) -> Released:
        keys = self._key_rows
        moved = np.flatnonzero(keys[:, MARK] != keys[:, TOP])
        keys[moved, MARK] = keys[moved, TOP]
        self._marks.touch(moved)
        return self._quiet_release(keys[:, CLOCK], np.full(len(keys), NEVER))

    def _save(self) -> dict[str, Any]:
        return {}

    def _load(self, meta: dict[str, Any]) -> None:
        pass

    def _queue(self, end: Int64, more: int) -> tuple[Queue, Int64 | None]:
        """What may time out until the keys' clocks reach `end`, and the failures before that.

        Held rows are read only if one of them may be too old.
        """
        keys, none = len(end), np.zeros(0, np.int64)
        limit, _, _ = self._limits()
        since = self._key_rows[:, SINCE]
        if limit < 0:
            return queue_of(keys, none, none, none, none, more), None
        if not ((since != FOREVER) & (end - np.where(since == FOREVER, end, since) > limit)).any():
            queue = queue_of(keys, none, none, none, none, more)
            return queue, self._member_rows[:, FAILURES].copy()
        parts = self._hold.everything()
        key, time, n, clock, member = (
            np.concatenate(columns) for columns in zip(
                *[(p.key, p.time, p.n, clock_of(p), member_of(p)) for p in parts], strict=True))
        order = np.argsort(n)
        exact = np.full(keys, FOREVER)
        np.minimum.at(exact, key, clock)
        since[:] = exact
        self._marks.touch(np.unique(key))
        queue = queue_of(keys, key[order], time[order], clock[order], member[order], more)
        return queue, self._member_rows[:, FAILURES].copy()

    def _touch_failed(self, before: Int64 | None) -> None:
        if before is not None:
            self._members.touch(np.flatnonzero(before != self._member_rows[:, FAILURES]))

    def _release(self, new: Rows, late_by: Int64,
                 mark: Int64) -> tuple[Rows, Int64, NDArray[np.bool_]]:
        """Rows that leave, the step of each, and which new rows stay."""
        final = self._key_rows[:, MARK].copy()
        parts = self._hold.due(int(final.max(initial=NEVER)))
        rows = Rows.concat([*parts, new])
        held, keys = len(rows) - len(new), len(final)
        by_time, time_starts = order_by_key(rows.key, rows.time, rows.n, keys)
        by_arrival, starts = _by_key(new.key, keys)
        out, step = place(rows.time, held, late_by, mark, final, by_time, time_starts, by_arrival,
                          starts)
        if keys > 1 or (np.diff(step) < 0).any():
            out, step = by_step(out, step, len(mark))
        tail = int(np.searchsorted(step, len(mark)))
        if keys > 1 and tail < len(out):  # let go together: merged over the keys
            last = out[tail:]
            out[tail:] = last[np.lexsort((rows.n[last], rows.time[last]))]
        stays = np.ones(len(rows), bool)
        stays[out] = False
        self._key_rows[:, GONE] = final
        keep, at = [], 0
        for part in parts:
            keep.append(stays[at:at + len(part)])
            at += len(part)
        self._key_rows[:, HELD] -= np.bincount(rows.key[out[out < held]], minlength=keys)
        self._hold.settle(keep, parts)
        return rows.take(out), step, stays[held:] & (late_by == 0)

    def _quiet_release(self, now: Int64, forced: Int64) -> Released:
        none = np.zeros(0, np.int64)
        parts = self._hold.due(int(self._key_rows[:, MARK].max(initial=NEVER)))
        if not parts:
            self._key_rows[:, GONE] = self._key_rows[:, MARK]
            return self._none_released()
        blank = parts[0].take(none)
        rows, _, _ = self._release(blank, none, none)
        self._key_rows[self._key_rows[:, HELD] == 0, SINCE] = FOREVER
        return Released(rows, now[rows.key], rows.time <= forced[rows.key])

    def _keep(self, rows: Rows) -> None:
        """Hold new rows; a key that held none before has waited since the first of them."""
        held, since = self._key_rows[:, HELD], self._key_rows[:, SINCE]
        since[held == 0] = FOREVER
        if len(rows) == 0:
            return
        clock = clock_of(rows)
        fresh = np.full(len(held), FOREVER)
        np.minimum.at(fresh, rows.key, clock)
        np.minimum(since, fresh, out=since)
        held += np.bincount(rows.key, minlength=len(held))
        self._hold.add(rows)


def _by_key(key: Int64, keys: int) -> tuple[Int64, Int64]:
    starts = np.zeros(keys + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=keys), out=starts[1:])
    return (np.arange(len(key)) if keys == 1 else np.argsort(key, kind="stable")), starts
