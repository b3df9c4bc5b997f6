"""What all running synchronisers share: the book of sources, and the steps around it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.core.errors import ConfigError, SnapshotError, did_you_mean
from slackwater.core.kernel import Out, Store
from slackwater.core.keyed import Keyed, KeyedLogic, silence_before
from slackwater.core.stage import role_names, slot_of
from slackwater.core.state.buffer import Buffer
from slackwater.core.state.ipc import empty_rows
from slackwater.core.state.keys import Keys
from slackwater.core.state.pages import Pages
from slackwater.core.steps import NONE, Step
from slackwater.synchronise.book import (
    DISABLED,
    FOREVER,
    GUEST,
    KEY,
    LIVE,
    MEMBER,
    NEVER,
    STATES,
    Book,
    enlist_all,
    health,
    punctuate_all,
    rebuild,
    strike_all,
)
from slackwater.synchronise.config import Synchroniser
from slackwater.synchronise.frontiers import Frontiers
from slackwater.synchronise.rows import Released, held_widened, late_reasons

__all__ = ["SyncLogic"]

Int64 = NDArray[np.int64]
_SHOWN = 256  # notes list the health of so many sources; `health()` lists all


class SyncLogic(KeyedLogic):
    """A running synchroniser."""

    def __init__(self, config: Synchroniser, store: Store) -> None:
        roles = config.roles
        assert roles.source is not None
        super().__init__("synchronise", roles, store,
                         max_future_skew=config.max_future_skew,  # type: ignore[arg-type]
                         silence=silence_before(config.forget_after,  # type: ignore[arg-type]
                                                config.max_future_skew))  # type: ignore[arg-type]
        self.config = config
        self._names = Keys("members", (*roles.key, roles.source), store)
        self._marks = Pages("marks", {"of": KEY}, store)
        self._members = Pages("member", {"of": MEMBER}, store)
        self._frontiers = Frontiers()
        self._buffer = Buffer("held", store, self._gone)
        self.holds_in(self._buffer, held_widened)
        self._declared: list[str] = list(config.sources or ())
        self._removed: list[str] = []
        self._said: dict[str, int] = {}  # promises of declared sources, for keys to come
        self._loaded = True
        kept = config.forget_after is None or config.sources is not None
        self.forget_sources: int = FOREVER if kept else config.forget_after  # type: ignore[assignment]

    # -- sources --------------------------------------------------------------------------------

    def add_source(self, name: str) -> Out:
        """Wait for a source from now on, in every key; events already held do not wait for it."""
        self.settle_notes()
        name = str(name)
        if name in self._removed:
            self._removed.remove(name)
        if name not in self._declared:
            self._declared.append(name)
        self._enlist(self._opened(), [name])
        return self.tick(self.now)

    def remove_source(self, name: str) -> Out:
        """No longer wait for a source, in any key; its rows that still come are sorted in."""
        self.settle_notes()
        name = str(name)
        names = self._source_names(self._names.live()).to_pylist()
        if name not in names and name not in self._declared:
            raise ConfigError(f"there is no source {name!r} to remove", step=type(self).__name__,
                              hint=did_you_mean(name, names))
        if name in self._declared:
            self._declared.remove(name)
        self._said.pop(name, None)
        if name not in self._removed:
            self._removed.append(name)
        self._strike(name)
        return self.tick(self.now)

    def health(self) -> list[dict[str, Any]]:
        """Every source of every key: its state, failures, and the last time it has shown (µs)."""
        return self._health(self._names.live())

    # -- what a method adds -----------------------------------------------------------------------

    @abstractmethod
    def _take(self, given: Keyed, member: Int64) -> tuple[Released, Int64, Int64]:
        """Enter arrivals: what left, how late each arrival was, and the clock at each."""

    @abstractmethod
    def _pass_time(self, now: Int64) -> Released:
        """For each key it is its `now` (NEVER: not this one): release what may leave."""

    @abstractmethod
    def _release_punctuated(self, slots: Int64, time: Int64) -> Released:
        """Nothing of each key before its `time`, and its watermark, comes any more: release it."""

    @abstractmethod
    def _release_all(self) -> Released:
        """Release all that is held, in order."""

    @abstractmethod
    def _save(self) -> dict[str, Any]:
        """Write the method's own state."""

    @abstractmethod
    def _load(self, meta: Mapping[str, Any]) -> None:
        """Read what `_save` wrote."""

    def _changed(self, keys: Int64, members: Int64) -> None:
        """Members were added or removed by name, for a method that keeps its own list."""
        return

    # -- steps ----------------------------------------------------------------------------------

    def take_keyed(self, given: Keyed) -> Step:
        """Enter arrivals."""
        self._need()
        self._marks.touch(given.slots)
        member = self._member(given)
        released, late_by, clock = self._take(given, member)
        late = np.flatnonzero(late_by)
        rows = given.new.rows.take(pa.array(late))
        why = late_reasons(rows.column(self.roles.source), late_by[late])
        return self._step(released, rows, why, clock[late])

    def pass_time_keyed(self, now: int) -> Step:
        """Let time pass for every key."""
        return self.pass_time_of(np.arange(self.keys.room), np.full(self.keys.room, now))

    def pass_time_of(self, slots: Int64, now: Int64) -> Step:
        """Let time pass for some keys; their clocks, the arrivals', stand."""
        self._need()
        reached = np.full(self.keys.room, NEVER)
        reached[slots] = np.maximum(self._key_rows["clock"][slots], now)
        return self._step(self._pass_time(reached))

    def punctuated(self, time: int, source: str | None, key: Mapping[str, Any] | None) -> Step:
        """A source (None: whoever there is) has come to `time` without a row to show for it."""
        slots = self._opened()
        if source is None:
            return super().punctuated(time, None, key)
        if key is not None:
            slots = slots[slots == slot_of(self.keys, key, self.name)]
        elif source in self._declared:
            self._said[source] = max(self._said.get(source, NEVER), time)
        mine = self._named(source)
        mine = mine[np.isin(self._member_rows["key"][mine], slots)]
        self._members.touch(mine)
        return self._have_come(self._member_rows["key"][mine], mine, np.full(len(mine), time))

    def punctuated_keyed(self, reached: Int64) -> Step:
        """All sources of each key have come to `reached`."""
        slots = np.flatnonzero(reached != NEVER)
        return self._have_come(slots, np.full(len(slots), -1), reached[slots])

    def _have_come(self, slots: Int64, members: Int64, time: Int64) -> Step:
        """Members (−1: all) of these keys have come to these times."""
        self._marks.touch(slots)
        punctuate_all(self._book(), slots, members, time)
        return self._step(self._release_punctuated(slots, time))

    def end_keyed(self) -> Step:
        """Release everything."""
        self._need()
        return self._step(self._release_all())

    def _step(self, released: Released, late: pa.RecordBatch | None = None,
              why_late: pa.Array | None = None, late_at: Int64 = NONE) -> Step:
        def stamp() -> tuple[Any, Int64]:
            why = None
            if released.timed_out.any():
                limit = format_duration(self.config.max_delay)  # type: ignore[arg-type]
                why = np.where(released.timed_out, f"waited longer than {limit}", None)  # type: ignore[call-overload]
            return why, released.when

        return Step([released.rows], released.time, stamp, late, why_late, late_at,
                    by=lambda: released.by)

    def _none_released(self) -> Released:
        return Released(empty_rows(self.schema), NONE, NONE, np.zeros(0, bool), NONE)

    # -- keys and members -----------------------------------------------------------------------

    def begin(self, *, owns: bool) -> None:
        """Without key columns, the one key waits for the declared sources from the start."""
        super().begin(owns=owns)
        if not self.roles.key:
            self._slots(pa.RecordBatch.from_pylist([{}]))
            self.begin_keys(np.zeros(1, np.int64), np.array([NEVER]), 0)
            self._fresh = NONE

    def begin_keys(self, slots: Int64, floor: Int64, n: int) -> None:
        """Make room, and start keys afresh; the declared sources join them."""
        self._marks.grow(self.keys.room)
        self._need()
        again = slots[self._key_rows["joined"][slots] > 0]
        if len(again):
            self._forget_members(again)
        self._marks.reset(slots)
        self._marks.touch(slots)
        rows = self._key_rows
        rows["born"][slots] = n
        rows["mark"][slots] = floor
        if self._declared and len(slots):
            self._enlist(slots, self._declared)
            for name, time in self._said.items():
                mine = self._named(name)
                mine = mine[np.isin(self._member_rows["key"][mine], slots)]
                punctuate_all(self._book(), self._member_rows["key"][mine], mine,
                             np.full(len(mine), time))

    def busy(self, slots: Int64) -> NDArray[np.bool_]:
        """Keys that hold rows are not forgotten."""
        self._need()
        return np.asarray(self._key_rows["held"][slots] > 0)

    def least_mark(self) -> int:
        """The least watermark of all keys."""
        self._need()
        live = self.keys.live()
        return int(self._key_rows["mark"][live].min()) if len(live) else NEVER

    def forgotten(self, slots: Int64) -> None:
        """Forget the members of these keys."""
        self._forget_members(slots)
        self._marks.reset(slots)

    def remembered(self) -> int:
        """Keys and members."""
        return len(self.keys) + len(self._names)

    def forget_more(self) -> None:
        """Learned sources that nobody waits for, and that have long been silent, are forgotten."""
        if self.forget_sources == FOREVER:
            return
        self._need()
        live = self._names.live()
        members = self._member_rows[live]
        self._let_go(live[(members["state"] == DISABLED)
                          & (members["heard"] < self.settled - self.forget_sources * 5 // 4)])

    def _forget_members(self, keys: Int64) -> None:
        live = self._names.live()
        self._let_go(live[np.isin(self._member_rows["key"][live], keys)])

    def _let_go(self, members: Int64) -> None:
        self._frontiers.unseat(self._member_rows["key"][members], members)
        self._members.reset(members)
        self._names.forget(members)

    def _member(self, given: Keyed) -> Int64:
        """The slot of each (key, source); new ones enter the book."""
        member, fresh = self._names.slots(given.new.rows)
        if len(fresh):
            self._enter(fresh)
            first = np.full(self._names.room, -1)
            first[member[::-1]] = given.slot[::-1]
            self._member_rows["key"][fresh] = first[fresh]
            self._frontiers.seat(first[fresh], fresh)
            if self.config.sources is not None:
                self._member_rows["state"][fresh] = GUEST
            elif self._removed:
                guests = pc.is_in(self._source_names(fresh), pa.array(self._removed, pa.string()))
                self._member_rows["state"][fresh[guests.to_numpy(zero_copy_only=False)]] = GUEST
        self._members.touch(member)
        return member

    def _enter(self, fresh: Int64) -> None:
        self._members.grow(self._names.room)
        self._members.reset(fresh)
        self._members.touch(fresh)

    def _enlist(self, keys: Int64, names: list[str]) -> None:
        """Let sources join keys."""
        if not len(keys):
            return
        columns = [column.take(pa.array(np.repeat(np.arange(len(keys)), len(names))))
                   for column in self.keys.values(keys)]
        sources = pa.array(names * len(keys), pa.string())
        batch = pa.RecordBatch.from_arrays([*columns, sources],
                                           names=[*self.roles.key, self.roles.source])
        member, fresh = self._names.slots(batch)
        self._enter(fresh)
        key = np.repeat(keys, len(names))
        self._member_rows["key"][member] = key
        self._frontiers.seat(key, member)
        self._members.touch(member)
        self._marks.touch(keys)
        new = self._member_rows["state"][member] != LIVE
        enlist_all(self._book(), key[new], member[new])
        self._changed(key[new], member[new])

    def _strike(self, name: str) -> None:
        mine = self._named(name)
        keys = self._member_rows["key"][mine]
        self._members.touch(mine)
        self._marks.touch(keys)
        strike_all(self._book(), keys, mine)
        self._changed(keys, mine)

    def _named(self, name: str) -> Int64:
        """The members with this name, of any key."""
        self._need()
        live = self._names.live()
        if not len(live):
            return live
        return live[pc.equal(self._source_names(live), name).to_numpy(zero_copy_only=False)]

    def _source_names(self, members: Int64) -> pa.Array:
        return pc.fill_null(self._names.values(members)[-1].cast(pa.string()), "null")

    def _opened(self) -> Int64:
        """The keys that declared sources have joined."""
        self._need()
        return self.keys.live() if self.keys.room and self._marks.rows else NONE

    @property
    def _key_rows(self) -> NDArray:
        return self._marks["of"]

    @property
    def _member_rows(self) -> NDArray:
        return self._members["of"]

    def _book(self) -> Book:
        return Book(self._member_rows, self._key_rows, self._frontiers.seats)

    def _gone(self, slot: Int64, time: Int64, n: Int64) -> NDArray[np.bool_]:
        self._need()
        rows = self._key_rows
        return np.asarray((time <= rows["gone"][slot]) | (n < rows["born"][slot]))

    def _limits(self) -> tuple[int, int, bool]:
        config = self.config
        return (-1 if config.max_delay is None else config.max_delay,  # type: ignore[return-value]
                FOREVER if config.max_failures is None else config.max_failures,
                config.blame == "producer")

    # -- state ----------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """Method and roles; declared sources may change, but not whether there are any."""
        return {"method": type(self.config).__name__, "roles": role_names(self.roles)}

    def save(self) -> dict[str, Any]:
        """Write what has changed."""
        sources = self.config.sources
        return {**super().save(), "sources": None if sources is None else list(sources),
                "declared": self._declared, "removed": self._removed, "said": self._said,
                "names": self._names.save(), "marks": self._marks.save(),
                "members": self._members.save(), "held": self._buffer.save(),
                "method": self._save()}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote; names that are new in `sources` join, others leave."""
        super().load(meta)
        sources = self.config.sources
        if (meta["sources"] is None) != (sources is None):
            raise SnapshotError("sources were learned and are now declared, or the reverse",
                                step="restore synchronise", expected=meta["sources"], got=sources,
                                hint="start afresh with a new checkpoint")
        self._declared, self._removed = list(meta["declared"]), list(meta["removed"])
        self._said = dict(meta.get("said", {}))
        self._names.load(meta["names"])
        self._marks.load(meta["marks"])
        self._members.load(meta["members"])
        self._buffer.load(meta["held"])
        self._loaded = False
        self._load(meta["method"])
        if sources is not None and list(sources) != meta["sources"]:
            self._revise(meta["sources"], list(sources))

    def _need(self) -> None:
        """Have all keys and members in memory, and the frontiers of those that are waited for."""
        if self._loaded:
            return
        self._loaded = True
        self._marks.need_all()
        self._members.need_all()
        live = self._names.live()
        self._frontiers.seat(self._member_rows["key"][live], live)
        rebuild(self._book(), live)

    def _revise(self, was: list[str], now: list[str]) -> None:
        self._need()
        for name in was:
            if name not in now and name in self._declared:
                self._declared.remove(name)
                self._said.pop(name, None)
                self._removed.append(name)
                self._strike(name)
        fresh = [name for name in now if name not in was and name not in self._declared]
        self._declared += fresh
        if fresh:
            self._enlist(self._opened(), fresh)

    def notes(self) -> dict[str, Any]:
        """Rows held, watermarks, and how the sources fare."""
        self._need()
        gone = self._key_rows["gone"]
        seen = gone[gone != NEVER]
        live = self._names.live()
        state = self._member_rows["state"][live]
        listed = live
        if len(live) > _SHOWN:  # too many to list at every call: those that are not well
            unwell = (self._member_rows["failures"][live] > 0) | (state == DISABLED)
            listed = live[unwell][:_SHOWN]
        return {
            "held": self.held(),
            "keys": len(self.keys),
            "watermark": int(seen.min()) if len(seen) else None,
            "ahead": int(seen.max()) if len(seen) else None,
            **{name: int((state == code).sum()) for code, name in enumerate(STATES)},
            "sources": self._health(listed),
        }

    def held(self) -> int:
        """Rows in the buffer, and rows in doubt."""
        return len(self._buffer) + self.in_doubt

    def _health(self, members: Int64) -> list[dict[str, Any]]:
        self._need()
        if not len(members):
            return []
        rows = self._member_rows[members]
        return health(rows, self.keys.labels(rows["key"]).to_pylist(),
                      self._source_names(members).to_pylist())
