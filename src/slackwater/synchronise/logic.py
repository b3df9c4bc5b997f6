"""What all running synchronisers share: reading rows, the book of sources, and the protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.core.errors import ConfigError, SnapshotError, did_you_mean
from slackwater.core.events import usable_rows
from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.outcome import outcome
from slackwater.core.state import Hold, KeyTable, Record, Table, bundle
from slackwater.core.state.buffer import Rows
from slackwater.core.state.record import decode_schema, encode_schema
from slackwater.synchronise.book import (
    BIT,
    CLOCK,
    DISABLED,
    FAILURES,
    FRONTIER,
    GONE,
    GUEST,
    KEY,
    LATEST,
    LIVE,
    MARK,
    NEVER,
    NEW,
    ROOT,
    SEEN,
    SINCE,
    SOURCE,
    STATE,
    STATES,
    TOP,
    Book,
    enlist,
    rebuild,
    strike,
)
from slackwater.synchronise.config import Synchroniser
from slackwater.synchronise.rows import HIDDEN, Arrivals, Released

__all__ = ["SyncLogic"]

Int64 = NDArray[np.int64]
FOREVER = np.iinfo(np.int64).max
_SHOWN = 256  # notes list the health of so many sources; `health()` lists all


class SyncLogic(ABC):
    """A running synchroniser."""

    kind: ClassVar[str] = "synchronise"

    def __init__(self, config: Synchroniser, store: Store | None) -> None:
        self.config = config
        self._own = MemoryStore() if store is None else None
        self._store: Store = store if store is not None else self._own  # type: ignore[assignment]
        roles = config.roles
        assert roles.source is not None
        self._keys = KeyTable("keys", roles.key)
        self._sources = KeyTable("sources", (roles.source,))
        self._codes = KeyTable("codes", ("member",))
        member, key = np.zeros(BIT + 1, np.int64), np.zeros(SEEN + 1, np.int64)
        member[[FRONTIER, LATEST]], member[STATE], member[BIT] = NEVER, NEW, -1
        key[[MARK, CLOCK, TOP, GONE]], key[ROOT], key[SINCE] = NEVER, -1, FOREVER
        self._marks = Table("marks", {"row": key})
        self._members = Table("members", {"row": member})
        # heaps are made again at a restore, so their links are never written
        self._links = Table("links", {"row": np.array([NEVER, -1, -1, 0])})
        self._hold = Hold("held", self._store, self._gone)
        self._declared: list[str] = list(config.sources or ())
        self._removed: list[str] = []
        self._n = self._opened = self._elapsed = 0
        self._schema: pa.Schema | None = None

    # -- the protocol ---------------------------------------------------------------------------

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events, in arrival order."""
        self._check(batch.schema)
        usable = usable_rows(batch, self.config.roles,
                             max_future_skew=self.config.max_future_skew)  # type: ignore[arg-type]
        time, arrival, rows, bad = usable.time, usable.arrival, batch, None
        if not usable.good.all():
            good, bad = np.flatnonzero(usable.good), np.flatnonzero(~usable.good)
            time, arrival, rows = time[good], arrival[good], batch.take(pa.array(good))
        key, source = self._keys.codes(rows), self._sources.codes(rows)
        self._open()
        member = self._member(key, source)
        self._marks.touch(key)
        self._members.touch(member)
        self._key_rows[key, SEEN] = self._elapsed
        n = np.arange(self._n, self._n + len(time))
        self._n += len(time)
        arrivals = Arrivals(key, member, time, arrival, n, rows)
        released, late_by, clock = self._take(arrivals)
        late = np.flatnonzero(late_by)
        why = self._how_late(rows.take(pa.array(late)), late_by[late])
        return self._out(released, outcome(rows.take(pa.array(late)), why, clock[late]),
                         None if bad is None else outcome(
                             batch.take(pa.array(bad)), usable.reason[bad], usable.arrival[bad]))

    def tick(self, now: int) -> Out:
        """Let time pass without an event."""
        return self._out(self._pass_time(np.maximum(self._key_rows[:, CLOCK], now)))

    def elapse(self, passed: int) -> None:
        """Count real time (see `Logic.elapse`)."""
        self._elapsed += passed

    def idle(self, quiet: int) -> Out:
        """Let time pass for silent keys (see `Logic.idle`)."""
        clock, silence = self._key_rows[:, CLOCK], self._elapsed - self._key_rows[:, SEEN]
        # a clock that stands at NEVER has no events to release, and must not be added to
        silent = (silence >= quiet) & (clock != NEVER)
        return self._out(self._pass_time(clock + np.where(silent, silence, 0)))

    def finish(self) -> Out:
        """End of input: let everything go."""
        return self._out(self._let_all_go())

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        sources = self.config.sources
        meta = {
            "method": type(self.config).__name__,
            "key": list(self.config.roles.key),
            "sources": None if sources is None else list(sources),
            "declared": self._declared, "removed": self._removed,
            "n": self._n, "opened": self._opened, "elapsed": self._elapsed,
            "schema": encode_schema(self._schema),
            "keys": self._keys.save(self._store), "names": self._sources.save(self._store),
            "codes": self._codes.save(self._store), "marks": self._marks.save(self._store),
            "members": self._members.save(self._store), "hold": self._hold.save(),
            "method_state": self._save(),
        }
        index = Record(self.kind, 1, meta).encode()
        return index if self._own is None else bundle(index, self._own)

    # -- sources --------------------------------------------------------------------------------

    def add_source(self, name: str) -> Out:
        """Wait for a source from now on, in every key; events already held do not wait for it."""
        name = str(name)
        if name in self._removed:
            self._removed.remove(name)
        if name not in self._declared:
            self._declared.append(name)
        self._grow_tables()
        self._enlist(np.arange(len(self._keys)) if self._opened else np.zeros(0, np.int64), [name])
        return self.tick(NEVER)

    def remove_source(self, name: str) -> Out:
        """No longer wait for a source, in any key; its rows that still come are sorted in."""
        name = str(name)
        names = self._sources.names
        if name not in names and name not in self._declared:
            raise ConfigError(f"there is no source {name!r} to remove", step=type(self).__name__,
                              hint=did_you_mean(name, names))
        if name in self._declared:
            self._declared.remove(name)
        if name not in self._removed:
            self._removed.append(name)
        self._strike(name)
        return self.tick(NEVER)

    def health(self) -> list[dict[str, Any]]:
        """Every source of every key: its state, failures, and the last time it has shown (µs)."""
        return self._health(np.arange(self._members.rows))

    # -- what a method adds -----------------------------------------------------------------------

    @abstractmethod
    def _take(self, new: Arrivals) -> tuple[Released, Int64, Int64]:
        """Enter arrivals: what left, how late each arrival was, and the clock at each."""

    @abstractmethod
    def _pass_time(self, now: Int64) -> Released:
        """For each key it is `now`: let go what may leave. Its clock, the arrivals', stands."""

    @abstractmethod
    def _let_all_go(self) -> Released:
        """Let go all that is held, in order."""

    @abstractmethod
    def _save(self) -> dict[str, Any]:
        """Write the method's own state."""

    @abstractmethod
    def _load(self, meta: dict[str, Any]) -> None:
        """Read what `_save` wrote."""

    def _changed(self, keys: Int64, members: Int64) -> None:
        """Members were added or removed by name, for a method that keeps its own list."""
        return

    # -- starting and resuming ------------------------------------------------------------------

    def begin(self) -> None:
        """Start with nothing held."""
        if not self.config.roles.key:
            self._open()

    def resume(self, index: bytes, own: MemoryStore | None) -> None:
        """Read a snapshot; `own` is its store, if it brought one."""
        self._own = own
        meta = Record.decode(index, kind=self.kind, version=1).meta
        sources = self.config.sources
        now: dict[str, Any] = {
            "method": type(self.config).__name__, "key": list(self.config.roles.key)}
        for what, value in now.items():
            if meta[what] != value:
                raise SnapshotError(f"the {what} has changed since the snapshot",
                                    step=f"restore {self.kind}", expected=meta[what], got=value,
                                    hint="keep it, or start afresh with a new checkpoint")
        if (meta["sources"] is None) != (sources is None):
            raise SnapshotError("sources were learned and are now declared, or the reverse",
                                step=f"restore {self.kind}", expected=meta["sources"], got=sources,
                                hint="start afresh with a new checkpoint")
        self._declared, self._removed = list(meta["declared"]), list(meta["removed"])
        self._n, self._opened, self._elapsed = meta["n"], meta["opened"], meta["elapsed"]
        self._schema = decode_schema(meta["schema"])
        self._keys.load(self._store, meta["keys"])
        self._sources.load(self._store, meta["names"])
        self._codes.load(self._store, meta["codes"])
        self._marks.load(self._store, meta["marks"])
        self._members.load(self._store, meta["members"])
        self._hold.load(meta["hold"])
        self._grow_tables()
        rebuild(self._book())
        self._load(meta["method_state"])
        if sources is not None:
            self._revise(meta["sources"], list(sources))

    def _revise(self, was: list[str], now: list[str]) -> None:
        for name in was:
            if name not in now and name in self._declared:
                self._declared.remove(name)
                self._removed.append(name)
                self._strike(name)
        fresh = [name for name in now if name not in was and name not in self._declared]
        self._declared += fresh
        if fresh and self._opened:
            self._enlist(np.arange(len(self._keys)), fresh)

    # -- inside ---------------------------------------------------------------------------------

    def _check(self, schema: pa.Schema) -> None:
        step = type(self.config).__name__
        if self._schema is None:
            self.config.roles.check(schema.names, step=step)
        elif schema != self._schema and len(self._hold):
            raise SnapshotError("the columns have changed while rows are held", step=step,
                                expected=self._schema, got=schema,
                                hint="let the old query drain, then start a new checkpoint")
        self._schema = schema

    def _gone(self, rows: Rows) -> NDArray[np.bool_]:
        return rows.time <= self._key_rows[rows.key, GONE]

    def _open(self) -> None:
        """Let the declared sources join the keys that have come since."""
        first, self._opened = self._opened, len(self._keys)
        self._grow_tables()
        if self._declared and self._opened > first:
            self._enlist(np.arange(first, self._opened), self._declared)

    def _grow_tables(self) -> None:
        members = len(self._codes)
        for table, rows in ((self._marks, self._opened), (self._members, members),
                            (self._links, members)):
            table.grow(rows)

    def _source_codes(self, names: list[str]) -> Int64:
        role = self.config.roles.source
        return self._sources.codes(pa.record_batch({role: pa.array(names, pa.string())}))

    def _enlist(self, keys: Int64, names: list[str]) -> None:
        source = self._source_codes(names)
        key = np.repeat(keys, len(names))
        member = self._member(key, np.tile(source, len(keys)))
        self._members.touch(member)
        self._marks.touch(keys)
        fresh = self._member_rows[member, STATE] != LIVE
        _enlist_all(self._book(), key[fresh], member[fresh])
        self._changed(key[fresh], member[fresh])

    def _strike(self, name: str) -> None:
        mine = np.flatnonzero(self._member_rows[:, SOURCE] == self._source_codes([name])[0])
        keys = self._member_rows[mine, KEY]
        self._members.touch(mine)
        self._marks.touch(keys)
        _strike_all(self._book(), keys, mine)
        self._changed(keys, mine)

    def _member(self, key: Int64, source: Int64) -> Int64:
        """The code of each (key, source); new ones enter the book."""
        if self.config.roles.key or not len(source):
            pairs = pa.array(key << 32 | source).dictionary_encode()
            distinct, local = pairs.dictionary, pairs.indices.to_numpy(zero_copy_only=False)
        else:  # one key: the source alone tells
            distinct, local = pa.array(np.flatnonzero(np.bincount(source))), None
        codes = self._codes.codes(pa.record_batch([distinct], names=["member"]))
        first = self._members.rows
        self._grow_tables()
        if self._members.rows > first:
            pair = distinct.to_numpy()[codes >= first]
            fresh = codes[codes >= first]
            members = self._member_rows
            members[fresh, KEY] = pair >> 32
            members[fresh, SOURCE] = pair & 0xFFFFFFFF
            if self.config.sources is not None:
                members[fresh, STATE] = GUEST
            elif self._removed:
                guest = np.isin(pair & 0xFFFFFFFF, self._source_codes(self._removed))
                members[fresh[guest], STATE] = GUEST
        if local is not None:
            return codes[local]
        of = np.zeros(len(self._sources), np.int64)
        of[distinct.to_numpy()] = codes
        return of[source]

    @property
    def _key_rows(self) -> Int64:
        return self._marks["row"]

    @property
    def _member_rows(self) -> Int64:
        return self._members["row"]

    def _book(self) -> Book:
        return Book(self._member_rows, self._links["row"], self._key_rows)

    def _limits(self) -> tuple[int, int, bool]:
        config = self.config
        return (-1 if config.max_delay is None else config.max_delay,  # type: ignore[return-value]
                FOREVER if config.max_failures is None else config.max_failures,
                config.blame == "producer")

    def _out(self, released: Released, late: pa.RecordBatch | None = None,
             quarantined: pa.RecordBatch | None = None) -> Out:
        rows = released.rows.payload
        if rows.num_columns:
            rows = rows.select([c for c in rows.schema.names if c not in HIDDEN])
        why = None
        if released.timed_out.any():
            limit = format_duration(self.config.max_delay)  # type: ignore[arg-type]
            why = np.where(released.timed_out, f"waited longer than {limit}", None)  # type: ignore[call-overload]
        ready = outcome(rows, why, released.when)
        none = ready.slice(0, 0)
        return Out(ready, none if late is None else late,
                   none if quarantined is None else quarantined, self._notes())

    def _none_released(self) -> Released:
        none = np.zeros(0, np.int64)
        blank = pa.RecordBatch.from_pylist([], self._schema or pa.schema([]))
        return Released(Rows(none, none, none, blank), none, np.zeros(0, bool))

    def _how_late(self, rows: pa.RecordBatch, late_by: Int64) -> pa.Array | None:
        if not len(late_by):
            return None
        column = rows.column(self.config.roles.source)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        source = pc.fill_null(column.cast(pa.string()), "null")
        ms = pa.array(np.round(late_by / 1000, 3)).cast(pa.string())
        return pc.binary_join_element_wise("source ", source, " came ", ms,
                                           " ms behind the watermark", "")

    def _notes(self) -> dict[str, Any]:
        marks = self._key_rows[:, GONE]
        seen = marks[marks != NEVER]
        state = self._member_rows[:, STATE]
        listed = np.arange(len(state))
        if len(state) > _SHOWN:  # too many to list at every call: those that are not well
            unwell = (self._member_rows[:, FAILURES] > 0) | (state == DISABLED)
            listed = np.flatnonzero(unwell)[:_SHOWN]
        return {
            "held": len(self._hold),
            "keys": len(self._keys),
            "watermark": int(seen.min()) if len(seen) else None,
            "ahead": int(seen.max()) if len(seen) else None,
            **{name: int((state == code).sum()) for code, name in enumerate(STATES)},
            "sources": self._health(listed),
        }

    def _health(self, members: Int64) -> list[dict[str, Any]]:
        keys, names = self._keys.names, self._sources.names
        rows = self._member_rows[members]
        rows = rows[:, [KEY, SOURCE, STATE, FAILURES, LATEST]]
        return [{"key": keys[k], "source": names[s], "state": STATES[state], "failures": failures,
                 "last": None if last == NEVER else last}
                for k, s, state, failures, last in rows.tolist()]


@njit(cache=True)
def _enlist_all(book: Book, key: Int64, member: Int64) -> None:
    for i in range(len(member)):
        enlist(book, key[i], member[i])


@njit(cache=True)
def _strike_all(book: Book, key: Int64, member: Int64) -> None:
    for i in range(len(member)):
        strike(book, key[i], member[i])
