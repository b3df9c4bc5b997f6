"""The skeleton of every stage: what is the same for all of them is said here, once.

A stage's configuration (`Stage`) starts and restores a logic (`StageLogic`), which reads rows,
quarantines what cannot be used, brings the rest into arrival order, and asks the stage for one pure
step: `take` for arrivals, `pass_time` and `end` for time.  Snapshot, restore, the checks of schema
and identity, and the making of `Out` are here; a stage adds what it keeps (`save`, `load`), what
may not change over a restart (`identity`) and what it has to say (`notes`).

Enters: record batches.  Leaves: `Out`.  May import: the rest of core.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar
from weakref import ref

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.core.events import FOREVER, NEVER, Roles, Usable, usable_rows
from slackwater.core.html import html_fields
from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.layouts import laid_out
from slackwater.core.notes import Notes
from slackwater.core.outcome import Refused, in_order, outcome
from slackwater.core.state.ipc import adds_columns, empty_rows, joined
from slackwater.core.state.keys import Keys
from slackwater.core.state.record import Record, bundle, decode_schema, encode_schema, unbundle
from slackwater.core.steps import NONE, Arrivals, Step, merged, stamped

__all__ = ["Stage", "StageLogic", "how_late", "role_names", "slot_of"]

Int64 = NDArray[np.int64]
_PIECE = 1 << 17  # rows that are taken at once: what is made of them stays in the cache


class Stage(ABC):
    """A configuration that can be started and restored."""

    def _repr_html_(self) -> str:
        return html_fields(self)

    @abstractmethod
    def logic(self, store: Store) -> StageLogic:
        """A logic with nothing held, over this store."""

    def start(self, store: Store | None = None) -> Any:
        """Begin with nothing held."""
        logic = self.logic(MemoryStore() if store is None else store)
        logic.begin(owns=store is None)
        return logic

    def restore(self, snapshot: bytes, store: Store | None = None) -> Any:
        """Resume where `snapshot` was taken."""
        owns = store is None
        if store is None:
            snapshot, store = unbundle(snapshot)
        logic = self.logic(store)
        logic.resume(snapshot, owns=owns)
        return logic


class StageLogic(ABC):
    """A running stage.

    Parameters
    ----------
    name
        The stage's name in messages and snapshots.
    roles
        Which columns are time, arrival, key…
    store
        Where state goes.
    max_future_skew, max_delay
        Bounds beyond which a row is quarantined, in microseconds (None: no bound).
    """

    version: ClassVar[int] = 2
    """The layout of the stage's snapshots."""

    def __init__(self, name: str, roles: Roles, store: Store, *,
                 max_future_skew: int | None = None, max_delay: int | None = None) -> None:
        self.name, self.roles, self.store = name, roles, store
        self._ahead = FOREVER if max_future_skew is None else max_future_skew
        self._behind = max_delay
        self._owns = False
        self.schema: pa.Schema | None = None
        self.count = 0
        """Usable rows so far: the next row's arrival number."""
        self.reasons = True
        """Whether ready rows are told what they waited for; not part of a snapshot."""
        self._last_notes: ref[Notes] | None = None

    # -- what a stage adds ----------------------------------------------------------------------

    @abstractmethod
    def take(self, new: Arrivals) -> Step:
        """One step over arrivals."""

    @abstractmethod
    def pass_time(self, now: int) -> Step:
        """One step without arrivals: every row that arrived before `now` has been taken."""

    @abstractmethod
    def end(self) -> Step:
        """The last step: nothing comes any more."""

    def punctuated(self, time: int, source: str | None, key: Mapping[str, Any] | None) -> Step:
        """One step in which a promise is kept (see `punctuate`)."""
        raise ConfigError("takes no punctuation", step=self.name)

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What may not change over a restart, as plain JSON values."""

    @abstractmethod
    def save(self) -> dict[str, Any]:
        """Write what has changed to the store; the result is what `load` needs."""

    @abstractmethod
    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""

    @abstractmethod
    def notes(self) -> dict[str, Any]:
        """Facts about the state, ``held`` among them."""

    def lead(self, promise: int | None, *, shared: bool) -> None:
        """Other stages follow this one: see `slackwater.core.keyed`."""
        return

    def trust(self) -> None:
        """Rows come in order from a stage that has judged their clock."""
        return

    def watermark(self, upto: int = NEVER) -> int:
        """No row that is released from now on is older (NEVER: there is no telling)."""
        return NEVER

    def bind(self, schema: pa.Schema) -> None:
        """The input's columns are known, or have changed while nothing was held."""
        self.roles.check(schema.names, step=self.name)

    def held(self) -> int:
        """How many rows are held: the one of the notes that is always read."""
        return int(self.notes()["held"])

    def holds(self) -> bool:
        """Whether anything is held that has the columns of the input."""
        return self.held() > 0

    def widen(self, schema: pa.Schema) -> bool:
        """Let what is held have more columns, null in it; False: this stage cannot."""
        return False

    def blank(self) -> pa.RecordBatch:
        """No rows, of the input's columns."""
        return empty_rows(self.schema)

    # -- the protocol ---------------------------------------------------------------------------

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events, in arrival order."""
        self.settle_notes()
        step, refused = self.step(laid_out(batch))
        return self.out(step, refused)

    def tick(self, now: int) -> Out:
        """Let time pass without an event (see `Logic.tick`)."""
        self.settle_notes()
        return self.out(self.pass_time(now), [])

    def punctuate(self, time: int, *, source: str | None = None,
                  key: Mapping[str, Any] | None = None) -> Out:
        """Take a promise from outside: nothing with a time before `time` (µs) comes any more.

        It is made by `source` (None: by all of them) and is about `key`, a value for each key
        column (None: about every key, those to come included; a key that is not known holds
        nothing, and a promise about it alone is not kept).  What had been waiting for no more than
        that leaves, and a row that comes all the same is late.
        """
        self.settle_notes()
        return self.out(self.punctuated(int(time), source, key), [])

    def finish(self) -> Out:
        """End of input: release everything."""
        self.settle_notes()
        return self.out(self.end(), [])

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        index = self.index()
        if not self._owns:
            return index
        assert isinstance(self.store, MemoryStore)
        return bundle(index, self.store)

    def index(self) -> bytes:
        """Write what has changed to the store; the index into it."""
        meta = {"identity": self.identity(), "schema": encode_schema(self.schema),
                "count": self.count, "state": self.save()}
        return Record(self.name, self.version, meta).encode()

    def begin(self, *, owns: bool) -> None:
        """Start with nothing held."""
        self._owns = owns

    def resume(self, index: bytes, *, owns: bool) -> None:
        """Continue where the snapshot with this index was taken."""
        self._owns = owns
        meta = Record.decode(index, kind=self.name, version=self.version).meta
        same_identity(meta["identity"], self.identity(), self.name)
        self.count, self.schema = meta["count"], decode_schema(meta["schema"])
        if self.schema is not None:
            self.bind(self.schema)
        self.load(meta["state"])

    # -- for chains -----------------------------------------------------------------------------

    @property
    def front(self) -> StageLogic:
        """The stage that rows come to first: this one, or the first of a chain."""
        return self

    def pass_on(self, step: Step) -> Step:
        """What is made of a step of the first stage: nothing more, but in a chain."""
        return step

    def step(self, batch: pa.RecordBatch) -> tuple[Step, list[Refused]]:
        """Take events; what is released, and what is quarantined."""
        front = self.front
        new, refused = front.read(batch)  # as a whole: its arrivals may be in any order
        size = _PIECE if len(new) > 2 * _PIECE else max(len(new), 1)
        steps, by = [], [part.by.copy() for part in refused]
        for at in range(0, max(len(new), 1), size):
            part, count = new if size >= len(new) else new.slice(at, at + size), front.count
            step = front.take(front.numbered(part.time, part.arrival, part.rows))
            for numbers, one in zip(by, refused, strict=True):
                here = one.by >= at
                numbers[here] = count + front.taken_by(one.by[here] - at)
            if at:
                step = replace(step, refused=[
                    r if r.place is None else replace(r, place=r.place + 2 * at)
                    for r in step.refused])
            step = self.pass_on(step)
            steps.append(step if size >= len(new) else stamped(step))
        return merged(steps), [replace(part, by=n) for part, n in zip(refused, by, strict=True)]

    def taken_by(self, rows: Int64) -> Int64:
        """How many rows the last step had taken once so many of those given to it had come."""
        return rows

    def read(self, batch: pa.RecordBatch) -> tuple[Arrivals, list[Refused]]:
        """The good rows, by arrival and without numbers yet; the others, with their reasons.

        For these, `by` is the number of good rows that came before.
        """
        self.see(batch.schema)
        usable = usable_rows(batch, self.roles, max_future_skew=self._ahead,
                             max_delay=self._behind)
        return self._split(batch, usable)

    def out(self, step: Step, refused: list[Refused]) -> Out:
        """A step as the protocol has it."""
        blank = self.blank()
        none = outcome(blank, None, NONE)
        ready = joined(step.ready) if step.ready else blank
        if step.stamp is not None:
            ready = outcome(ready, *step.stamp())
        elif not step.ready:
            ready = none
        late = none if step.late is None else outcome(step.late, step.why_late, step.late_at)
        refused = [*refused, *step.refused]
        notes = Notes(self.held(), self.notes)
        self._last_notes = ref(notes)
        return Out(ready, late, in_order(refused) if refused else none, notes)

    def settle_notes(self) -> None:
        """The state is about to change: notes of the last step that somebody has are worked out."""
        notes = None if self._last_notes is None else self._last_notes()
        if notes is not None:
            notes.settle()

    # -- inside ---------------------------------------------------------------------------------

    def see(self, schema: pa.Schema) -> None:
        """Know the input's columns: while rows are held, nullable ones may be added, no more."""
        if self.schema is None:
            self.bind(schema)
        elif schema == self.schema:
            return
        elif self.holds() and not (adds_columns(self.schema, schema) and self.widen(schema)):
            raise SnapshotError("the columns have changed while rows are held", step=self.name,
                                expected=self.schema, got=schema,
                                hint="let the old query drain, then start a new checkpoint")
        else:
            self.bind(schema)
        self.schema = schema

    def _split(self, batch: pa.RecordBatch,
               usable: Usable) -> tuple[Arrivals, list[Refused]]:
        """The good rows, by arrival, and the others, with their reasons."""
        refused = []
        time, arrival, rows = usable.time, usable.arrival, batch
        if not usable.good.all():
            good, bad = np.flatnonzero(usable.good), np.flatnonzero(~usable.good)
            before = bad - np.arange(len(bad))  # good rows
            refused = [Refused(outcome(batch.take(pa.array(bad)), usable.reason[bad],
                                       usable.arrival[bad]), before, 2 * before - 1)]
            time, arrival, rows = time[good], arrival[good], batch.take(pa.array(good))
        if self.roles.arrival is not None and (arrival[1:] < arrival[:-1]).any():
            order = np.argsort(arrival, kind="stable")  # ties stay as they were given
            time, arrival, rows = time[order], arrival[order], rows.take(pa.array(order))
        return Arrivals(time, arrival, NONE, rows), refused

    def numbered(self, time: Int64, arrival: Int64, rows: pa.RecordBatch) -> Arrivals:
        """Rows as arrivals, which get the next numbers."""
        n = np.arange(self.count, self.count + len(time))
        self.count += len(time)
        return Arrivals(time, arrival, n, rows)


