"""The skeleton of stages that run by the arrival clock, each key by itself.

Adds to `StageLogic` what these have in common: the slots of keys, the arrival clock with its rows
in doubt (see `clock`), and forgetting.

**Forgetting.** A key that has been silent for longer than `silence` on the arrival clock starts
afresh with its next row, whether its state is still there or not; so when the state is really let
go changes no result.  What it had released was at most `max_future_skew` ahead of its last arrival;
to keep the promise of order without remembering, rows of a key that is new (or new again) are late
if they are older than that, once the stream itself has run for so long.  Users say `forget_after`,
the age up to which such rows are taken: `silence_before` adds the skew to it.
Without key columns nothing is forgotten.

**Promises.** A stage that follows wants to know how far this one has come, silent keys included.
With `promise` set, a key that was silent for longer than that has come as far as its policy says
for the moment `promise` before its next row, whether or not time was ever told (`tick`): a row that
is older is late, even if nothing has overtaken it.  So a tick may promise as much without changing
any row's fate.  `watermark` is what holds for all keys; with `shared`, new keys start there.

Enters, leaves: as `stage`.  May import: the rest of core.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.clock import DAY, Doubt, follow, has_jump
from slackwater.core.durations import format_duration
from slackwater.core.events import FOREVER, NEVER, Roles
from slackwater.core.kernel import Store
from slackwater.core.outcome import Refused, outcome
from slackwater.core.punctuation import Punctuation
from slackwater.core.slots import first_arrivals, first_rows, local_numbers, silences
from slackwater.core.stage import StageLogic, slot_of
from slackwater.core.state.buffer import Buffer
from slackwater.core.state.ipc import ipc_batch, ipc_bytes, joined, widened
from slackwater.core.state.keys import Keys
from slackwater.core.state.pages import Pages
from slackwater.core.steps import NONE, Arrivals, Step, due_to_first, interleaved, merged, stamped

__all__ = ["ARRIVAL_JUMP", "Keyed", "KeyedLogic", "silence_before"]

Int64 = NDArray[np.int64]
_SWEEP = 4096  # rows after which a look at all keys is worth it, however few there are

ARRIVAL_JUMP = DAY
"""An arrival a day ahead of all others is in doubt.

Shorter jumps are left alone: partitions of a topic that are read unevenly after a standstill look
like that, too.
"""


def silence_before(forget_after: int | None, max_future_skew: int) -> int | None:
    """How long a key is silent before it is forgotten, so that rows up to `forget_after` old count.

    Examples
    --------
    >>> silence_before(60, 5)
    65
    """
    return None if forget_after is None else min(forget_after + max_future_skew, FOREVER)


@dataclass(frozen=True)
class Keyed:
    """Arrivals with their keys: each row's slot, and its number among the keys of this step."""

    new: Arrivals
    key: Int64
    slots: Int64
    """The slot of each key of this step."""

    @property
    def slot(self) -> Int64:
        """Each row's slot."""
        return self.slots[self.key]

    def __len__(self) -> int:
        return len(self.key)

    def part(self, first: int, last: int) -> Keyed:
        """Rows first…last−1."""
        return Keyed(self.new.slice(first, last), self.key[first:last], self.slots)


