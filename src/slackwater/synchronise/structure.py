"""A running method of the paper: one structure a key, snapshotted whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from slackwater.core.kernel import Store
from slackwater.core.state import Record
from slackwater.core.state.buffer import Rows
from slackwater.synchronise.book import (
    BIT,
    CLOCK,
    GONE,
    HELD,
    JOINED,
    KEY,
    LIVE,
    MARK,
    NEVER,
    STATE,
    TOP,
)
from slackwater.synchronise.classic import Classic
from slackwater.synchronise.logic import FOREVER, Int64, SyncLogic
from slackwater.synchronise.pool import (
    COUNTERS,
    LAST,
    OUT,
    SIZE,
    WORDS,
    Pool,
    grow_pool,
    new_pool,
    pool_arrays,
    pool_from,
)
from slackwater.synchronise.rows import Arrivals, Released
from slackwater.synchronise.run import process, run, run_quiet, wait_for

__all__ = ["ClassicLogic"]


class ClassicLogic(SyncLogic):
    """A running method of the paper."""

    config: Classic

    def __init__(self, config: Classic, store: Store | None) -> None:
        super().__init__(config, store)
        self._pools: dict[int, Pool] = {}

    @property
    def counters(self) -> dict[str, int]:
        """Comparisons of times, updates (readiness bits set), visited nodes, so far."""
        totals = sum((pool.tally for pool in self._pools.values()), np.zeros(3, np.int64))
        return dict(zip(COUNTERS, totals.tolist(), strict=True))

    def _take(self, new: Arrivals) -> tuple[Released, Int64, Int64]:
        count = len(new.time)
        late_by, clock, ready = (np.zeros(count, np.int64) for _ in range(3))
        forced = np.full(count, NEVER)
        left = []
        for k in np.unique(new.key).tolist():
            step = np.flatnonzero(new.key == k)
            member = new.member[step]
            unknown = np.unique(member[self._member_rows[member, BIT] < 0])
            pool = self._pool(k, len(step), len(unknown))
            run(self.config.method, self._book(), k, pool, step, member, new.time[step],
                new.arrival[step], new.n[step], *self._limits(), late_by, clock, ready, forced)
            left.append(_collect(pool))
        self._members.touch(np.arange(self._members.rows))
        arrived = new.held(clock).take(np.flatnonzero(late_by == 0))
        out_n, step = _joined(left)
        order = np.argsort(step, kind="stable")
        rows, step = self._leave(arrived, out_n[order]), step[order]
        timed_out = (rows.time > ready[step]) & (rows.time <= forced[step])
        return Released(rows, clock[step], timed_out), late_by, clock

    def _pass_time(self, now: Int64) -> Released:
        left, forced = [], np.full(self._marks.rows, NEVER)
        for k in range(self._marks.rows):
            pool = self._pool(k, 0, 0)
            forced[k] = run_quiet(self.config.method, self._book(), k, pool, now[k],
                                  *self._limits())
            left.append(_collect(pool))
        self._members.touch(np.arange(self._members.rows))
        return self._quietly(left, now, forced)

    def _let_all_go(self) -> Released:
        left = []
        for k in range(self._marks.rows):
            pool = self._pool(k, 0, 0)
            process(self.config.method, pool, FOREVER)
            self._key_rows[k, MARK] = self._key_rows[k, TOP]
            left.append(_collect(pool))
        return self._quietly(left, self._key_rows[:, CLOCK], np.full(len(left), NEVER))

    def _quietly(self, left: list[tuple[Int64, Int64]], now: Int64, forced: Int64) -> Released:
        self._marks.touch(np.arange(self._marks.rows))
        out_n, _ = _joined(left)
        if not len(out_n):
            return self._none_released()
        rows = self._leave(None, out_n)
        if len(self._keys) > 1:
            rows = rows.take(np.lexsort((rows.n, rows.time)))
        return Released(rows, now[rows.key], rows.time <= forced[rows.key])

    def _leave(self, arrived: Rows | None, out_n: Int64) -> Rows:
        """The rows with these arrival numbers, in that order; all others are held."""
        parts = self._hold.everything()
        rows = Rows.concat([*parts, *([] if arrived is None else [arrived])])
        by_n = np.argsort(rows.n)
        out = by_n[np.searchsorted(rows.n, out_n, sorter=by_n)]
        stays = np.ones(len(rows), bool)
        stays[out] = False
        keep, at = [], 0
        for part in parts:
            keep.append(stays[at:at + len(part)])
            at += len(part)
        for k, pool in self._pools.items():
            self._key_rows[k, GONE], self._key_rows[k, HELD] = pool.head[LAST], pool.head[SIZE]
        self._hold.settle(keep, parts)
        if arrived is not None:
            self._hold.add(arrived.take(np.flatnonzero(stays[at:])))
        return rows.take(out)

    def _pool(self, k: int, more: int, joining: int) -> Pool:
        """The pool of a key, with room for so many more nodes and sources."""
        words = max(1, -(-int(self._key_rows[k, JOINED] + joining) // 64))
        fresh = k not in self._pools
        pool = new_pool(max(more, 16), words) if fresh else self._pools[k]
        pool = grow_pool(pool, int(pool.head[SIZE]) + more, words)
        pool.head[OUT] = 0
        self._pools[k] = pool
        if fresh:
            members = self._member_rows
            mine = np.flatnonzero((members[:, KEY] == k) & (members[:, STATE] == LIVE))
            self._changed(np.full(len(mine), k), mine)
        return pool

    def _changed(self, keys: Int64, members: Int64) -> None:
        for k, p in zip(keys.tolist(), members.tolist(), strict=True):
            pool = self._pool(k, 0, 0)
            wait_for(pool, self._member_rows[p, BIT], bool(self._member_rows[p, STATE] == LIVE))
            pool.head[WORDS] = -(-self._key_rows[k, JOINED] // 64)

    def _save(self) -> dict[str, Any]:
        for k, pool in self._pools.items():
            self._store.put(f"pool/{k}", Record("pool", 1, {}, pool_arrays(pool)).encode())
        return {"pools": list(self._pools)}

    def _load(self, meta: dict[str, Any]) -> None:
        for k in meta["pools"]:
            record = Record.decode(self._store.get(f"pool/{k}"), kind="pool", version=1)
            self._pools[k] = pool_from(record.arrays)


def _collect(pool: Pool) -> tuple[Int64, Int64]:
    count = int(pool.head[OUT])
    return pool.node["out_n"][:count].copy(), pool.node["out_step"][:count].copy()


def _joined(left: list[tuple[Int64, Int64]]) -> tuple[Int64, Int64]:
    none = np.zeros(0, np.int64)
    return (np.concatenate([none, *(n for n, _ in left)]),
            np.concatenate([none, *(step for _, step in left)]))
