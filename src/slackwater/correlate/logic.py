"""A running `Correlate`: the rows that wait for partners, and the pairs they make."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.core.errors import ConfigError, SnapshotError, did_you_mean
from slackwater.core.events import NEVER
from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.outcome import outcome
from slackwater.core.state import Hold, KeyTable, Record, Table, bundle
from slackwater.core.state.buffer import Rows
from slackwater.core.state.record import decode_schema, encode_schema
from slackwater.correlate.bounds import reach, task
from slackwater.correlate.match import COUNTERS, arrange, match
from slackwater.correlate.predicate import OPEN
from slackwater.correlate.rows import check_columns, pair_columns, read_intervals, split_by

if TYPE_CHECKING:
    from slackwater.correlate.kernel import Correlate

__all__ = ["SIDES", "CorrelateLogic"]

Int64 = NDArray[np.int64]
SIDES = ("left", "right")
_FOREVER = np.iinfo(np.int64).max
_MIN = "__min"  # where the earliest time travels with a held row


class CorrelateLogic:
    """A running `Correlate`."""

    def __init__(self, config: Correlate, store: Store | None) -> None:
        self._config = config
        self._own = MemoryStore() if store is None else None
        self._store: Store = store if store is not None else self._own  # type: ignore[assignment]
        self._by = split_by(config.by)
        self._keys = KeyTable("keys", self._by[0])
        self._clocks = Table("clocks", {side: np.int64(NEVER) for side in SIDES})
        self._held = [Hold(side, self._store, partial(self._obsolete, s))
                      for s, side in enumerate(SIDES)]
        # rows of an unfinished block; they are never obsolete before they have been evaluated
        self._waiting = [Hold(f"{side}-waiting", self._store, _none) for side in SIDES]
        self._since = [_FOREVER, _FOREVER]  # arrival of the first waiting row
        self._oldest = [_FOREVER, _FOREVER]  # smallest latest time among the waiting rows
        shapes = tuple(d.shape() for d in config.distribution)  # type: ignore[union-attr]
        self._tasks = [task(config.predicate, config.confidence, config.horizon,  # type: ignore[arg-type]
                            side == 0, shapes) for side in range(2)]  # type: ignore[arg-type]
        # how far behind the other side's future rows a row of this side is still of use
        self._reach = [reach(config.shortest, config.longest, self._tasks[1 - s])  # type: ignore[arg-type]
                       for s in range(2)]
        self._blocks = config.block is not None or config.every is not None
        self._n = [0, 0]
        self._schemas: list[pa.Schema | None] = [None, None]
        self._counters = np.zeros(len(COUNTERS), np.int64)
        self._totals = {"pairs": 0, "response": 0, "arrivals": 0, "buffered": 0}

    # -- the protocol, with a side --------------------------------------------------------------

    def push(self, batch: pa.RecordBatch, side: str) -> Out:
        """Take rows of one side, ``"left"`` or ``"right"``, in arrival order."""
        s = _side(side)
        config = self._config
        self._check(batch.schema, s)
        roles = config.roles[s]  # type: ignore[index]
        ends = read_intervals(batch, roles, self._by[s], config.shortest, config.longest)  # type: ignore[arg-type]
        good = np.flatnonzero(ends.good)
        rows = batch if len(good) == batch.num_rows else batch.take(pa.array(good))
        key = self._codes(rows, s)
        arrival, last = ends.arrival[good], ends.last[good]
        self._clocks.grow(len(self._keys))
        self._clocks.touch(key)
        # held rows stay until this batch has been evaluated, so the clocks move after it
        clock, moved = np.empty_like(arrival), self._clocks[side].copy()
        _follow(arrival, key, moved, clock)
        behind = clock - last - config.max_delay[s]  # type: ignore[index,operator]
        fine = np.flatnonzero(behind <= 0)
        late = np.flatnonzero(behind > 0)
        payload = rows.append_column(_MIN, pa.array(ends.first[good]))
        new = Rows(key, last, np.arange(len(good)), payload).take(fine)
        new = Rows(new.key, new.time, np.arange(self._n[s], self._n[s] + len(fine)), new.payload)
        self._n[s] += len(new)
        ready = self._take(new, clock[fine], s)
        self._clocks[side][:] = moved
        self._drop_obsolete()
        reasons = [f"came {format_duration(int(b))} after max_delay" for b in behind[late]]
        bad = np.flatnonzero(~ends.good)
        why = ends.reasons()[bad] if len(bad) else None
        return Out(ready, self._told(rows, late, reasons, clock[late]),
                   self._told(batch, bad, why, ends.arrival[bad]), self._notes())

    def tick(self, now: int) -> Out:
        """Let time pass on both sides' clocks: waiting blocks fall due, obsolete rows leave."""
        for side in SIDES:
            clocks = self._clocks[side]
            self._clocks.touch(np.flatnonzero(clocks < now))
            np.maximum(clocks, now, out=clocks)
        every = self._config.every
        parts = []
        for s in range(2):
            if every is not None and len(self._waiting[s]) and now - self._since[s] >= every:  # type: ignore[operator]
                parts += self._flush(s, now)
        self._drop_obsolete()
        return self._quiet(parts)

    def finish(self) -> Out:
        """End of input: what waits in unfinished blocks is evaluated, and nothing is held."""
        parts = []
        for s in range(2):
            if len(self._waiting[s]):
                parts += self._flush(s, None)
        for hold in self._held:
            hold.clear()
        return self._quiet(parts)

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        meta = {
            "config": self._fingerprint(), "n": self._n, "since": self._since,
            "oldest": self._oldest, "totals": self._totals,
            "counters": self._counters.tolist(),
            "schemas": [encode_schema(schema) for schema in self._schemas],
            "keys": self._keys.save(self._store), "clocks": self._clocks.save(self._store),
            "held": [hold.save() for hold in self._held],
            "waiting": [hold.save() for hold in self._waiting],
        }
        index = Record("correlate", 1, meta).encode()
        return index if self._own is None else bundle(index, self._own)

    def _load(self, index: bytes) -> None:
        meta = Record.decode(index, kind="correlate", version=1).meta
        for name, value in self._fingerprint().items():
            if meta["config"].get(name) != value:
                raise SnapshotError(f"{name} has changed since the snapshot",
                                    step="restore correlate", got=value,
                                    expected=meta["config"].get(name),
                                    hint="keep it, or start afresh with a new checkpoint")
        self._n, self._since, self._oldest = meta["n"], meta["since"], meta["oldest"]
        self._totals = dict(meta["totals"])
        self._counters[:] = meta["counters"]
        self._schemas = [decode_schema(text) for text in meta["schemas"]]
        self._keys.load(self._store, meta["keys"])
        self._clocks.load(self._store, meta["clocks"])
        for hold, part in zip([*self._held, *self._waiting],
                              [*meta["held"], *meta["waiting"]], strict=True):
            hold.load(part)

    # -- inside ---------------------------------------------------------------------------------

    def _fingerprint(self) -> dict[str, str]:
        return {f.name: str(getattr(self._config, f.name)) for f in fields(self._config)
                if f.name != "probability"}

    def _check(self, schema: pa.Schema, s: int) -> None:
        known = self._schemas[s]
        if known is None:
            roles = self._config.roles[s]  # type: ignore[index]
            check_columns(schema.names, roles, self._by[s], SIDES[s])
            if self._config.owner is not None and self._config.owner not in schema.names:
                raise ConfigError(f"there is no column {self._config.owner!r} (owner)",
                                  step=f"correlate ({SIDES[s]})", expected=schema.names)
            self._schemas[s] = schema
        elif not schema.equals(known):
            raise ConfigError(f"the {SIDES[s]} columns have changed between two batches",
                              step="correlate", expected=known, got=schema)

    def _codes(self, rows: pa.RecordBatch, s: int) -> Int64:
        if self._by[0] and s == 1:  # the keys are known by the left's names
            rows = pa.RecordBatch.from_arrays([rows.column(n) for n in self._by[1]],
                                              names=list(self._by[0]))
        return self._keys.codes(rows)

    def _take(self, new: Rows, clock: Int64, s: int) -> pa.RecordBatch:
        """Find the pairs of new rows, as blocks become full, and hold the rows."""
        self._totals["arrivals"] += len(new)
        self._totals["buffered"] += len(new) * self._buffered()
        if not self._blocks:
            parts = self._evaluate(new, clock, s)
            self._held[s].add(new)
        else:
            parts = []
            before = self._waiting[s].everything()
            held = len(self._waiting[s])
            rows = Rows.concat([*before, new])
            rows = rows.take(np.argsort(rows.n))
            config, at = self._config, 0
            ends = _full(clock, held, self._since[s], config.block or _FOREVER,
                         _FOREVER if config.every is None else config.every)
            for end in ends:
                block = rows.take(np.arange(at, held + end))
                parts += self._evaluate(block, clock[end - 1:end].repeat(len(block)), s)
                self._held[s].add(block)
                at = held + int(end)
            if at or len(new):
                rest = rows.take(np.arange(at, len(rows)))
                self._waiting[s].clear()
                self._waiting[s].add(rest)
                if at or held == 0:
                    left = len(rest)
                    self._since[s] = int(clock[-left]) if left else _FOREVER
                self._oldest[s] = int(rest.time.min(initial=_FOREVER))
        return self._joined(parts)

    def _flush(self, s: int, now: int | None) -> list[pa.RecordBatch]:
        rows = Rows.concat(self._waiting[s].everything())
        rows = rows.take(np.argsort(rows.n))
        clock = (np.full(len(rows), now) if now is not None
                 else self._clocks[SIDES[s]][rows.key])
        parts = self._evaluate(rows, clock, s)
        self._waiting[s].clear()
        self._since[s] = self._oldest[s] = _FOREVER
        self._held[s].add(rows)
        return parts

    def _evaluate(self, base: Rows, clock: Int64, s: int) -> list[pa.RecordBatch]:
        """Pairs of a block with what the other side holds."""
        if len(base) == 0 or self._schemas[1 - s] is None:
            return []
        config = self._config
        first = base.payload.column(_MIN).to_numpy()
        nearest, furthest = self._span(first, base.time, s)
        parts = self._held[1 - s].near(nearest, furthest)
        if not parts:
            return []
        other = Rows.concat(parts)
        order = np.argsort(other.n)  # ties in order of arrival, however the runs were cut
        targets, by_time = arrange(other.key[order], other.payload.column(_MIN).to_numpy()[order],
                                   other.time[order], len(self._keys))
        origin = order[by_time]
        pairs = match(config.algorithm, base.key, first, base.time, targets, self._tasks[s],
                      config.probability, self._counters)
        if len(pairs.base) == 0:
            return []
        theirs = origin[pairs.target]
        when = clock[pairs.base]
        happened = np.maximum(base.time[pairs.base], other.time[theirs])
        self._totals["pairs"] += len(when)
        self._totals["response"] += int((when - happened).sum())
        mine = base.payload.take(pa.array(pairs.base)), other.payload.take(pa.array(theirs))
        left, right = mine if s == 0 else mine[::-1]
        return [self._pairs(left, right, pairs.probability, when)]

    def _span(self, first: Int64, last: Int64, s: int) -> tuple[int, int]:
        """Latest times that partners of these rows can have."""
        lo, hi, horizon = self._tasks[s].lo, self._tasks[s].hi, self._tasks[s].horizon
        longest: int = self._config.longest  # type: ignore[assignment]
        return (int(last.min()) - horizon if lo == -OPEN else int(first.min()) + lo,
                int(last.max()) + horizon if hi == OPEN else int(last.max()) + hi + longest)

    def _pairs(self, left: pa.RecordBatch, right: pa.RecordBatch, p: NDArray[np.float64],
               when: Int64) -> pa.RecordBatch:
        drop = {_MIN, self._config.owner}
        one, two = ([n for n in side.schema.names if n not in drop] for side in (left, right))
        names = pair_columns(one, two)
        columns = [left.column(n) for n in one] + [right.column(n) for n in two]
        unknown = None if self._config.probability else np.isnan(p)
        batch = pa.RecordBatch.from_arrays([*columns, pa.array(p, mask=unknown)],
                                           names=[*names[0], *names[1], "probability"])
        return outcome(batch, None, when)

    def _joined(self, parts: list[pa.RecordBatch]) -> pa.RecordBatch:
        if parts:
            return parts[0] if len(parts) == 1 else pa.concat_batches(parts)
        left, right = (pa.RecordBatch.from_pylist([], s) if s is not None else pa.record_batch({})
                       for s in self._schemas)
        return self._pairs(left, right, np.zeros(0), np.zeros(0, np.int64))

    def _told(self, rows: pa.RecordBatch, index: Int64, reasons: Any,
              when: Int64) -> pa.RecordBatch:
        """Rows that are late or of no use; of copies, only the owner's."""
        out = rows.take(pa.array(index))
        owner = self._config.owner
        if owner is not None:
            mine = np.asarray(out.column(owner).to_numpy(zero_copy_only=False), bool)
            keep = np.flatnonzero(mine)
            reasons = None if reasons is None else np.asarray(reasons, object)[keep]
            out, when = out.take(pa.array(keep)), when[keep]
            out = out.drop_columns([owner])
        return outcome(out, reasons, when)

    def _quiet(self, parts: list[pa.RecordBatch]) -> Out:
        schema = self._schemas[0] or self._schemas[1]
        empty = pa.record_batch({}) if schema is None else pa.RecordBatch.from_pylist([], schema)
        if self._config.owner in empty.schema.names:
            empty = empty.drop_columns([self._config.owner])
        none = outcome(empty, None, np.zeros(0, np.int64))
        return Out(self._joined(parts), none, none, self._notes())

    def _thresholds(self, s: int) -> Int64:
        """For each key the latest time below which a held row of side s has no partner to come."""
        clock = self._clocks[SIDES[1 - s]]
        ends = np.where(clock == NEVER, NEVER // 2, clock) - self._config.max_delay[1 - s]  # type: ignore[index]
        return np.minimum(ends, self._oldest[1 - s]) + self._reach[s]

    def _obsolete(self, s: int, rows: Rows) -> NDArray[np.bool_]:
        return rows.time < self._thresholds(s)[rows.key]

    def _drop_obsolete(self) -> None:
        for s, hold in enumerate(self._held):
            if len(hold):
                parts = hold.due(int(self._thresholds(s).max()) - 1)
                hold.settle([np.ones(len(part), bool) for part in parts], parts)

    def _buffered(self) -> int:
        return sum(len(hold) for hold in [*self._held, *self._waiting])

    def _notes(self) -> dict[str, Any]:
        totals, (probes, hits, unseen) = self._totals, self._counters.tolist()
        clocks = [self._clocks[side] for side in SIDES]
        return {
            "held": self._buffered(),
            "held_left": len(self._held[0]) + len(self._waiting[0]),
            "held_right": len(self._held[1]) + len(self._waiting[1]),
            "keys": len(self._keys),
            "clock": [int(c.max()) if len(c) and c.max() != NEVER else None for c in clocks],
            "pairs": totals["pairs"],
            "probes": probes,
            "lookup_hits": hits,
            "taken_unseen": unseen,
            "mean_buffer": totals["buffered"] / max(totals["arrivals"], 1),
            "mean_response": totals["response"] / max(totals["pairs"], 1),
        }


def _side(side: str) -> int:
    if side not in SIDES:
        raise ConfigError("is not a side", step="correlate.push", expected="'left' or 'right'",
                          got=repr(side), hint=did_you_mean(str(side), SIDES))
    return SIDES.index(side)


def _none(rows: Rows) -> NDArray[np.bool_]:
    return np.zeros(len(rows), bool)


@njit(cache=True)
def _follow(arrival: Int64, key: Int64, clock: Int64, out: Int64) -> None:
    """The clock of a key at each arrival: its greatest arrival so far."""
    for j in range(len(arrival)):
        clock[key[j]] = max(clock[key[j]], arrival[j])
        out[j] = clock[key[j]]


@njit(cache=True)
def _full(clock: Int64, waiting: int, since: int, block: int, every: int) -> Int64:
    """After how many of the new rows a block is full, by count or by time."""
    ends = np.empty(len(clock), np.int64)
    n = 0
    for j in range(len(clock)):
        if waiting == 0:
            since = clock[j]
        waiting += 1
        if waiting >= block or clock[j] - since >= every:
            ends[n] = j + 1
            n += 1
            waiting = 0
    return ends[:n]
