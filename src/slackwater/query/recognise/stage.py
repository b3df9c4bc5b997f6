"""The stage: rows in time order per partition in, matches out; what may still match is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import Roles
from slackwater.core.kernel import Store
from slackwater.core.layouts import laid_out_schema
from slackwater.core.outcome import Refused, outcome
from slackwater.core.stage import Stage, how_late
from slackwater.core.state.buffer import Buffer, Rows
from slackwater.core.state.ipc import empty_rows
from slackwater.core.state.keys import Keys
from slackwater.core.state.pages import Pages
from slackwater.core.steps import Arrivals, Step
from slackwater.query.recognise.engine import Engine, Results
from slackwater.query.recognise.layout import Layout, lay_out
from slackwater.query.recognise.parse import parse_recognise
from slackwater.query.recognise.plan import Plan, plan_recognise
from slackwater.query.recognise.search import Parts
from slackwater.query.recognise.walks import behind
from slackwater.reorder.chain import FollowerLogic

__all__ = ["Recognise"]

Int64 = NDArray[np.int64]
_NEVER, _NOTHING = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
_GAVE_UP = "the search for a match from this row on takes more than {:,} steps"


@dataclass(frozen=True)
class Recognise(Stage):
    """Find the matches of a MATCH_RECOGNIZE query in rows that come in time order.

    Parameters
    ----------
    text, schema
        The query, and the columns of its input.
    unit
        Of integer times.
    max_steps
        A row from which on the search takes longer is given up, and quarantined.  Only patterns
        whose conditions depend on the match so far are searched step by step.
    """

    text: str
    schema: pa.Schema
    unit: str | None = None
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", laid_out_schema(self.schema))

    @cached_property
    def plan(self) -> Plan:
        """The query, planned."""
        return plan_recognise(parse_recognise(self.text), self.schema, self.unit)

    @property
    def roles(self) -> Roles:
        """Time and partition."""
        return Roles(self.plan.time, key=self.plan.partition, unit=self.unit)

    def logic(self, store: Store) -> RecogniseLogic:
        """A logic with nothing held."""
        return RecogniseLogic(self, store)

    def __reduce__(self) -> tuple[Any, ...]:
        # the plan is made again where it arrives: it holds functions, which do not travel
        return (Recognise, (self.text, self.schema, self.unit, self.max_steps))


class RecogniseLogic(FollowerLogic):
    """A running `Recognise`."""

    def __init__(self, config: Recognise, store: Store) -> None:
        super().__init__("recognise", config.roles, store)
        self._config, self._plan = config, config.plan
        self._engine = Engine(config.plan, config.max_steps)
        self._keys = Keys("recognise/keys", config.plan.partition, store)
        # what is kept begins with the row (time, n); `skip` rows of it are there for PREV alone;
        # `base` rows of the partition came before it
        self._marks = Pages("recognise/marks", {
            "time": np.int64(_NEVER), "n": np.int64(_NEVER), "born": np.int64(_NOTHING),
            "skip": np.int64(0), "base": np.int64(0), "number": np.int64(0),
            "matched": np.int64(-1), "last": np.int64(_NEVER), "due": np.int64(_NOTHING),
            "waiting": np.int64(0)}, store)
        self._buffer = Buffer("recognise/rows", store, self._gone)
        self._waiting = self._skips = 0
        self._none = self._engine.nothing()

    # -- steps ----------------------------------------------------------------------------------

    def take(self, new: Arrivals) -> Step:
        """Take rows, in time order per partition."""
        if not len(new):
            return Step([self._none], late=new.rows)
        slot, fresh = self._keys.slots(new.rows)
        self._marks.grow(self._keys.room)
        self._marks.reset(fresh)
        slots = np.unique(slot)
        self._marks.touch(slots)
        self._marks["born"][fresh] = new.n[0]
        late_by = behind(slot, np.ascontiguousarray(new.time), self._marks["last"])
        late = np.flatnonzero(late_by)
        rows = Rows(slot, new.time, new.n, new.rows)
        if len(late):
            rows = rows.take(np.flatnonzero(late_by == 0))
        step = self._search(slots, rows, None)
        return step if not len(late) else Step(
            step.ready, refused=step.refused, late=new.rows.take(pa.array(late)),
            why_late=how_late(late_by[late]), late_at=new.time[late])

    def pass_time(self, now: int) -> Step:
        """Rows before `now` are no longer waited for."""
        return self.advance(np.full(self._keys.room, now))

    def end(self) -> Step:
        """No row comes any more."""
        self._marks.need_all()
        slots = np.flatnonzero(self._marks["waiting"] > 0)
        return self._search(slots, None, np.full(self._keys.room, _NOTHING), ended=True)

    def advance(self, theta: Int64) -> Step:
        """For each partition no row with a time before its `theta` comes any more."""
        self._marks.need_all()
        due = self._marks["due"]
        slots = np.flatnonzero((due <= theta[:len(due)]) & (due != _NOTHING))
        return self._search(slots, None, theta)

    def groups(self) -> pa.RecordBatch | None:
        """The values of the partition columns, by slot: what `advance` goes by; None: no key."""
        return self._keys.by_slot()

    # -- the search -----------------------------------------------------------------------------

    def _search(self, slots: Int64, new: Rows | None, theta: Int64 | None,
                ended: bool = False) -> Step:
        """Search these partitions, with the rows that have come, as far as it is certain."""
        if not len(slots):
            return Step([self._none])
        self._marks.touch(slots)
        marks = self._marks
        held = self._buffer.upto(slots, np.full(len(slots), _NOTHING))
        before = len(held)
        rows = held.payload(np.arange(before)) if before else None
        slot, time, n = held.slot, held.time, held.n
        if new is not None:
            if rows is None:
                rows, slot, time, n = new.payload, new.key, new.time, new.n
            else:
                rows = pa.concat_batches([rows, new.payload])
                slot, time, n = (np.concatenate(pair) for pair in (
                    (slot, new.key), (time, new.time), (n, new.n)))
        if rows is None or not len(n):
            return Step([self._none])
        if theta is None:
            theta = np.full(self._keys.room, _NEVER)
        laid = lay_out(self._plan, rows, slot, time, n, marks["last"], theta, ended)
        ordered = rows if (laid.order == np.arange(len(n))).all() else rows.take(
            pa.array(laid.order))
        parts = Parts(laid.lo, laid.closed, laid.lo + marks["skip"][laid.slot],
                      marks["base"][laid.slot], marks["number"][laid.slot],
                      marks["matched"][laid.slot], theta[laid.slot],
                      np.full(len(laid.lo), ended), np.full(len(laid.lo), _NEVER),
                      np.zeros(len(laid.lo), np.int64))
        found = self._engine.run(ordered, laid.time, laid.known_by, parts)
        self._skips += int(parts.skips.sum())
        keep = self._keep(laid, parts, theta)
        place = np.empty(len(n), np.int64)
        place[laid.order] = np.arange(len(n))
        stays = place >= np.repeat(keep, laid.hi - laid.lo)[place]
        if before:
            self._buffer.leave(held, ~stays[:before])
        if new is not None:
            kept = np.flatnonzero(stays[before:])
            self._buffer.add(new.take(kept) if len(kept) < len(new) else new)
        self._forget(laid.slot[keep == laid.hi])
        return Step([found.ready], refused=self._given_up(ordered, laid, found))

    def _keep(self, laid: Layout, parts: Parts, theta: Int64) -> Int64:
        """Note how far partitions have come; from which row on they are kept."""
        marks, slot, start = self._marks, laid.slot, parts.start
        keep = np.maximum(laid.lo, start - self._plan.back)
        if self._plan.ties:  # rows of equal time are dropped together
            for p in np.flatnonzero(keep < laid.hi):
                keep[p] = max(laid.lo[p], int(np.searchsorted(
                    laid.time[laid.lo[p]:laid.hi[p]], laid.time[keep[p]])) + laid.lo[p])
        some = keep < laid.hi
        at = np.minimum(keep, laid.hi - 1)
        marks["time"][slot] = laid.time[at]
        marks["n"][slot] = laid.n[at] if not self._plan.ties else _NEVER
        gone = slot[~some]
        marks["n"][gone] = self.count
        if self._plan.ties:
            marks["time"][gone] += 1
            marks["n"][gone] = _NEVER
        marks["skip"][slot] = start - keep
        marks["base"][slot] = parts.base + keep - laid.lo
        marks["number"][slot], marks["matched"][slot] = parts.number, parts.matched
        waiting = laid.hi - start
        self._waiting += int(waiting.sum() - marks["waiting"][slot].sum())
        marks["waiting"][slot] = waiting
        marks["due"][slot] = self._due(laid, parts, theta[slot])
        return keep

    def _due(self, laid: Layout, parts: Parts, theta: Int64) -> Int64:
        """The time that, when it has passed, decides something in each partition."""
        due = np.full(len(laid.slot), _NOTHING)
        within = self._plan.tree.within
        if within is not None:
            waits = np.flatnonzero(parts.start < laid.closed - self._plan.ahead)
            deadline = laid.time[parts.start[waits]] + within + 1
            due[waits] = np.where(deadline > theta[waits], deadline, _NOTHING)
        open_rows = np.flatnonzero(laid.closed < laid.hi)
        due[open_rows] = np.minimum(due[open_rows], laid.time[laid.hi[open_rows] - 1] + 1)
        return due

    def _given_up(self, rows: pa.RecordBatch, laid: Layout, found: Results) -> list[Refused]:
        which = found.gave_up
        if not len(which):
            return []
        why = [_GAVE_UP.format(self._config.max_steps)] * len(which)
        return [Refused(outcome(rows.take(pa.array(which)), why, laid.time[which]),
                        found.gave_up_by)]

    # -- state ----------------------------------------------------------------------------------

    def _gone(self, slot: Int64, time: Int64, n: Int64) -> NDArray[np.bool_]:
        marks = self._marks
        marks.need(slot)
        mark, mark_n = marks["time"][slot], marks["n"][slot]
        return np.asarray((n < marks["born"][slot]) | (time < mark)
                          | ((time == mark) & (n < mark_n)))

    def _forget(self, slots: Int64) -> None:
        """Forget partitions of which nothing can matter any more."""
        if not len(slots) or not self._plan.partition or self._plan.remembers:
            return
        self._marks.reset(slots)
        self._keys.forget(slots)

    def holds(self) -> bool:
        """Whether rows are kept."""
        return len(self._buffer) > 0

    def blank(self) -> pa.RecordBatch:
        """No rows, of the input's columns."""
        return empty_rows(self._config.schema)

    def identity(self) -> dict[str, Any]:
        """The query."""
        return {"query": self._config.text, "unit": self._config.unit}

    def save(self) -> dict[str, Any]:
        """Write what has changed."""
        return {"keys": self._keys.save(), "marks": self._marks.save(),
                "rows": self._buffer.save(), "waiting": self._waiting, "skips": self._skips}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        self._keys.load(meta["keys"])
        self._marks.load(meta["marks"])
        self._buffer.load(meta["rows"])
        self._waiting, self._skips = meta["waiting"], meta["skips"]

    def notes(self) -> dict[str, Any]:
        """Rows that wait for a match to be certain, all that are kept, partitions."""
        return {"held": self._waiting, "open": self._waiting, "groups": len(self._keys),
                "retained": len(self._buffer), "failed_skips": self._skips}
