"""A running `Reorder`: the steps around the policy and the release rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.errors import DataError
from slackwater.core.events import FOREVER, NEVER
from slackwater.core.kernel import Store
from slackwater.core.keyed import Keyed, KeyedLogic, silence_before
from slackwater.core.release import mark_of, never_back, released, walk_over
from slackwater.core.slots import positions
from slackwater.core.stage import how_late, role_names
from slackwater.core.state.buffer import Buffer, Held, Rows
from slackwater.core.state.ipc import empty_rows
from slackwater.core.state.marks import Marks
from slackwater.core.state.order import order_of
from slackwater.core.state.pages import Pages
from slackwater.core.steps import NONE, Step, merged, stamped
from slackwater.reorder.estimator import NO_SEQUENCE, Explains, Seen
from slackwater.reorder.heard import Heard
from slackwater.reorder.policy import Policy

if TYPE_CHECKING:
    from slackwater.reorder.reorder import Reorder

__all__ = ["ReorderLogic", "running_numbers"]

Int64 = NDArray[np.int64]


class ReorderLogic(KeyedLogic):
    """A running `Reorder`."""

    version = 5

    def __init__(self, config: Reorder, store: Store) -> None:
        policy = config.policy
        assert isinstance(policy, Policy)
        super().__init__("reorder", config.roles, store,
                         max_future_skew=config.max_future_skew,  # type: ignore[arg-type]
                         max_delay=config.max_delay,  # type: ignore[arg-type]
                         silence=silence_before(config.forget_after,  # type: ignore[arg-type]
                                                config.max_future_skew),  # type: ignore[arg-type]
                         sources=config.sources)
        self._config, self._policy = config, policy
        self._estimator = policy.estimator(store, literal=config.literal)
        self._marks = Marks.of_groups("marks", store)
        forget: Any = config.forget_after
        self._groups = None if config.scope is None else Heard("groups", config.scope, store,
                                                               forget)
        # how far the keys of a group have come: time lets them go, and it never goes back
        self._reach = Pages("groups_reach", {"upto": np.int64(NEVER)}, store)
        self.together = config.scope is not None
        within = config.roles.key if config.scope is None else config.scope
        self._sources = (Heard("sources", (*within, config.roles.source), store, forget)
                         if policy.needs_source and config.roles.source else None)
        self._buffer = Buffer("held", store, self._marks.gone)
        self.holds_in(self._buffer)
        self._in_force = float("nan")

    # -- steps ----------------------------------------------------------------------------------

    def take_keyed(self, given: Keyed) -> Step:
        """Take arrivals; sources and groups that have been silent for long start afresh."""
        group, source = self._meet(given)
        if self._sources is None and self._groups is None:
            return self._take(given, group, None)
        steps: list[Step] = []
        at = 0
        while at < len(given) or not steps:
            stop = self._start_again(group, source, given.new.arrival, at)
            step = self._take(given.part(at, stop), group[at:stop],
                              None if source is None else source[at:stop])
            steps.append(step if stop - at == len(given) else stamped(step))
            at = stop
        return merged(steps)

    def _take(self, given: Keyed, group: Int64, source: Int64 | None) -> Step:
        """Release by each arrival's threshold, judge it, hold it."""
        new = given.new
        seen = self._seen(given, group, source)
        bound = self._estimator.look(seen)
        shared: tuple[Int64, ...] = ()
        if self._groups is not None:
            groups, number = np.unique(group, return_inverse=True)
            self._reach.touch(groups)
            shared = (number, self._reach["upto"][groups])
            reach = shared[1].copy()
            bound = never_back(bound, number, reach)
        held = (self._buffer.upto(given.slots, _greatest(bound, given.key, len(given.slots)))
                if len(self._buffer) else None)
        if self._estimator.exact and len(given.slots) == 1:
            in_time = self._in_time(given, held, bound)
            if in_time is not None:
                self._in_force = float(self._estimator.buffers[-1])  # type: ignore[attr-defined]
                if shared:
                    self._reach["upto"][groups] = reach
                return in_time
        before = 0 if held is None else len(held)
        key, time, n = given.key, new.time, new.n
        if held is not None and before:
            key = np.concatenate([positions(given.slots, held.slot), key])
            time, n = np.concatenate([held.time, time]), np.concatenate([held.n, n])
        walk = walk_over(key, time, n, before, *self._marks.of(given.slots), *shared)
        buffers = self._estimator.advance(seen, walk)
        if shared:
            self._reach["upto"][groups] = walk.reach
        if len(buffers):
            self._in_force = float(buffers[-1])
        self._marks.move(given.slots, *mark_of(walk))
        rows, step = released(walk)
        late = np.flatnonzero(walk.late_by)
        stays = np.ones(len(time), bool)
        stays[rows] = False
        stays[before + late] = False
        payload = self._settle(given, held, rows, stays)
        why = how_late(walk.late_by[late], self._why_late(late)) if len(late) else None
        return Step(
            [payload], time[rows], lambda: (self._why_ready(step), new.arrival[step]),
            new.rows.take(pa.array(late)), why, new.arrival[late], by=lambda: new.n[step])

    def _in_time(self, given: Keyed, held: Held | None, threshold: Int64) -> Step | None:
        """The short way, where every arrival of one key comes after all thresholds so far.

        Then none is late, and what leaves is simply, in time order, all up to the greatest.
        """
        new, slots = given.new, given.slots
        passed = _all_in_time(new.time, threshold, int(self._marks.of(slots)[0][0]))
        if passed == NEVER:
            return None
        before = 0 if held is None else len(held)
        time, n = new.time, new.n
        if held is not None and before:
            time, n = np.concatenate([held.time, time]), np.concatenate([held.n, n])
        by_time = order_of(time, n)
        upto = int(np.searchsorted(time, passed, side="right", sorter=by_time))
        rows = by_time[:upto]
        if upto:
            self._marks.move(slots, time[rows[-1:]], n[rows[-1:]])
        stays = np.zeros(len(time), bool)
        stays[by_time[upto:]] = True
        payload = self._settle(given, held, rows, stays)
        times = time[rows]

        def stamp() -> tuple[Any, Int64]:
            step = _first_beyond(threshold, times)
            return self._why_ready(step), new.arrival[step]

        return Step([payload], times, stamp, new.rows.slice(0, 0),
                    by=lambda: new.n[_first_beyond(threshold, times)])

    def _settle(self, given: Keyed, held: Held | None, rows: Int64,
                stays: NDArray[np.bool_]) -> pa.RecordBatch:
        """Hold what stays; the columns of `rows`, which leave."""
        new, before = given.new, 0
        payload, index = new.rows, rows
        if held is not None and len(held):
            before, leaves = len(held), ~stays[:len(held)]
            self._buffer.leave(held, leaves)
            out = held.payload(np.flatnonzero(leaves))
            payload = pa.concat_batches([out, new.rows])
            if len(out) < before:  # those that stay are not among the rows of `payload`
                place = np.concatenate([np.cumsum(leaves) - 1,
                                        np.arange(len(out), len(out) + len(new))])
                index = place[rows]
        kept = np.flatnonzero(stays[before:])
        self._buffer.add(Rows(given.slots[given.key[kept]], new.time[kept], new.n[kept],
                              new.rows.take(pa.array(kept))))
        self._marks.hold(given.slots, given.key[kept], held, stays[:before])
        return payload.take(pa.array(index))

    def pass_time_keyed(self, now: int) -> Step:
        """Release what time alone has let each key reach."""
        # before the first row there is nothing to release, and no policy that knows of anyone
        slots = np.arange(self.keys.room) if now != NEVER and self.began != NEVER else NONE
        return self.pass_time_of(slots, np.full(len(slots), now))

    def pass_time_of(self, slots: Int64, now: Int64) -> Step:
        """The same for some keys, each to its own `now`."""
        if self._groups is None:
            limits, asked = self._estimator.thresholds(slots, now), np.arange(len(slots))
        else:
            limits, asked = self._thresholds_together(slots, now)
        step = self._release_upto(slots, limits, now, asked)
        return step if self.promise is None else self._promise(step, slots, limits, now)

    def _thresholds_together(self, slots: Int64, now: Int64) -> tuple[Int64, Int64]:
        """The thresholds of keys that share an estimate, each once; and which is whose."""
        self._marks.need(slots)
        group = self._marks["group"][slots]
        groups, group = np.unique(group, return_inverse=True)
        times, at = np.unique(now, return_inverse=True)
        pairs, which = np.unique(group * len(times) + at, return_inverse=True)
        asked = self._estimator.thresholds(groups[pairs // max(len(times), 1)],
                                           times[pairs % max(len(times), 1)])
        return asked[which], which

    def _promise(self, step: Step, slots: Int64, limits: Int64, now: Int64) -> Step:
        """Keys that were silent until `now` have come as far as time says; others stand."""
        self.clocks.need(slots)
        self._marks.need(slots)
        silent = (self.clocks["clock"][slots] < now) & (limits > self._marks["time"][slots])
        # all rows so far that are not after it have been released
        self._marks.move(slots[silent], limits[silent],
                         np.full(int(silent.sum()), self.taken - 1))

        def reached(keys: pa.RecordBatch) -> Int64:
            found = self.keys.find(keys)
            self._marks.need(found[found >= 0])
            return np.where(found < 0, NEVER, self._marks["time"][found])

        return replace(step, reached=reached)

    def least_mark(self) -> int:
        """The least watermark of all keys."""
        live = self.keys.live()
        if not len(live):
            return NEVER
        self._marks.need(live)
        return int(self._marks["time"][live].min())

    def punctuated_keyed(self, reached: Int64) -> Step:
        """Release what nothing can come before any more; what comes all the same is late."""
        step = self._release_upto(np.arange(len(reached)), reached, None, why="punctuation")
        self._marks.reach(reached, self.count - 1)
        return step

    def end_keyed(self) -> Step:
        """Release everything."""
        slots = np.arange(self.keys.room)
        return self._release_upto(slots, np.full(len(slots), FOREVER), None, why="end of input")

    def _release_upto(self, slots: Int64, limits: Int64, now: Int64 | None,
                      asked: Int64 = NONE, why: str | None = None) -> Step:
        """Release each of these keys up to its limit; together, so in time order over all keys.

        Without `now` it is not time that releases them, but `why`; with it `asked` says which of
        the thresholds that were asked for last is whose.
        """
        held = self._buffer.upto(slots, limits)
        order = np.lexsort((held.n, held.time))
        payload = held.payload(order) if len(held) else empty_rows(self.schema)
        if len(held):
            self._buffer.leave(held, np.ones(len(held), bool))
            last = np.flatnonzero(np.append(held.slot[1:] != held.slot[:-1], True))
            self._marks.move(held.slot[last], held.time[last], held.n[last])
            self._marks.hold(held.slot[last], NONE, held, np.zeros(len(held), bool))
        slot = held.slot[order]

        def stamp() -> tuple[Any, Int64]:
            if now is not None:
                at = positions(slots, slot)
                return self._why_ready_by_time(asked[at]), now[at]
            self.clocks.need(slot)
            said = pa.repeat(why, len(slot)) if self._explains(slot) else None
            return said, self.clocks["clock"][slot]

        def reached(keys: pa.RecordBatch) -> Int64:
            found, upto = self.keys.find(keys), np.full(self.keys.room, NEVER)
            upto[slots] = limits
            return np.where(found < 0, NEVER, upto[found])

        return Step([payload], held.time[order], stamp, reached=reached, by=lambda: slot)

    # -- keys -----------------------------------------------------------------------------------

    def begin_keys(self, slots: Int64, floor: Int64, n: int) -> None:
        """Make room, and start keys afresh."""
        self._marks.begin(self.keys.room, slots, floor, n)
        if self._groups is None:
            self._estimator.grow(self.keys.room, 0)
            self._estimator.reset(slots)

    def busy(self, slots: Int64) -> NDArray[np.bool_]:
        """Keys that hold rows are not forgotten."""
        return self._marks.holding(slots)

    def forgotten(self, slots: Int64) -> None:
        """Forget what there is about keys, and sources that have been silent for as long."""
        self._marks.reset(slots)
        if self._groups is None:
            self._estimator.reset(slots)

    def _seen(self, given: Keyed, group: Int64, source: Int64 | None) -> Seen:
        new, roles = given.new, self.roles
        sequence = None
        if self._policy.needs_source and roles.sequence:
            sequence = running_numbers(new.rows.column(roles.sequence))
        return Seen(new.time, new.arrival, group, source, sequence,
                    None if roles.source is None else new.rows.column(roles.source))

    def _meet(self, given: Keyed) -> tuple[Int64, Int64 | None]:
        """The slots of each row's group, which is its key where there is no scope, and source."""
        group, source = given.slot, None
        if self._groups is not None:
            slot = group
            group, fresh = self._groups.meet(given.new.rows)
            self._estimator.grow(self._groups.room, 0)
            self._reach.grow(self._groups.room)
            self._begin_groups(fresh)
            self._marks.touch(slot)
            self._marks["group"][slot] = group
        if self._sources is not None:
            source, fresh = self._sources.meet(given.new.rows)
            self._estimator.grow(0, self._sources.room)
            self._estimator.reset_sources(fresh)
        return group, source

    def _start_again(self, group: Int64, source: Int64 | None, arrival: Int64, at: int) -> int:
        """Start groups and sources afresh that have been silent for long; where this piece ends."""
        stop = len(arrival)
        if self._groups is not None:
            stop, again = self._groups.silences(group, arrival, at)
            self._begin_groups(again)
        if self._sources is not None and source is not None:
            first, again = self._sources.silences(source[:stop], arrival[:stop], at)
            self._estimator.reset_sources(again)
            stop = min(stop, first)
            self._sources.hear(source[at:stop], arrival[at:stop])
        if self._groups is not None:
            self._groups.hear(group[at:stop], arrival[at:stop])
        return int(stop)

    def _begin_groups(self, groups: Int64) -> None:
        self._estimator.reset(groups)
        self._reach.reset(groups)

    def remembered(self) -> int:
        """Keys, groups and sources."""
        return len(self.keys) + sum(len(h) for h in (self._groups, self._sources) if h is not None)

    def forget_more(self) -> None:
        """Forget silent groups and sources, too."""
        if self._groups is not None:
            live = self.keys.live()
            self._marks.need(live)
            # a key that still holds rows needs its group, however silent
            gone = np.setdiff1d(self._groups.silent(self.settled), self._marks["group"][live])
            self._begin_groups(gone)
            self._groups.forget(gone)
        if self._sources is not None:
            gone = self._sources.silent(self.settled)
            self._estimator.reset_sources(gone)
            self._sources.forget(gone)

    # -- state ----------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """Policy, roles and scope."""
        scope = self._config.scope
        return {**self._policy.identity(), "roles": role_names(self.roles),
                "scope": None if scope is None else list(scope),
                "sources": None if self._config.sources is None else list(self._config.sources)}

    def save(self) -> dict[str, Any]:
        """Write what has changed."""
        return {**super().save(), "marks": self._marks.save(), "held": self._buffer.save(),
                "groups": None if self._groups is None else self._groups.save(),
                "reach": self._reach.save(),
                "sources": None if self._sources is None else self._sources.save(),
                "estimator": self._estimator.save(), "in_force": self._in_force}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        super().load(meta)
        self._marks.load(meta["marks"])
        if self._groups is not None:
            self._groups.load(meta["groups"])
            self._reach.load(meta["reach"])
        if self._sources is not None:
            self._sources.load(meta["sources"])
        self._estimator.load(meta["estimator"])
        self._buffer.load(meta["held"])
        self._in_force = meta["in_force"]

    def notes(self) -> dict[str, Any]:
        """Rows held, keys, watermarks, the buffer time in force, what the policy has to say."""
        least, greatest = self._marks.extremes()
        asked = None if self._policy.bound is None else getattr(self._policy, self._policy.bound)
        said = (self._estimator.notes(self._names()) if isinstance(self._estimator, Explains)
                else {})
        return {"held": self.held(), "keys": len(self.keys),
                "watermark": least, "ahead": greatest, "buffer": self._in_force, "bound": asked,
                **said}

    def held(self) -> int:
        """Rows in the buffer, and rows in doubt."""
        return len(self._buffer) + self.in_doubt

    # -- words ----------------------------------------------------------------------------------

    def _names(self) -> Any:
        sources = self._sources
        return None if sources is None else lambda slots: pc.fill_null(
            sources.values(slots)[-1].cast(pa.string()), "null")

    def _explains(self, ready: Int64) -> bool:
        return self.reasons and isinstance(self._estimator, Explains) and len(ready) > 0

    def _why_ready(self, step: Int64) -> pa.Array | None:
        if not self._explains(step):
            return None
        return self._estimator.why_ready(step, self._names())  # type: ignore[attr-defined]

    def _why_ready_by_time(self, asked: Int64) -> pa.Array | None:
        if not self._explains(asked):
            return None
        return self._estimator.why_ready_by_time(asked, self._names())  # type: ignore[attr-defined]

    def _why_late(self, row: Int64) -> pa.Array | None:
        if not isinstance(self._estimator, Explains) or len(row) == 0:
            return None
        return self._estimator.why_late(row, self._names())


def running_numbers(column: pa.Array) -> Int64:
    """Sequence numbers as int64; a null, or a number that is too great, is `NO_SEQUENCE`.

    Examples
    --------
    >>> running_numbers(pa.array([7, 2**64 - 1, None], pa.uint64())).tolist() == [
    ...     7, NO_SEQUENCE, NO_SEQUENCE]
    True
    """
    if not pa.types.is_integer(column.type) and not pa.types.is_null(column.type):
        raise DataError("the sequence column holds no whole numbers", step="sequence",
                        expected="integers", got=column.type,
                        hint="leave the role out if the producers do not number their events")
    if pa.types.is_uint64(column.type):  # beyond int64 they would wrap around into others
        small = pc.less_equal(column, pa.scalar(FOREVER, pa.uint64()))
        column = pc.if_else(small, column, pa.scalar(None, pa.uint64()))
    # a copy: Arrow's memory is read-only, and numba would compile the loop once more for that
    return np.array(pc.fill_null(column.cast(pa.int64(), safe=False), NO_SEQUENCE))


@njit(cache=True, nogil=True)
def _all_in_time(time: Int64, threshold: Int64, mark: int) -> int:
    """The greatest threshold, if every arrival is above all thresholds so far, else NEVER."""
    passed = NEVER
    for j in range(len(time)):
        passed = max(passed, threshold[j])
        if time[j] <= passed or time[j] < mark:
            return NEVER
    return passed


@njit(cache=True, nogil=True)
def _first_beyond(threshold: Int64, times: Int64) -> Int64:
    """For each of these times, in order, the first arrival whose threshold has come so far."""
    found = np.empty(len(times), np.int64)
    j = 0
    for i in range(len(times)):
        while threshold[j] < times[i]:
            j += 1
        found[i] = j
    return found


@njit(cache=True, nogil=True)
def _greatest(bound: Int64, key: Int64, keys: int) -> Int64:
    """The greatest bound of each key."""
    limits = np.full(keys, NEVER)
    for j in range(len(bound)):
        limits[key[j]] = max(limits[key[j]], bound[j])
    return limits
