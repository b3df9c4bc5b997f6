"""One batch through the compiled loops, by selection strategy and way of emitting."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import FOREVER, NEVER
from slackwater.core.kernel import MemoryStore
from slackwater.core.release import order_by_key
from slackwater.core.state.buffer import Rows
from slackwater.core.state.keys import Keys
from slackwater.core.steps import NONE
from slackwater.pattern.accept import new_scratch, new_walk
from slackwater.pattern.construct import (
    BUILT,
    MATCHES,
    ROWS,
    TOO_MANY_MATCHES,
    Found,
    fresh_found,
)
from slackwater.pattern.finality import Matches, closes, release_steps, with_ends
from slackwater.pattern.live import Live
from slackwater.pattern.loop import build, run_any, run_starts, run_stepwise, still_holds
from slackwater.pattern.match import Match
from slackwater.pattern.pattern import Bound
from slackwater.pattern.program import assemble
from slackwater.pattern.schedule import ANY, FOLLOWING, STRICT, conditions_graph, schedule
from slackwater.pattern.shape import TIMED_OUT
from slackwater.pattern.stacks import Pool
from slackwater.pattern.straight import is_straight, run_straight
from slackwater.pattern.timed_out import closing, timed_out
from slackwater.reorder.logic import running_numbers

__all__ = ["FOREVER", "Batch", "Passed", "Runner", "less"]

Int64 = NDArray[np.int64]
WAYS = {"skip_till_any": ANY, "skip_till_next": FOLLOWING, "strict": STRICT,
        "branching": FOLLOWING}
_NOTHING = FOREVER - 1  # the first event has no match so far


@dataclass(frozen=True)
class Passed:
    """What a batch did to the watermarks; one entry per row."""

    stream: Int64
    mark: Int64  # the stream's watermark after the row
    late_by: Int64  # how far the row is behind it, 0 if it is not late
    arrival: Int64


@dataclass(frozen=True)
class Batch:
    """Rows that came in: those kept are live rows `first`, `first` + 1…"""

    first: int
    kept: Int64  # which rows of the batch
    passed: Passed
    n: Int64
    emitted: Int64  # the streams' watermarks before
    mark: Int64  # and after


class Runner:
    """Holds the live events and runs the loops over them."""

    def __init__(self, config: Match, bound: Bound) -> None:
        pattern = config.pattern
        self._config, self._bound = config, bound
        self._strict = config.looks_at_all
        self._plan = schedule(
            pattern.components, pattern.negations, bound.conditions, window=pattern.window,
            strict=self._strict, prune=config.use_partition, limit=config.max_matches,
            way=WAYS[str(config.select)], shape=config.shape)
        self._graph = conditions_graph(config.shape, bound.conditions, WAYS[str(config.select)],
                                       branching=config.select == "branching")
        self._skips = config.skip is not None
        self._straight = not self._strict and is_straight(self._plan)
        self._programs = assemble(bound.conditions)
        self._within = tuple(dict.fromkeys((*config.roles.key, *bound.partition)))
        self._parts = Keys("parts", self._within, MemoryStore())
        self.live = Live(self._plan, bound.lanes)
        self.built = 0
        self._late_plan = self._plan
        self._late_graph = self._graph
        if config.timed_out is not None:
            self._late_plan = self._plan if config.shape is not None else schedule(
                pattern.components, pattern.negations, bound.conditions, window=pattern.window,
                strict=self._strict, prune=config.use_partition, limit=config.max_matches,
                way=WAYS[str(config.select)], shape=pattern.whole)
            self._late_graph = conditions_graph(
                pattern.whole, bound.conditions, WAYS[str(config.select)],
                branching=config.select == "branching")._replace(
                    partial=1 + TIMED_OUT.index(str(config.timed_out)))
        self.refused: list[tuple[Int64, NDArray[np.object_], Int64]] = []
        """Rows with too many matches, why, and by which arrival; for the logic to hand out."""

    # -- events in ------------------------------------------------------------------------------

    def take_in(self, rows: pa.RecordBatch, time: Int64, n: Int64, stream: Int64,
                late: NDArray[np.bool_]) -> Int64:
        """Keep the rows that can matter; they are not yet in the stacks.  Returns which."""
        mask = self._bound.scan(rows)
        if self._strict:
            mask |= 1 << (self._plan.stacks - 1)
        for name in self._bound.partition:  # NULL equals nothing
            if rows.column(name).null_count:
                mask[rows.column(name).is_null().to_numpy(zero_copy_only=False)] = 0
        mask[late] = 0
        kept = np.flatnonzero(mask)
        if len(kept) < rows.num_rows:
            rows, mask = rows.take(pa.array(kept)), mask[kept]
            time, n, stream = time[kept], n[kept], stream[kept]
        value, known = self._bound.values(rows)
        self._programs = self._programs._replace(texts=self._bound.texts())
        number = self._config.roles.sequence
        seq = np.zeros(len(time), np.int64) if number is None else running_numbers(
            rows.column(number))
        self.live.append(time=time, seq=seq, n=n, stream=stream, part=self._parts.slots(rows)[0],
                         mask=mask, value=value, known=known, payload=rows)
        return kept

    def refill(self, rows: pa.RecordBatch, time: Int64, n: Int64, stream: Int64) -> None:
        """Start again with these events only, in the order of n: after a restart or a purge."""
        self.live.clear()
        self._bound.forget()
        self._parts = Keys("parts", self._within, MemoryStore())
        if len(time):
            self.take_in(rows, time, n, stream, np.zeros(len(time), bool))
            self.live.rebuild(self._parts.room)

    # -- matches out ----------------------------------------------------------------------------

    def run(self, batch: Batch) -> tuple[Matches, Int64, Rows | None]:
        """Put the new rows into the stacks.

        Returns the matches to emit, the arrival number that releases each, and those that must
        wait until they are final.
        """
        config = self._config
        if config.select == "skip_till_any" and not self._plan.general:
            found = self._any(batch)
            if config.emit == "eager" or not (len(self._plan.gap) or self._skips):
                return found, found.trigger, None
            return self._until_final(found, batch)
        if config.emit == "eager":
            found = self._stepwise(batch)
            return found, found.trigger, None
        found, step = self._chosen(batch)
        return found, step, None

    def _any(self, batch: Batch) -> Matches:
        config, plan, live = self._config, self._plan, self.live
        retract = config.emit == "eager" and len(plan.gap) > 0
        stepwise = retract or not config.sort_batches
        stream = live["stream"][batch.first:]
        # where matches wait, what can undo them is kept until they have been judged
        oldest = less(batch.passed.mark[batch.kept] if retract else batch.emitted[stream],
                      config.retention)
        refused = np.zeros(len(stream), np.int64)
        st = live.reserve(self._parts.room, batch.first)
        s = new_scratch(plan, live.longest())
        found = run_any(self._order(batch.first, stepwise), live["part"], live["mask"], oldest,
                        batch.first, plan, self._programs, live.events(), st, s,
                        fresh_found(plan.m), config.use_clock, retract, refused)
        out = np.flatnonzero(refused)
        live["mask"][out + batch.first] = 0  # no match uses them, now or later
        self._hand_out(out + batch.first, refused[out])
        matches = self._matches(found)
        n, begin = live["n"], matches.begin
        completed = (np.maximum.reduceat(n[matches.rows], begin[:-1]) if len(matches)
                     else np.zeros(0, np.int64))
        return Matches(matches.rows, matches.counts, matches.op,
                       np.where(matches.op > 0, completed, n[matches.trigger]))

    def _stepwise(self, batch: Batch) -> Matches:
        plan, live = self._plan, self.live
        st = live.reserve(self._parts.room, batch.first)
        s = new_scratch(plan, live.longest())
        refused = np.zeros(live.rows - batch.first, np.int64)
        found = run_stepwise(self._order(batch.first, True), live["part"], live["mask"],
                             less(batch.passed.mark[batch.kept], self._config.retention),
                             batch.first, plan, self._graph,
                             new_walk(self._graph, live.longest()),
                             self._programs, live.events(), st, s, fresh_found(plan.m),
                             self._strict, refused)
        out = np.flatnonzero(refused)
        live["mask"][out + batch.first] = 0  # no match uses them, now or later
        self._hand_out(out + batch.first, refused[out])
        matches = self._matches(found)
        return replace(matches, trigger=live["n"][matches.trigger])

    def _chosen(self, batch: Batch) -> tuple[Matches, Int64]:
        """Final, `skip_till_next` or `strict`: the first events whose matches may be decided."""
        config, plan, live = self._config, self._plan, self.live
        st = live.reserve(self._parts.room, batch.first)
        build(self._order(batch.first, False), live["part"], live["mask"], plan, live.events(), st,
              config.use_clock)
        emitted, mark = batch.emitted, batch.mark
        part, stream, due = live["part"], live["stream"], live["due"]
        touched = np.zeros(self._parts.room, bool)
        touched[part[batch.first:]] = True
        # one with too many matches so far is not gone through again before its window has closed
        starts = np.flatnonzero(self._can_start() & (due != FOREVER) & (
            (touched[part] & (live["much"] == 0)) | (due < mark[stream])))
        s = new_scratch(plan, live.longest())
        refused = np.zeros(len(starts), np.int64)
        if self._straight:
            found = self._matches(run_straight(
                starts, part, plan, self._programs, live.events(), st, s,
                fresh_found(plan.m, len(starts) + 1), refused))
        else:
            found = self._matches(run_starts(
                starts, part, live["mask"], plan, self._graph,
                new_walk(self._graph, live.longest()), self._programs, live.events(), st, s,
                fresh_found(plan.m), self._strict, refused))
        close = closes(found, plan, self._graph, live["time"],
                       numbered=self._config.roles.sequence is not None,
                       chosen=True, skips=self._skips,
                       grows=config.may_grow)
        over = less(mark, plan.window)[stream[starts]] > live["time"][starts]
        known = less(emitted, plan.window)[stream[starts]] > live["time"][starts]
        much = refused > 0
        live["much"][starts] = much
        # a first event with too many matches is handed out once, when its window has closed
        due[starts] = np.where(over, FOREVER, np.where(much, live["time"][starts] + plan.window,
                                                       _NOTHING))
        self._hand_out(starts[much & over & ~known], refused[much & over & ~known], batch)
        whose = stream[found.trigger]
        undecided = close >= mark[whose]
        np.minimum.at(due, found.trigger[undecided], close[undecided])
        tell = np.flatnonzero(~undecided & (close >= emitted[whose]))
        steps = self._release(close[tell], whose[tell], batch)
        return found.take(tell), steps

    def timed_out(self, batch: Batch) -> tuple[Matches, Int64]:
        """The partial matches whose window has closed, and what lets each go."""
        live, plan = self.live, self._late_plan
        before, now = less(batch.emitted, plan.window), less(batch.mark, plan.window)
        starts = closing(live, plan, before, now)
        out = [rows for rows, *_ in self.refused]
        starts = np.setdiff1d(starts, np.concatenate([*out, NONE]))
        found, refused = timed_out(starts, live, self._config, plan, self._late_graph,
                                   self._programs)
        self._hand_out(starts[refused > 0], refused[refused > 0], batch)
        close = live["time"][found.head] + plan.window
        return found, self._release(close, live["stream"][found.head], batch)

    def _can_start(self) -> NDArray[np.bool_]:
        """Rows that a match can begin with."""
        return np.asarray(self.live["mask"] & ((1 << self._plan.heads) - 1) != 0)

    def undecided(self, mark: Int64) -> Matches:
        """Every match of the live events whose window has not closed, for a restart."""
        config, plan, live = self._config, self._plan, self.live
        s = new_scratch(plan, live.longest())
        open_ = less(mark, plan.window)[live["stream"]] <= live["time"]
        if config.select == "skip_till_any" and not plan.general:
            live.pool = Pool(plan.stacks)
            st = live.reserve(self._parts.room, 0)
            found = self._matches(run_any(
                self._order(0, False), live["part"], live["mask"], np.full(live.rows, NEVER), 0,
                plan, self._programs, live.events(), st, s, fresh_found(plan.m), config.use_clock,
                False, np.zeros(live.rows, np.int64)))
            none = np.zeros(len(found), np.int64)
            found, _ = self._standing(found, none)
        else:
            starts = np.flatnonzero(self._can_start() & open_)
            found = self._matches(run_starts(
                starts, live["part"], live["mask"], plan, self._graph,
                new_walk(self._graph, live.longest()), self._programs, live.events(),
                live.pool.at, s, fresh_found(plan.m), self._strict,
                np.zeros(len(starts), np.int64)))
        return found.take(np.flatnonzero(open_[found.head]))

    def _until_final(self, found: Matches, batch: Batch) -> tuple[Matches, Int64, Rows | None]:
        live = self.live
        close = closes(found, self._plan, self._graph, live["time"],
                       numbered=self._config.roles.sequence is not None, chosen=False,
                       skips=self._skips)
        stream = live["stream"][found.head]
        step = self._release(close, stream, batch)
        final = step < FOREVER
        now, later = np.flatnonzero(final), np.flatnonzero(~final)
        waiting = None
        if len(later):
            rest = found.take(later)
            n = pa.array(live["n"][rest.rows])
            payload = pa.record_batch({
                "events": pa.ListArray.from_arrays(pa.array(rest.begin, pa.int32()), n),
                "counts": pa.FixedSizeListArray.from_arrays(pa.array(rest.counts.ravel()),
                                                            self._plan.m)})
            waiting = Rows(stream[later], close[later], rest.trigger, payload)
        standing, step = self._standing(found.take(now), step[now])
        return standing, np.maximum(step, standing.trigger), waiting

    def resume(self, waiting: Rows, batch: Batch) -> tuple[Matches, Int64]:
        """Waiting matches that are due: those that still stand, and what lets each go."""
        m = self._plan.m
        events = np.array(waiting.payload.column("events").flatten())
        counts = np.array(waiting.payload.column("counts").flatten()).reshape(-1, m)
        matches = Matches(np.searchsorted(self.live["n"], events), counts,
                          np.ones(len(waiting), np.int8), waiting.n)
        return self._standing(matches, self._release(waiting.time, waiting.key, batch))

    def _standing(self, matches: Matches, step: Int64) -> tuple[Matches, Int64]:
        live = self.live
        s = new_scratch(self._plan, int(matches.counts.sum(axis=1).max(initial=1)))
        good = np.flatnonzero(still_holds(
            matches.rows, matches.counts.ravel(), live["part"], self._plan, self._programs,
            live.events(), live.pool.at, s))
        return matches.take(good), step[good]

    def _release(self, close: Int64, stream: Int64, batch: Batch) -> Int64:
        """The arrival number at which each match was final (FOREVER: not yet).

        Time that passed without an arrival counts as an arrival after all others.
        """
        passed, streams = batch.passed, len(batch.emitted)
        starts = np.zeros(streams + 1, np.int64)
        np.cumsum(np.bincount(passed.stream, minlength=streams), out=starts[1:])
        order = np.argsort(passed.stream, kind="stable")
        at = release_steps(close, stream, passed.mark, starts, order, batch.emitted)
        if len(order) == 0:
            final = batch.mark[stream] > close
            return np.where(at < 0, NEVER, np.where(final, FOREVER - 1, FOREVER))
        n = np.concatenate([batch.n, [FOREVER, NEVER]])
        return n[at]

    # -- helpers --------------------------------------------------------------------------------

    def _order(self, first: int, stepwise: bool) -> Int64:
        """The rows from `first` on, by partition; inside it by arrival, or by time."""
        live = self.live
        part = live["part"][first:]
        if stepwise:
            return np.argsort(part, kind="stable") + first
        time, n = live["time"][first:], live["n"][first:]
        if self._config.roles.sequence is not None:
            return np.lexsort((n, live["seq"][first:], time, part)) + first
        order, _ = order_by_key(part, time, n, self._parts.room)
        return order + first

    def _hand_out(self, rows: Int64, why: Int64, closed: Batch | None = None) -> None:
        """Note the rows whose matches are too many: when they come, or when a window has closed."""
        if not len(rows):
            return
        limit, live = self._config.max_matches, self.live
        by = live["n"][rows] if closed is None else self._release(
            live["time"][rows] + self._plan.window, live["stream"][rows], closed)
        told = np.where(why == TOO_MANY_MATCHES,
                        f"completes more than {limit:,} matches (max_matches)",
                        f"more than {64 * limit:,} partial matches to be looked at "
                        "(64 × max_matches)").astype(object)
        self.refused.append((rows, told, by))

    def _matches(self, found: Found) -> Matches:
        """What a loop found, with the trigger's row in `trigger`."""
        self.built += int(found.fill[BUILT])
        rows, count = int(found.fill[ROWS]), int(found.fill[MATCHES])
        m = self._plan.m
        made = Matches(found.rows[:rows], found.counts[: count * m].reshape(-1, m),
                       found.op[:count], found.trigger[:count])
        return with_ends(made, self.live["time"], self.live["seq"]) if self._plan.shaped else made


def less(mark: Int64, window: int) -> Int64:
    """Watermarks less the window, without falling off the end of int64."""
    return np.where(mark < NEVER + window, NEVER, mark - window)