class KeyedLogic(StageLogic):
    """A running stage with keys.

    Parameters as `StageLogic`; the `silence` after which a key is forgotten (None: never), and the
    `sources` whose own promises are combined (see `punctuation`).
    """

    version = 3

    def __init__(self, name: str, roles: Roles, store: Store, *, max_future_skew: int,
                 max_delay: int | None = None, silence: int | None = None,
                 sources: tuple[str, ...] | None = None) -> None:
        super().__init__(name, roles, store, max_future_skew=max_future_skew, max_delay=max_delay)
        self.keys = Keys("keys", roles.key, store)
        self.clocks = Pages("clocks", {"clock": np.int64(NEVER)}, store)
        self.punctuation = Punctuation(sources, store)
        self.silence = silence if roles.key else None
        self.now = self.began = NEVER
        """The greatest and the first arrival of the stage."""
        self._told = NEVER  # the greatest tick
        derived = roles.arrival is None
        self._doubt = Doubt(min(max_future_skew, ARRIVAL_JUMP) if derived else ARRIVAL_JUMP)
        self._doubted: pa.RecordBatch | None = None
        self._doubted_times = (NONE, NONE)
        self._taken_by: Int64 | None = None  # which row of the last step let each be taken
        self._numbers = np.full(1, -1)
        self._fresh = NONE
        self._since_sweep = 0
        self._widens: tuple[Buffer | None, Callable[..., pa.RecordBatch]] | None = None
        self.promise: int | None = None
        """How long a key must have been silent before time alone promises anything of it."""
        self.shared = False
        """Whether keys that are new start at the watermark of all."""
        self.together = False
        """Whether keys learn from each other."""
        self.promised = NEVER
        """The watermark that was last given out."""
        self.taken = 0
        """The number of the next row to be taken, while time passes."""

    # -- what a stage adds ----------------------------------------------------------------------

    @abstractmethod
    def take_keyed(self, given: Keyed) -> Step:
        """One step over arrivals whose keys are known."""

    @abstractmethod
    def pass_time_keyed(self, now: int) -> Step:
        """One step in which time passes for every key."""

    @abstractmethod
    def begin_keys(self, slots: Int64, floor: Int64, n: int) -> None:
        """Make room for all slots, and start those of `slots` afresh, with rows from number `n` on.

        Rows with a time before `floor` are late (NEVER: none is).
        """

    @abstractmethod
    def pass_time_of(self, slots: Int64, now: Int64) -> Step:
        """One step in which time passes for these keys alone, for each to its own `now`."""

    @abstractmethod
    def punctuated_keyed(self, reached: Int64) -> Step:
        """One step in which nothing before `reached` (by slot; NEVER: no promise) comes any more.
        """

    @abstractmethod
    def busy(self, slots: Int64) -> NDArray[np.bool_]:
        """Which of these keys hold something, and so cannot be forgotten."""

    def forgotten(self, slots: Int64) -> None:
        """These keys are gone; their slots will be given to others."""

    def forget_more(self) -> None:
        """Forget what else has long been silent."""

    def least_mark(self) -> int:
        """No key will release anything older; NEVER: there is no telling."""
        return NEVER

    def remembered(self) -> int:
        """How many keys, and whatever else is forgotten, there are."""
        return len(self.keys)

    # -- the skeleton ---------------------------------------------------------------------------

    def take(self, new: Arrivals) -> Step:
        """One step over arrivals: gate, keys, then the stage's own."""
        slot = self._slots(new.rows)
        self._taken_by = None
        if self._doubted is None and not self._jumps(new, slot):
            return self._take_admitted(new, slot)
        return self._take_judged(new)

    def taken_by(self, rows: Int64) -> Int64:
        """How many rows the last step had taken once so many of those given to it had come."""
        return rows if self._taken_by is None else np.searchsorted(self._taken_by, rows)

    def pass_time(self, now: int) -> Step:
        """Let time pass; rows in doubt that it has reached are confirmed."""
        self._sweep(0, at_once=True)  # before: what this step has to say may name any key
        steps = self._take_confirmed(now)
        self.taken = self.count
        if now != NEVER:
            self.now, self._told = max(self.now, now), max(self._told, now)
        steps.append(self.pass_time_keyed(now))
        return merged(steps)

    def punctuated(self, time: int, source: str | None, key: Mapping[str, Any] | None) -> Step:
        """Note a promise, and release what the promises so far allow."""
        slot = None if key is None else slot_of(self.keys, key, self.name)
        if slot is None or slot >= 0:
            self.punctuation.make(time, source, slot)
        return self.punctuated_keyed(self.punctuation.of(np.arange(self.keys.room)))

    def end(self) -> Step:
        """The end of input confirms what is in doubt: nothing contradicts it any more."""
        return merged([*self._take_confirmed(None), self.end_keyed()])

    @abstractmethod
    def end_keyed(self) -> Step:
        """The last step."""

    def lead(self, promise: int | None, *, shared: bool) -> None:
        """Other stages follow this one (see `promise` and `shared`); not part of a snapshot."""
        self.promise, self.shared = promise, shared

    def trust(self) -> None:
        """Rows come from a stage that has judged their clock: none is in doubt."""
        self._doubt.jump = FOREVER

    def watermark(self, upto: int = FOREVER) -> int:
        """No row that is released from now on is older (NEVER: there is no telling).

        `upto` is as far as the input itself has come, where that is known: keys that have not been
        seen yet start there.
        """
        self.promised = max(self.promised, min(self.least_mark(), upto))
        return self.promised

    @property
    def settled(self) -> int:
        """As far as time has come for all but a few keys, or as a tick said.

        One key, or one row, whose clock is wrong must not make the others seem silent.
        """
        live = self.keys.live()
        self.clocks.need(live)
        clocks = self.clocks["clock"][live]
        clocks = clocks[clocks != NEVER]
        most = (len(clocks) - 1) * 9 // 10
        return max(self._told, int(np.partition(clocks, most)[most]) if len(clocks) else NEVER)

    @property
    def in_doubt(self) -> int:
        """How many rows wait to be confirmed."""
        return 0 if self._doubted is None else int(self._doubted.num_rows)

    def holds_in(self, buffer: Buffer | None,
                 more: Callable[..., pa.RecordBatch] = widened) -> None:
        """All that is held is in this buffer: then columns may be added, as `more` adds them."""
        self._widens = (buffer, more)

    def widen(self, schema: pa.Schema) -> bool:
        """Let what is held have more columns, null in it."""
        if self._widens is None:
            return False
        buffer, more = self._widens
        if buffer is not None:
            buffer.widen(partial(more, schema=schema))
        if self._doubted is not None:
            self._doubted = widened(self._doubted, schema)
        return True

    def save(self) -> dict[str, Any]:
        """Write what has changed."""
        doubted = None
        if self._doubted is not None:
            doubted = {"rows": ipc_bytes(self._doubted).hex(),
                       "times": [part.tolist() for part in self._doubted_times],
                       "contradicted": list(self._doubt.contradicted.items())}
        return {"now": self.now, "told": self._told, "began": self.began, "keys": self.keys.save(),
                "clocks": self.clocks.save(), "punctuation": self.punctuation.save(),
                "doubted": doubted, "fresh": self._fresh.tolist(), "swept": self._since_sweep,
                "promised": self.promised}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        self.now, self._told, self.began = meta["now"], meta["told"], meta["began"]
        self._since_sweep = meta["swept"]
        self.promised = meta.get("promised", NEVER)
        self._fresh = np.array(meta["fresh"], np.int64)
        self.keys.load(meta["keys"])
        self.clocks.load(meta["clocks"])
        if "punctuation" in meta:  # not in what was written before there was punctuation
            self.punctuation.load(meta["punctuation"])
        if meta["doubted"] is not None:
            self._doubted = ipc_batch(bytes.fromhex(meta["doubted"]["rows"]))
            self._doubted_times = (np.array(meta["doubted"]["times"][0], np.int64),
                                   np.array(meta["doubted"]["times"][1], np.int64))
            self._doubt.contradicted = dict(meta["doubted"]["contradicted"])

    # -- rows in doubt --------------------------------------------------------------------------

    def _jumps(self, new: Arrivals, slot: Int64) -> bool:
        """Whether a row would make the clock jump: the stage's, or, if it is derived, its key's."""
        if len(new) == 0:
            return False
        if self.roles.arrival is not None:
            last = int(new.arrival[-1])  # in order, so no step can be longer than the whole
            if self.now != NEVER and last - self.now <= self._doubt.jump:
                return False
            return bool(has_jump(new.arrival, np.zeros(len(new), np.int64), np.array([self.now]),
                                 self.now, self._doubt.jump, False))
        key, slots = local_numbers(slot, self._numbers)
        self.clocks.need(slots)
        return bool(has_jump(new.arrival, key, self.clocks["clock"][slots], self.now,
                             self._doubt.jump, True))

    def _take_judged(self, new: Arrivals) -> Step:
        """Take the rows that are believed, in order; some are refused, others wait."""
        held = self.in_doubt
        rows = new.rows if self._doubted is None else joined([self._doubted, new.rows])
        time = np.concatenate([self._doubted_times[0], new.time])
        arrival = np.concatenate([self._doubted_times[1], new.arrival])
        if self.roles.arrival is not None:
            scope, clock = np.zeros(len(time), np.int64), np.array([self.now])
        else:
            scope = self._slots(rows)
            self.clocks.need(scope)
            clock = self.clocks["clock"]
        source = None
        if self.roles.source is not None:
            source = Keys("source", (self.roles.source,), self.store).slots(rows)[0]
        derived = self.roles.arrival is None
        verdict = self._doubt.judge(arrival, scope, source, clock, self.now, held, derived)
        self.count -= len(new)  # rows get their numbers when they are taken
        refused = []
        if verdict.refused:
            far = np.array(verdict.refused)
            why = f"more than {format_duration(self._doubt.jump)} ahead of all other rows"
            refused = [Refused(outcome(rows.take(pa.array(far)), [why] * len(far), arrival[far]),
                               self.count + np.array(verdict.refused_at),
                               2 * (np.array(verdict.refused_by) - held))]
        waiting, taken = np.array(verdict.waiting, int), verdict.taken
        self._doubted = rows.take(pa.array(waiting)) if len(waiting) else None
        self._doubted_times = (time[waiting], arrival[waiting])
        self._taken_by = verdict.taken_by - held
        rows = rows.take(pa.array(taken))
        step = self._take_admitted(self.numbered(time[taken], arrival[taken], rows),
                                   self._slots(rows))
        step.refused.extend(refused)
        return step

    def _take_confirmed(self, now: int | None) -> list[Step]:
        """Take the rows in doubt that time has reached (None: all)."""
        if self._doubted is None:
            return []
        time, arrival = self._doubted_times
        near = arrival <= (FOREVER if now is None else now + self._doubt.jump)
        if now == NEVER or not near.any():
            return []
        rows, stay = self._doubted, np.flatnonzero(~near)
        self._doubted = rows.take(pa.array(stay)) if len(stay) else None
        self._doubted_times = (time[stay], arrival[stay])
        if self._doubted is None:
            self._doubt.contradicted = {}
        rows = rows.take(pa.array(np.flatnonzero(near)))
        return [self._take_admitted(self.numbered(time[near], arrival[near], rows),
                                    self._slots(rows))]

    # -- keys -----------------------------------------------------------------------------------

    def _slots(self, rows: pa.RecordBatch) -> Int64:
        """The slot of each row's key; new keys are noted."""
        slot, fresh = self.keys.slots(rows)
        if len(fresh):
            self.clocks.grow(self.keys.room)
            self.clocks.reset(fresh)
            self._fresh = np.concatenate([self._fresh, fresh]) if len(self._fresh) else fresh
        if len(self._numbers) < self.keys.room:
            self._numbers = np.full(2 * self.keys.room, -1)
        return slot

    def _take_admitted(self, new: Arrivals, slot: Int64) -> Step:
        steps: list[Step] = []
        at = 0
        arrival = new.arrival.copy() if self.roles.arrival is None else new.arrival
        if len(new) and self.began == NEVER:
            self.began = int(arrival[0])
        while at < len(new) or not steps:
            stop, before = self._restart(slot, arrival, at,
                                         int(new.n[at]) if len(new) else self.count)
            piece = Arrivals(new.time[at:stop], arrival[at:stop], new.n[at:stop],
                             new.rows if stop - at == len(new) else
                             new.rows.slice(at, stop - at))
            key, slots = local_numbers(slot[at:stop], self._numbers)
            self.clocks.touch(slots)
            clock = self.clocks["clock"][slots]
            follow(piece.arrival, key, clock, self.roles.arrival is None)
            self.clocks["clock"][slots] = clock
            if stop > at:
                self.now = max(self.now, int(piece.arrival.max()))
            step = interleaved(before, self.take_keyed(Keyed(piece, key, slots)))
            steps.append(step if stop - at == len(new) else stamped(step))
            at = stop
        self._sweep(len(new))
        return merged(steps)

    def _restart(self, slot: Int64, arrival: Int64, at: int, n: int) -> tuple[int, list[Step]]:
        """Start keys afresh that are new, or new again; where this piece ends, and what they held.
        """
        fresh, self._fresh = self._fresh, NONE
        self.taken = n
        stop, again = len(slot), NONE
        steps: list[Step] = []
        waits = [w for w in (self.silence, self.promise) if w is not None]
        if waits and len(slot):
            self.clocks.need(slot[at:])
            stop, silent = silences(slot, arrival, at, self.clocks["clock"], self._numbers,
                                    min(waits))
            if self.together and len(silent):
                stop, silent = self._one_by_one(slot, arrival, at, stop, silent)
            if len(silent):
                self.begin_keys(NONE, NONE, n)  # room for keys that are new in this batch
                again = self._pass_silence(slot, arrival, at, silent, steps)
                steps = [due_to_first(step, slot[at:], n) for step in steps]
        if len(fresh):
            self.begin_keys(NONE, NONE, n)  # room for keys whose first row is in doubt: they wait
            waits_on = first_arrivals(slot, arrival, at, fresh, self._numbers) == NEVER
            self._fresh, fresh = fresh[waits_on], fresh[~waits_on]
        begun = np.concatenate([fresh, again]) if len(again) else fresh
        self.punctuation.forget(again)
        floor = np.maximum(self.punctuation.of(begun), self.promised if self.shared else NEVER)
        if self.silence is not None and len(begun):
            first = first_arrivals(slot, arrival, at, begun, self._numbers)
            old = first > self.began + self.silence
            floor[old] = np.maximum(floor[old], first[old] - self.silence + self._ahead)
        if len(begun):
            self.begin_keys(begun, floor, n)
            self.clocks.reset(again)
        return int(stop), steps

    def _one_by_one(self, slot: Int64, arrival: Int64, at: int, stop: int,
                    silent: Int64) -> tuple[int, Int64]:
        """Where this piece ends if what silent keys hold leaves by what is known just before each.
        """
        row = first_rows(slot, at, silent, self._numbers)
        over = arrival[row] - self.clocks["clock"][silent] > (
            FOREVER if self.silence is None else self.silence)
        due = row[over & self.busy(silent)]
        later = due[due > at] if at in due else due
        stop = int(later.min(initial=stop))
        return stop, silent[row < stop]

    def _pass_silence(self, slot: Int64, arrival: Int64, at: int, silent: Int64,
                      steps: list[Step]) -> Int64:
        """Let time pass for keys that were silent; which of them start afresh."""
        first = first_arrivals(slot, arrival, at, silent, self._numbers)
        gap = first - self.clocks["clock"][silent]
        over = gap > (FOREVER if self.silence is None else self.silence)
        if self.promise is not None:
            kept = ~over & (gap > self.promise)
            if kept.any():
                steps.append(stamped(self.pass_time_of(silent[kept],
                                                       first[kept] - self.promise)))
        again = silent[over]
        held = self.busy(again) if len(again) else np.zeros(0, bool)
        if held.any():  # what they hold leaves as time passes, as it would have by ticks
            steps.append(stamped(self.pass_time_of(again[held], first[over][held])))
            again = again[~self.busy(again)]
        return again

    def _sweep(self, rows: int, *, at_once: bool = False) -> None:
        """Forget who is silent, now and then: a look at all for half as many rows as there are.

        Not for as many: where every row brings a key of its own, they would stay ahead for ever.
        """
        self._since_sweep += rows
        if not at_once and self._since_sweep < max(self.remembered() // 2, _SWEEP):
            return
        self._since_sweep = 0
        if self.silence is not None:
            self._forget_keys(self.silence)
        self.forget_more()

    def _forget_keys(self, silence: int) -> None:
        live = self.keys.live()
        self.clocks.need(live)
        # a little later than need be: arrivals may be a little out of order
        silent = live[self.clocks["clock"][live] < self.settled - silence * 5 // 4]
        gone = silent[~self.busy(silent)]
        if len(gone):
            self.forgotten(gone)
            self.clocks.reset(gone)
            self.punctuation.forget(gone)
            self.keys.forget(gone)
