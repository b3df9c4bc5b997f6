"""A running method of the paper: one structure a key, snapshotted whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from slackwater.core.errors import ConfigError
from slackwater.core.kernel import Store
from slackwater.core.keyed import Keyed
from slackwater.core.state.record import Record
from slackwater.core.steps import Step
from slackwater.synchronise.book import FOREVER, LIVE, NEVER
from slackwater.synchronise.classic import MERGED, TREE, Classic
from slackwater.synchronise.logic import Int64, SyncLogic
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
from slackwater.synchronise.rows import Released, to_hold, without_extras
from slackwater.synchronise.run import process, run, run_quiet, wait_for

__all__ = ["ClassicLogic"]


class ClassicLogic(SyncLogic):
    """A running method of the paper."""

    config: Classic

    def __init__(self, config: Classic, store: Store) -> None:
        super().__init__(config, store)
        self.silence = None  # the structures have a bit per source that ever joined
        self._pools: dict[int, Pool] = {}

    @property
    def counters(self) -> dict[str, int]:
        """Comparisons of times, updates (readiness bits set), visited nodes, so far."""
        totals = sum((pool.tally for pool in self._pools.values()), np.zeros(3, np.int64))
        return dict(zip(COUNTERS, totals.tolist(), strict=True))

    def _take(self, given: Keyed, member: Int64) -> tuple[Released, Int64, Int64]:
        new, count = given.new, len(given)
        late_by, clock, allowed = (np.zeros(count, np.int64) for _ in range(3))
        forced = np.full(count, NEVER)
        left = []
        for q, k in enumerate(given.slots.tolist()):
            step = np.flatnonzero(given.key == q)
            mine = member[step]
            unknown = np.unique(mine[self._member_rows["bit"][mine] < 0])
            pool = self._pool(k, len(step), len(unknown))
            run(self.config.method, self._book(), k, pool, step, mine, new.time[step],
                new.arrival[step], new.n[step], *self._limits(), late_by, clock, allowed,
                forced)
            left.append(_collect(pool))
        self._members.touch(self._names.live())
        self._buffer.add(to_hold(new, given.slot, clock, member, np.flatnonzero(late_by == 0)))
        out_n, step = _joined(left)
        order = np.argsort(step, kind="stable")
        out_n, step = out_n[order], step[order]
        rows, time, _ = self._leave(out_n)
        timed_out = (time > allowed[step]) & (time <= forced[step]) & (out_n != new.n[step])
        return Released(rows, time, clock[step], timed_out, new.n[step]), late_by, clock

    def _pass_time(self, now: Int64) -> Released:
        left, allowed, forced = [], np.full(len(now), NEVER), np.full(len(now), NEVER)
        for k in np.flatnonzero(now != NEVER).tolist():
            pool = self._pool(k, 0, 0)
            allowed[k], forced[k] = run_quiet(self.config.method, self._book(), k, pool, now[k],
                                              *self._limits())
            left.append(_collect(pool))
        self._members.touch(self._names.live())
        return self._together(left, now, allowed, forced)

    def punctuated(self, time: int, source: str | None, key: Mapping[str, Any] | None) -> Step:
        """Only of all sources: a table has no bit for an event that is not there."""
        if source is not None:
            name = type(self.config).__name__
            raise ConfigError("takes no punctuation of a single source", step=f"{name}.punctuate",
                              got=f"source={source!r}",
                              hint="FrontierSync does, and releases the same events")
        return super().punctuated(time, source, key)

    def _release_punctuated(self, slots: Int64, time: Int64) -> Released:
        left = []
        # a promise releases wherever a node stands, not at the root alone
        method = MERGED if self.config.method == TREE else self.config.method
        for k, until in zip(slots.tolist(), time.tolist(), strict=True):
            pool = self._pool(k, 0, 0)
            process(method, pool, until)
            pool.head[LAST] = max(pool.head[LAST], until)
            left.append(_collect(pool))
        none = np.full(len(self._key_rows), NEVER)
        return self._together(left, self._key_rows["clock"], none, none)

    def _release_all(self) -> Released:
        left = []
        for k in self.keys.live().tolist():
            pool = self._pool(k, 0, 0)
            process(self.config.method, pool, FOREVER)
            self._key_rows["mark"][k] = max(self._key_rows["mark"][k], self._key_rows["top"][k])
            left.append(_collect(pool))
        clock = self._key_rows["clock"]
        none = np.full(len(clock), NEVER)
        return self._together(left, clock, none, none)

    def _together(self, left: list[tuple[Int64, Int64]], now: Int64, allowed: Int64,
                  forced: Int64) -> Released:
        """What time alone released: merged over the keys, by time."""
        self._marks.touch(self.keys.live())
        out_n, _ = _joined(left)
        if not len(out_n):
            return self._none_released()
        rows, time, slot = self._leave(out_n)
        order = np.arange(len(time))
        if len(self.keys) > 1:
            order = np.lexsort((out_n, time))
            rows, time, slot = rows.take(pa.array(order)), time[order], slot[order]
        timed_out = (time > allowed[slot]) & (time <= forced[slot])
        return Released(rows, time, now[slot], timed_out, slot)

    def _leave(self, out_n: Int64) -> tuple[pa.RecordBatch, Int64, Int64]:
        """The rows with these arrival numbers, in that order, their times and keys' slots."""
        held = self._buffer.due(np.full(self.keys.room, FOREVER))
        by_n = np.argsort(held.n)
        out = by_n[np.searchsorted(held.n, out_n, sorter=by_n)]
        gone = np.zeros(len(held), bool)
        gone[out] = True
        rows = without_extras(held.payload(out)) if len(out) else self._none_released().rows
        for k, pool in self._pools.items():
            self._key_rows["gone"][k] = pool.head[LAST]
            self._key_rows["held"][k] = pool.head[SIZE]
        self._buffer.leave(held, gone)
        return rows, held.time[out], held.slot[out]

    def _pool(self, k: int, more: int, joining: int) -> Pool:
        """The pool of a key, with room for so many more nodes and sources."""
        words = max(1, -(-int(self._key_rows["joined"][k] + joining) // 64))
        fresh = k not in self._pools
        pool = new_pool(max(more, 16), words) if fresh else self._pools[k]
        pool = grow_pool(pool, int(pool.head[SIZE]) + more, words)
        pool.head[OUT] = 0
        self._pools[k] = pool
        if fresh:
            pool.head[LAST] = max(pool.head[LAST], self._key_rows["mark"][k])
            members = self._member_rows
            live = self._names.live()
            mine = live[(members["key"][live] == k) & (members["state"][live] == LIVE)]
            self._changed(np.full(len(mine), k), mine)
        return pool

    def _changed(self, keys: Int64, members: Int64) -> None:
        for k, p in zip(keys.tolist(), members.tolist(), strict=True):
            pool = self._pool(k, 0, 0)
            wait_for(pool, self._member_rows["bit"][p],
                     bool(self._member_rows["state"][p] == LIVE))
            pool.head[WORDS] = -(-self._key_rows["joined"][k] // 64)

    def _save(self) -> dict[str, Any]:
        for k, pool in self._pools.items():
            self.store.put(f"pool/{k}", Record("pool", 1, {}, pool_arrays(pool)).encode())
        return {"pools": list(self._pools)}

    def _load(self, meta: Mapping[str, Any]) -> None:
        for k in meta["pools"]:
            record = Record.decode(self.store.get(f"pool/{k}"), kind="pool", version=1)
            self._pools[k] = pool_from(record.arrays)


def _collect(pool: Pool) -> tuple[Int64, Int64]:
    count = int(pool.head[OUT])
    return pool.node["out_n"][:count].copy(), pool.node["out_step"][:count].copy()


def _joined(left: list[tuple[Int64, Int64]]) -> tuple[Int64, Int64]:
    none = np.zeros(0, np.int64)
    return (np.concatenate([none, *(n for n, _ in left)]),
            np.concatenate([none, *(step for _, step in left)]))