def same_identity(was: Mapping[str, Any], now: Mapping[str, Any], name: str) -> None:
    """Raise if something has changed that state depends on; of roles those that have are named.

    Examples
    --------
    >>> try:
    ...     same_identity({"roles": {"time": "t", "key": ["k"]}},
    ...                   {"roles": {"time": "t", "key": []}}, "reorder")
    ... except SnapshotError as error:
    ...     print(str(error).splitlines()[0])
    restore reorder: the key columns have changed since the snapshot
    """
    for what in [*was, *(w for w in now if w not in was)]:
        before, after = was.get(what), now.get(what)
        if before == after:
            continue
        words = f"the {what} has changed"
        if what == "roles" and isinstance(before, dict) and isinstance(after, dict):
            role = next(r for r in (*before, *after) if before.get(r) != after.get(r))
            before, after = before.get(role), after.get(role)
            words = "the key columns have changed" if role == "key" else (
                f"the {role} column has changed" if role != "unit" else "the unit has changed")
        raise SnapshotError(f"{words} since the snapshot", step=f"restore {name}",
                            expected=before, got=after,
                            hint="keep it, or start afresh with a new checkpoint")


def role_names(roles: Roles) -> dict[str, Any]:
    """The roles as plain JSON values."""
    return {f.name: list(getattr(roles, f.name)) if f.name == "key" else getattr(roles, f.name)
            for f in fields(roles)}


def slot_of(keys: Keys, key: Mapping[str, Any], step: str) -> int:
    """The slot of the key with these values, by the name of its columns; −1: it is not known."""
    if set(key) != set(keys.columns):
        raise ConfigError("a key must have a value for each key column", step=step,
                          expected=", ".join(keys.columns) or "no key: there are no key columns",
                          got=", ".join(key) or "none")
    return int(keys.find(pa.RecordBatch.from_pylist([dict(key)]))[0])


def how_late(late_by: Int64, why: pa.Array | None = None) -> pa.Array:
    """The reason of late rows: how far behind, and what more there is to say."""
    ms = pa.array(np.round(late_by / 1000, 3)).cast(pa.string())
    text = pc.binary_join_element_wise("came ", ms, " ms behind the watermark", "")
    if why is None:
        return text
    return pc.binary_join_element_wise(text, why, ": ", null_handling="skip")
