"""A running `Correlate`: the rows that wait for partners, and the pairs they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.events import FOREVER, NEVER
from slackwater.core.kernel import Out, Store
from slackwater.core.layouts import laid_out
from slackwater.core.outcome import outcome
from slackwater.core.punctuation import Punctuation
from slackwater.core.stage import StageLogic, slot_of
from slackwater.core.state.buffer import Buffer, Rows
from slackwater.core.state.ipc import empty_rows
from slackwater.core.state.keys import Keys
from slackwater.core.state.pages import Pages
from slackwater.core.state.record import decode_schema, encode_schema
from slackwater.core.steps import Arrivals, Step
from slackwater.correlate.blocks import follow_into, full_blocks
from slackwater.correlate.bounds import reach, task
from slackwater.correlate.match import COUNTERS, arrange, match
from slackwater.correlate.predicate import OPEN
from slackwater.correlate.rows import (
    check_columns,
    check_key_types,
    pair_columns,
    read_intervals,
    split_by,
)

if TYPE_CHECKING:
    from slackwater.correlate.kernel import Correlate

__all__ = ["SIDES", "CorrelateLogic"]

Int64 = NDArray[np.int64]
SIDES = ("left", "right")
_MIN = "__min"  # where the earliest time travels with a held row


class CorrelateLogic(StageLogic):
    """A running `Correlate`: a stage with two inputs."""

    def __init__(self, config: Correlate, store: Store) -> None:
        roles = config.roles[0]  # type: ignore[index]
        super().__init__("correlate", roles, store)
        self._config = config
        self._by = split_by(config.by)
        self._keys = Keys("keys", self._by[0], store)
        # clocks: the greatest arrival of each side; held: rows of both; born: the first's number
        self._clocks = Pages("clocks", {**{side: np.int64(NEVER) for side in SIDES},
                                        "held": np.int64(0), "born": np.full(2, FOREVER)}, store)
        self._punctuation = Punctuation(SIDES, store)
        self._held = [Buffer(side, store, partial(self._obsolete, s))
                      for s, side in enumerate(SIDES)]
        # rows of an unfinished block; they are never obsolete before they have been evaluated
        self._waiting = [Buffer(f"{side}-waiting", store, _none) for side in SIDES]
        self._since = [FOREVER, FOREVER]  # arrival of the first waiting row
        self._oldest = [FOREVER, FOREVER]  # smallest latest time among the waiting rows
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
        self._since_sweep = 0

    # -- steps, with a side ---------------------------------------------------------------------

    def push(self, batch: pa.RecordBatch, side: str) -> Out:  # type: ignore[override]
        """Take rows of one side, ``"left"`` or ``"right"``, in arrival order."""
        s = _side(side)
        config, batch = self._config, laid_out(batch)
        self._check(batch.schema, s)
        roles = config.roles[s]  # type: ignore[index]
        ends = read_intervals(batch, roles, self._by[s], config.shortest, config.longest)  # type: ignore[arg-type]
        good = np.flatnonzero(ends.good)
        arrival = ends.arrival[good]
        if roles.arrival is not None and (arrival[1:] < arrival[:-1]).any():
            order = np.argsort(arrival, kind="stable")
            good, arrival = good[order], arrival[order]
        rows = batch if len(good) == batch.num_rows and (np.diff(good) == 1).all() else batch.take(
            pa.array(good))
        slot, last = self._slots(rows, s), ends.last[good]
        # held rows stay until this batch has been evaluated, so the clocks move after it
        clock = np.empty_like(arrival)
        touched = np.unique(slot)
        key = np.searchsorted(touched, slot)
        moved = self._clocks[side][touched]
        follow_into(arrival, key, moved, clock)
        behind = clock - last - config.max_delay[s]  # type: ignore[index,operator]
        broken = last < self._punctuation.by(s, slot)
        fine = np.flatnonzero((behind <= 0) & ~broken)
        late = np.flatnonzero((behind > 0) | broken)
        payload = rows.append_column(_MIN, pa.array(ends.first[good]))
        new = Rows(slot[fine], last[fine], np.arange(self._n[s], self._n[s] + len(fine)),
                   payload.take(pa.array(fine)))
        self._n[s] += len(new)
        ready = self._take(new, clock[fine], s)
        self._clocks[side][touched] = moved
        self._drop_obsolete(touched if not self._blocks else None)
        self._sweep(len(new), int(clock.max(initial=NEVER)))
        reasons = [f"came {format_duration(int(b))} after max_delay" if b > 0 else
                   "came although punctuation had ruled it out" for b in behind[late]]
        bad = np.flatnonzero(~ends.good)
        why = ends.reasons()[bad] if len(bad) else None
        return Out(ready, self._outcome(rows, late, reasons, clock[late]),
                   self._outcome(batch, bad, why, ends.arrival[bad]), self.notes())

    def take(self, new: Arrivals) -> Step:
        """Rows come by `push`, which is told their side."""
        raise TypeError("correlate takes rows of two sides: push(batch, side)")

    def pass_time(self, now: int) -> Step:
        """Let time pass on both sides' clocks: waiting blocks fall due, obsolete rows leave."""
        self._clocks.need_all()
        for side in SIDES:
            clocks = self._clocks[side]
            behind = np.flatnonzero(clocks < now)
            self._clocks.touch(behind)
            clocks[behind] = now
        every = self._config.every
        parts = []
        for s in range(2):
            if every is not None and len(self._waiting[s]) and now - self._since[s] >= every:  # type: ignore[operator]
                parts += self._flush(s, now)
        self._drop_obsolete(None)
        return Step([self._joined(parts)])

    def punctuated(self, time: int, source: str | None, key: Mapping[str, Any] | None) -> Step:
        """No row of a side (None: of either) whose latest time is before `time` comes any more."""
        slot = None if key is None else slot_of(self._keys, key, self.name)
        if slot is None or slot >= 0:
            self._punctuation.make(time, source, slot)
        self._drop_obsolete(None)
        return Step([self._joined([])])

    def end(self) -> Step:
        """What waits in unfinished blocks is evaluated, and nothing is held."""
        parts = []
        for s in range(2):
            if len(self._waiting[s]):
                parts += self._flush(s, None)
        for buffer in self._held:
            buffer.clear()
        self._clocks.need_all()
        self._clocks["held"][:] = 0
        return Step([self._joined(parts)])

    def blank(self) -> pa.RecordBatch:
        """No rows of the left, or of the right if only that is known."""
        rows = empty_rows(self._schemas[0] or self._schemas[1])
        owner = self._config.owner
        return rows.drop_columns([owner]) if owner in rows.schema.names else rows

    # -- state ----------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """The whole configuration, but for whether probabilities are written."""
        return {f.name: str(getattr(self._config, f.name)) for f in fields(self._config)
                if f.name != "probability"}

    def save(self) -> dict[str, Any]:
        """Write what has changed."""
        return {
            "n": self._n, "since": self._since, "oldest": self._oldest, "totals": self._totals,
            "counters": self._counters.tolist(), "swept": self._since_sweep,
            "schemas": [encode_schema(schema) for schema in self._schemas],
            "keys": self._keys.save(), "clocks": self._clocks.save(),
            "punctuation": self._punctuation.save(),
            "held": [buffer.save() for buffer in self._held],
            "waiting": [buffer.save() for buffer in self._waiting],
        }

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        self._n, self._since, self._oldest = meta["n"], meta["since"], meta["oldest"]
        self._totals, self._since_sweep = dict(meta["totals"]), meta["swept"]
        self._counters[:] = meta["counters"]
        self._schemas = [decode_schema(text) for text in meta["schemas"]]
        self._keys.load(meta["keys"])
        self._clocks.load(meta["clocks"])
        if "punctuation" in meta:  # not in what was written before there was punctuation
            self._punctuation.load(meta["punctuation"])
        for buffer, part in zip([*self._held, *self._waiting],
                                [*meta["held"], *meta["waiting"]], strict=True):
            buffer.load(part)

    # -- inside ---------------------------------------------------------------------------------

    def _check(self, schema: pa.Schema, s: int) -> None:
        known = self._schemas[s]
        if known is None:
            roles = self._config.roles[s]  # type: ignore[index]
            check_columns(schema.names, roles, self._by[s], SIDES[s])
            if self._config.owner is not None and self._config.owner not in schema.names:
                raise ConfigError(f"there is no column {self._config.owner!r} (owner)",
                                  step=f"correlate ({SIDES[s]})", expected=schema.names)
            self._schemas[s] = schema
            left, right = self._schemas
            if left is not None and right is not None:
                check_key_types(left, right, self._config.by)
        elif not schema.equals(known):
            raise ConfigError(f"the {SIDES[s]} columns have changed between two batches",
                              step="correlate", expected=known, got=schema)

    def _slots(self, rows: pa.RecordBatch, s: int) -> Int64:
        if self._by[0]:  # the keys are known by the left's names
            rows = pa.RecordBatch.from_arrays([rows.column(n) for n in self._by[s]],
                                              names=list(self._by[0]))
        slot, fresh = self._keys.slots(rows)
        self._clocks.grow(self._keys.room)
        if len(fresh):
            self._clocks.reset(fresh)
            self._clocks["born"][fresh] = self._n
        self._clocks.touch(slot)
        return slot

    def _sweep(self, rows: int, now: int) -> None:
        """Forget keys that hold nothing and are long past: whatever comes is judged by itself."""
        self._since_sweep += rows
        if not self._by[0] or self._since_sweep < max(len(self._keys), 4096):
            return
        self._since_sweep = 0
        self._clocks.need_all()
        live = self._keys.live()
        delays: tuple[int, int] = self._config.max_delay  # type: ignore[assignment]
        past = now - 8 * (max(delays) + max(map(abs, self._reach)))
        gone = live[(self._clocks["held"][live] == 0) & (self._clocks["left"][live] < past)
                    & (self._clocks["right"][live] < past)]
        if len(gone):
            self._clocks.reset(gone)
            self._punctuation.forget(gone)
            self._keys.forget(gone)

    def _count(self, slot: Int64, by: int) -> None:
        np.add.at(self._clocks["held"], slot, by)

    def _take(self, new: Rows, clock: Int64, s: int) -> pa.RecordBatch:
        """Find the pairs of new rows, as blocks become full, and hold the rows."""
        self._totals["arrivals"] += len(new)
        self._totals["buffered"] += len(new) * self._buffered()
        self._count(new.key, 1)
        if not self._blocks:
            parts = self._evaluate(new, clock, s)
            self._held[s].add(new)
        else:
            parts = []
            held = len(self._waiting[s])
            rows = Rows.concat([*self._everything(s), new])
            rows = rows.take(np.argsort(rows.n))
            config, at = self._config, 0
            ends = full_blocks(clock, held, self._since[s], config.block or FOREVER,
                         FOREVER if config.every is None else config.every)
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
                    self._since[s] = int(clock[-left]) if left else FOREVER
                self._oldest[s] = int(rest.time.min(initial=FOREVER))
        return self._joined(parts)

    def _everything(self, s: int) -> list[Rows]:
        """The rows of an unfinished block."""
        held = self._waiting[s].due(np.full(self._keys.room, FOREVER))
        return [Rows(held.slot, held.time, held.n, held.payload(np.arange(len(held))))] if len(
            held) else []

    def _flush(self, s: int, now: int | None) -> list[pa.RecordBatch]:
        rows = Rows.concat(self._everything(s))
        rows = rows.take(np.argsort(rows.n))
        clock = (np.full(len(rows), now) if now is not None
                 else self._clocks[SIDES[s]][rows.key])
        parts = self._evaluate(rows, clock, s)
        self._waiting[s].clear()
        self._since[s] = self._oldest[s] = FOREVER
        self._held[s].add(rows)
        return parts

    def _evaluate(self, base: Rows, clock: Int64, s: int) -> list[pa.RecordBatch]:
        """Pairs of a block with what the other side holds."""
        if len(base) == 0 or self._schemas[1 - s] is None:
            return []
        config = self._config
        first = base.payload.column(_MIN).to_numpy()
        nearest, furthest = self._span(first, base.time, s)
        other = self._near(base.key, nearest, furthest, 1 - s)
        if not len(other):
            return []
        order = np.argsort(other.n)  # ties in order of arrival, however the runs were cut
        targets, by_time = arrange(other.key[order], other.payload.column(_MIN).to_numpy()[order],
                                   other.time[order], self._keys.room)
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

    def _near(self, keys: Int64, first: int, last: int, s: int) -> Rows:
        """Rows held by side s, of these keys at most, whose latest times may lie in the span."""
        if self._by[0]:
            slots = np.unique(keys)
            held = self._held[s].upto(slots, np.full(len(slots), last))
        else:
            held = self._held[s].between(first, last)
        index = np.flatnonzero(held.time >= first)
        return Rows(held.slot[index], held.time[index], held.n[index],
                    held.payload(index) if len(index) else empty_rows(self._schemas[s]))

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
        left, right = (empty_rows(s) for s in self._schemas)
        return self._pairs(left, right, np.zeros(0), np.zeros(0, np.int64))

    def _outcome(self, rows: pa.RecordBatch, index: Int64, reasons: Any,
                 when: Int64) -> pa.RecordBatch:
        """Rows that are late or quarantined; of copies, only the owner's."""
        out = rows.take(pa.array(index))
        owner = self._config.owner
        if owner is not None:
            mine = np.asarray(out.column(owner).to_numpy(zero_copy_only=False), bool)
            keep = np.flatnonzero(mine)
            reasons = None if reasons is None else np.asarray(reasons, object)[keep]
            out, when = out.take(pa.array(keep)), when[keep]
            out = out.drop_columns([owner])
        return outcome(out, reasons, when)

    def _thresholds(self, s: int, slots: Int64) -> Int64:
        """For these keys the latest time below which a held row of side s has no partner to come.
        """
        self._clocks.need(slots)
        clock = self._clocks[SIDES[1 - s]][slots]
        ends = np.where(clock == NEVER, NEVER // 2, clock) - self._config.max_delay[1 - s]  # type: ignore[index]
        ends = np.maximum(ends, self._punctuation.by(1 - s, slots))
        return np.minimum(ends, self._oldest[1 - s]) + self._reach[s]

    def _obsolete(self, s: int, slot: Int64, time: Int64, n: Int64) -> NDArray[np.bool_]:
        return np.asarray((time < self._thresholds(s, slot))
                          | (n < self._clocks["born"][slot, s]))

    def _drop_obsolete(self, slots: Int64 | None) -> None:
        """Drop rows of these keys (None: of all) that no row to come can pair with."""
        for s, buffer in enumerate(self._held):
            if not len(buffer):
                continue
            if slots is None:
                everyone = np.arange(self._keys.room)
                held = buffer.due(self._thresholds(s, everyone) - 1)
            else:
                held = buffer.upto(slots, self._thresholds(s, slots) - 1)
            buffer.leave(held, np.ones(len(held), bool))
            self._count(held.slot, -1)

    def _buffered(self) -> int:
        return sum(len(buffer) for buffer in [*self._held, *self._waiting])

    def notes(self) -> dict[str, Any]:
        """Rows held, keys, clocks, and what was counted."""
        self._clocks.need_all()
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


def _none(slot: Int64, time: Int64, n: Int64) -> NDArray[np.bool_]:
    return np.zeros(len(slot), bool)
