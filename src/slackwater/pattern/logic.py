"""A running matcher: the steps around the compiled loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import NEVER
from slackwater.core.kernel import Store
from slackwater.core.keyed import Keyed, KeyedLogic, silence_before
from slackwater.core.outcome import Refused, outcome
from slackwater.core.release import promise_walk
from slackwater.core.stage import how_late, role_names
from slackwater.core.state.buffer import Buffer, Rows
from slackwater.core.state.keys import Keys
from slackwater.core.state.pages import Pages
from slackwater.core.steps import NONE, Step
from slackwater.pattern.finality import Matches
from slackwater.pattern.live import Live
from slackwater.pattern.match import Match
from slackwater.pattern.pattern import Bound
from slackwater.pattern.result import identify, ready_batch, ready_schema
from slackwater.pattern.run import FOREVER, Batch, Passed, Runner, less
from slackwater.pattern.schedule import Component
from slackwater.pattern.skip import Skipper
from slackwater.pattern.timed_out import joined
from slackwater.reorder.estimator import Seen
from slackwater.reorder.logic import running_numbers

__all__ = ["MatchLogic"]

Int64 = NDArray[np.int64]
_LEAST = 1 << 16  # with fewer rows than this a compaction is not worth its time


class MatchLogic(KeyedLogic):
    """A running `Match`."""

    def __init__(self, config: Match, store: Store) -> None:
        super().__init__("match", config.roles, store,
                         max_future_skew=config.max_future_skew,  # type: ignore[arg-type]
                         silence=silence_before(config.forget_after,  # type: ignore[arg-type]
                                                config.max_future_skew),  # type: ignore[arg-type]
                         sources=config.sources)
        self._config = config
        self._estimator = config.policy.estimator(store)
        self._sources = (Keys("sources", (*config.roles.key, config.roles.source), store)
                         if config.policy.needs_source and config.roles.source else None)
        # the watermark: no event with a time less than it is accepted any more; and the one up to
        # which matches have been emitted
        self._marks = Pages("marks", {"mark": np.int64(NEVER), "emitted": np.int64(NEVER),
                                      "born": np.int64(FOREVER)}, store)
        self._events = Buffer("events", store, self._dead)
        self._waiting = Buffer("waiting", store, self._decided)
        self._skipper: Skipper | None = None
        self._skips = Buffer("skips", store, self._dead)
        self._known_skips: list[tuple[int, bool]] = []
        self._saved = 0
        self._changed = False
        self._built = 0
        self._bound: Bound | None = None
        self._refill = False

    # -- steps ----------------------------------------------------------------------------------

    def take_keyed(self, given: Keyed) -> Step:
        """Move the watermark with each arrival, judge it, match."""
        self._need()
        new, slots = given.new, given.slots
        self._marks.touch(slots)
        seen = self._seen(given)
        walk = promise_walk(given.key, new.time, self._marks["mark"][slots])
        self._estimator.look(seen)
        self._estimator.advance(seen, walk)
        self._marks["mark"][slots] = walk.keys["mark"]
        late_by = walk.late_by
        first = self._live.rows
        kept = self._runner.take_in(new.rows, new.time, new.n, given.slot, late_by > 0)
        passed = Passed(given.slot, walk.out[0], late_by, new.arrival)
        step = self._emit(first, kept, passed, new.n)
        late = np.flatnonzero(late_by)
        return replace(step, late=new.rows.take(pa.array(late)), why_late=how_late(late_by[late]),
                       late_at=new.arrival[late])

    def pass_time_keyed(self, now: int) -> Step:
        """Let every stream reach `now`."""
        return self.pass_time_of(np.arange(self.keys.room), np.full(self.keys.room, now))

    def pass_time_of(self, slots: Int64, now: Int64) -> Step:
        """Let some streams reach their own `now`."""
        self._need()
        if len(slots) == 0 or (now == NEVER).all():
            return self._quiet()
        theta = np.full(self.keys.room, NEVER)
        theta[slots] = self._estimator.thresholds(slots, now)
        return self._raise_to(theta)

    def punctuated_keyed(self, reached: Int64) -> Step:
        """Nothing before the promise is accepted any more, so what waited for it is final."""
        self._need()
        return self._raise_to(reached[:self._marks.rows])

    def end_keyed(self) -> Step:
        """Everything that still waits is final."""
        self._need()
        return self._raise_to(np.full(self.keys.room, FOREVER))

    def _raise_to(self, theta: Int64) -> Step:
        mark = self._marks["mark"]
        self._marks.touch(np.flatnonzero(theta > mark))
        np.maximum(mark, theta, out=mark)
        return self._quiet()

    def _quiet(self) -> Step:
        if self._bound is None or self.schema is None:
            return Step([pa.record_batch({})])
        return self._emit(self._live.rows, NONE, Passed(NONE, NONE, NONE, NONE), NONE)

    def _emit(self, first: int, kept: Int64, passed: Passed, n: Int64) -> Step:
        """Match; what is to be emitted by now, and the rows with too many matches."""
        assert self._bound is not None
        assert self.schema is not None
        self._changed = True
        config, mark = self._config, self._marks["mark"]
        batch = Batch(first, kept, passed, n, self._marks["emitted"].copy(), mark)
        found, step, waiting = self._runner.run(batch)
        self._built = self._runner.built
        if config.emit == "final" and config.select == "skip_till_any":
            found, step = self._due(found, step, batch)
            self._wait(waiting)
        if self._skipper is not None:
            words = identify(found, self._live, len(config.pattern.components),
                             config.roles.arrival)
            if config.emit == "eager":
                found, step = self._skipper.changes(found, words, self._live, mark)
            else:
                kept = self._skipper.standing(found, words, self._live)
                found, step = found.take(kept), step[kept]
        if config.timed_out is not None:
            found, step = self._with_timed_out(found, step, batch)
        self._marks["emitted"][:] = mark
        ready, order = ready_batch(found, step, self._live, self._components, self.schema,
                                   self._bound, config.roles.arrival)
        by = step[order] if len(n) else self._live["stream"][found.tail[order]]
        refused = self._refused()
        self._compact()
        return Step([ready], refused=refused, by=lambda: by)

    def _with_timed_out(self, found: Matches, step: Int64, batch: Batch) -> tuple[Matches, Int64]:
        """Add the partial matches that have timed out, unless a match has skipped their start."""
        partial, at = self._runner.timed_out(batch)
        if self._skipper is not None:
            kept = self._skipper.not_skipped(partial.head, self._live)
            partial, at = partial.take(kept), at[kept]
        return joined(found, partial, self._live), np.concatenate([step, at])

    @property
    def _components(self) -> tuple[Component, ...]:
        """What a result has; a partial match may lack any of it."""
        given = self._config.pattern.components
        return given if self._config.timed_out is None else tuple(
            replace(c, least=0) for c in given)

    def _refused(self) -> list[Refused]:
        """The rows whose matches are too many, with the reason."""
        given, self._runner.refused = self._runner.refused, []
        return [Refused(outcome(self._live.payload(rows), why, self._live["time"][rows]), by)
                for rows, why, by in given]

    def _due(self, found: Matches, step: Int64, batch: Batch) -> tuple[Matches, Int64]:
        """Add the waiting matches that have become final."""
        mark = self._marks["mark"]
        if not len(self._waiting) or not len(mark):
            return found, step
        held = self._waiting.due(np.where(mark == NEVER, NEVER, mark - (mark != NEVER)))
        if not len(held):
            return found, step
        rows = Rows(held.slot, held.time, held.n, held.payload(np.arange(len(held))))
        self._waiting.leave(held, np.ones(len(held), bool))
        again, steps = self._runner.resume(rows, batch)
        return (Matches(*(np.concatenate([getattr(found, f), getattr(again, f)])
                          for f in ("rows", "counts", "op", "trigger"))),
                np.concatenate([step, steps]))

    def _wait(self, waiting: Rows | None) -> None:
        if waiting is None:
            return
        limit = self._config.max_matches
        room = limit - len(self._waiting)
        if len(waiting) > room:
            # those of the last arrivals have no room: all matches of a row wait, or none
            order = np.argsort(waiting.n, kind="stable")
            cut = waiting.n[order[max(room, 0)]]
            out = np.unique(waiting.n[waiting.n >= cut])
            rows = np.searchsorted(self._live["n"], out)
            self._runner.refused.append((rows, np.full(len(rows), (
                f"its matches cannot wait: more than {limit:,} would, until nothing can undo them "
                "(max_matches)"), object), out))
            keep = np.flatnonzero(waiting.n < cut)
            waiting = Rows(waiting.key[keep], waiting.time[keep], waiting.n[keep],
                           waiting.payload.take(pa.array(keep)))
        if len(waiting):
            self._waiting.add(waiting)

    # -- keys -----------------------------------------------------------------------------------

    def begin_keys(self, slots: Int64, floor: Int64, n: int) -> None:
        """Make room, and start streams afresh."""
        self._marks.grow(self.keys.room)
        self._marks.reset(slots)
        self._marks.touch(slots)
        self._marks["mark"][slots] = self._marks["emitted"][slots] = floor
        self._marks["born"][slots] = n
        self._estimator.grow(self.keys.room, 0)
        self._estimator.reset(slots)

    def busy(self, slots: Int64) -> NDArray[np.bool_]:
        """Streams with events that may still matter, or matches that wait, are not forgotten."""
        self._need()
        waits = self._waiting.upto(slots, np.full(len(slots), FOREVER)).slot
        if self._bound is not None:
            alive = ~self._outdated(self._live["time"], self._live["stream"])
            waits = np.concatenate([waits, self._live["stream"][alive]])
        return np.isin(slots, waits)

    def forgotten(self, slots: Int64) -> None:
        """Forget the events of these streams, which no match can use any more."""
        if self._bound is not None:
            self._keep_only(~np.isin(self._live["stream"], slots))
        self._marks.reset(slots)
        self._estimator.reset(slots)

    def _seen(self, given: Keyed) -> Seen:
        new, roles = given.new, self.roles
        source = sequence = None
        if self._sources is not None:
            source, fresh = self._sources.slots(new.rows)
            self._estimator.grow(0, self._sources.room)
            self._estimator.reset_sources(fresh)
        if self._config.policy.needs_source and roles.sequence:
            sequence = running_numbers(new.rows.column(roles.sequence))
        return Seen(new.time, new.arrival, given.slot, source, sequence,
                    None if roles.source is None else new.rows.column(roles.source))

    def _dead(self, slot: Int64, time: Int64, n: Int64) -> NDArray[np.bool_]:
        self._marks.need_all()
        return np.asarray(self._outdated(time, slot) | (n < self._marks["born"][slot]))

    def _decided(self, slot: Int64, time: Int64, n: Int64) -> NDArray[np.bool_]:
        self._marks.need(slot)
        return np.asarray((self._marks["emitted"][slot] > time) | (n < self._marks["born"][slot]))

    def _outdated(self, time: Int64, stream: Int64) -> NDArray[np.bool_]:
        return time < less(self._marks["mark"], self._config.retention)[stream]

    # -- events ---------------------------------------------------------------------------------

    def bind(self, schema: pa.Schema) -> None:
        """Bind the pattern to the input's columns."""
        super().bind(schema)
        config = self._config
        self._bound = config.pattern.bind(schema, config.roles)
        self._runner = Runner(config, self._bound)
        self._live: Live = self._runner.live
        if config.skip is not None:
            self._skipper = Skipper(config.skip, len(config.pattern.components),
                                    config.pattern.window)
            self._skipper.points = self._known_skips

    def _compact(self) -> None:
        live, mark = self._live, self._marks["mark"]
        if live.rows < _LEAST and not (live.rows and (mark == FOREVER).all()):
            return
        dead = self._outdated(live["time"], live["stream"])
        if 2 * int(dead.sum()) >= live.rows:
            self._keep_only(~dead)

    def _keep_only(self, mask: NDArray[np.bool_]) -> None:
        live = self._live
        if live.rows == 0:  # after a restart there may be none, and so no columns to take from
            return
        keep = np.flatnonzero(mask & (live["mask"] != 0))
        self._runner.refill(live.payload(keep), live["time"][keep], live["n"][keep],
                            live["stream"][keep])

    def _need(self) -> None:
        """Have the events of a snapshot in memory."""
        if not self._refill:
            return
        self._refill = False
        self._marks.need_all()
        held = self._events.due(np.full(self.keys.room, FOREVER))
        if len(held):
            order = np.argsort(held.n)
            self._runner.refill(held.payload(order), held.time[order], held.n[order],
                                held.slot[order])
        if self._skipper is not None:
            self._resume_skips(self._skipper)

    def _resume_skips(self, skipper: Skipper) -> None:
        config, live = self._config, self._live
        points = self._skips.due(np.full(self.keys.room, FOREVER))
        skipper.points = []
        if len(points):
            over = points.payload(np.arange(len(points))).column("over").to_pylist()
            skipper.points = list(zip(points.n.tolist(), over, strict=True))
        self._known_skips = list(skipper.points)
        if config.emit == "eager" and live.rows:
            open_ = self._runner.undecided(self._marks["mark"])
            skipper.resume(open_, identify(open_, live, len(config.pattern.components),
                                           config.roles.arrival), live)

    # -- state ----------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """The query, the way of emitting and selecting, the policy, the roles."""
        config = self._config
        asked = {} if config.timed_out is None else {"timed_out": config.timed_out}
        return {"query": " ".join(config.pattern.text.split()), "emit": config.emit, **asked,
                "select": config.select, **config.policy.identity(),
                "roles": role_names(config.roles),
                "sources": None if config.sources is None else list(config.sources)}

    def save(self) -> dict[str, Any]:
        """Write what has changed."""
        if self._bound is not None and self._changed:
            self._save_events()
        return {**super().save(), "marks": self._marks.save(), "events": self._events.save(),
                "waiting": self._waiting.save(), "skips": self._skips.save(),
                "estimator": self._estimator.save(),
                "sources": None if self._sources is None else self._sources.save()}

    def _save_events(self) -> None:
        """Hand the buffer what is new, and take from it what is outdated."""
        live, mark = self._live, self._marks["mark"]
        if len(mark):
            oldest = less(mark, self._config.retention)
            held = self._events.due(np.where(oldest == NEVER, NEVER, oldest - (oldest != NEVER)))
            self._events.leave(held, np.ones(len(held), bool))
        new = np.flatnonzero((live["n"] >= self._saved) & (live["mask"] != 0)
                             & ~self._outdated(live["time"], live["stream"]))
        if len(new):
            self._events.add(Rows(live["stream"][new], live["time"][new], live["n"][new],
                                  live.payload(new)))
        self._saved = self.count
        self._changed = False
        if self._skipper is not None:
            self._save_skips(self._skipper)

    def _save_skips(self, skipper: Skipper) -> None:
        """The same for the points of AFTER MATCH SKIP."""
        live, mark = self._live, self._marks["mark"]
        if len(mark):
            oldest = less(mark, self._config.retention)
            held = self._skips.due(np.where(oldest == NEVER, NEVER, oldest - (oldest != NEVER)))
            self._skips.leave(held, np.ones(len(held), bool))
        new = [p for p in skipper.points if p not in self._known_skips]
        rows = np.searchsorted(live["n"], np.array([n for n, _ in new], np.int64))
        good = np.array([i for i, r in enumerate(rows)
                         if r < live.rows and live["n"][r] == new[i][0]], np.int64)
        rows = rows[good]
        if len(rows):
            self._skips.add(Rows(live["stream"][rows], live["time"][rows], live["n"][rows],
                                 pa.record_batch({"over": [new[i][1] for i in good]})))
        self._known_skips = list(skipper.points)

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        super().load(meta)
        self._marks.load(meta["marks"])
        self._events.load(meta["events"])
        self._waiting.load(meta["waiting"])
        if "skips" in meta:
            self._skips.load(meta["skips"])
        self._estimator.load(meta["estimator"])
        if self._sources is not None:
            self._sources.load(meta["sources"])
        self._saved = self.count
        self._refill = True

    def holds(self) -> bool:
        """Whether events are held."""
        return self._held() + len(self._waiting) + self.in_doubt > 0

    def notes(self) -> dict[str, Any]:
        """Events held, matches that wait, watermarks."""
        self._need()
        mark = self._marks["mark"]
        seen = mark[mark != NEVER]
        return {
            "held": self._held() + self.in_doubt,
            "waiting": len(self._waiting),
            "keys": len(self.keys),
            "watermark": int(seen.min()) if len(seen) else None,
            "ahead": int(seen.max()) if len(seen) else None,
            "built": self._built,
        }

    def _held(self) -> int:
        self._need()
        if self._bound is None:
            return 0
        live = self._live
        return int((~self._outdated(live["time"], live["stream"]) & (live["mask"] != 0)).sum())

    def ready_schema(self) -> pa.Schema | None:
        """The columns of `Out.ready`, once the input's are known."""
        if self._bound is None or self.schema is None:
            return None
        return ready_schema(self._config.pattern.components, self.schema, self._bound)
