"""A running window: which rows count, when groups are due, and what a snapshot holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.core.events import Roles, usable_rows
from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.outcome import outcome
from slackwater.core.state import KeyTable, Record, Table, bundle
from slackwater.core.state.buffer import batch_of
from slackwater.core.state.record import decode_schema, encode_schema
from slackwater.window.aggregates.values import read_only
from slackwater.window.by_row import ByRow
from slackwater.window.by_slide import BySlide
from slackwater.window.lanes import Lanes
from slackwater.window.names import Names
from slackwater.window.schedule import EARLIEST, LATEST, NEVER, NOTHING, Groups, Rows

if TYPE_CHECKING:
    from slackwater.window.window import Window

__all__ = ["Step", "WindowLogic"]

Int64 = NDArray[np.int64]
_EVER = 1 << 60  # longer than all of time, and no sum of it and a time overflows
_LATE = "came behind its window, which had been closed"
_BEYOND = "its windows reach beyond the years 1 to 9999"


class Step(NamedTuple):
    """What rows of known times gave: `ready` in pieces, for the caller to put together once."""

    ready: list[pa.RecordBatch]
    late: pa.RecordBatch
    quarantined: pa.RecordBatch
    notes: dict[str, Any]


class WindowLogic:
    """A running `Window`."""

    def __init__(self, config: Window, store: Store | None, own: MemoryStore | None = None) -> None:
        self._config = config
        self._span = min(int(config.range), _EVER)  # type: ignore[arg-type]
        self._own = MemoryStore() if store is None and own is None else own
        self._store: Store = store if store is not None else self._own  # type: ignore[assignment]
        self._keys = KeyTable("window/keys", config.group)
        self._groups = Table("window/groups", {
            "last": np.int64(NEVER), "floor": np.int64(NEVER), "next_end": np.int64(NEVER),
            "due": np.int64(NOTHING), "open": np.bool_(False), "kept": np.bool_(False)})
        self._names = Names("window/names", config.group)
        self._schema: pa.Schema | None = None

    # -- the protocol ---------------------------------------------------------------------------

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take rows, in time order per group."""
        self._look_at(batch.schema)
        usable = usable_rows(batch, self._config.roles, max_future_skew=NOTHING)
        if usable.good.all():
            step = self.push_usable(batch, usable.time)
            return Out(batch_of(step.ready), step.late, step.quarantined, step.notes)
        bad, good = np.flatnonzero(~usable.good), np.flatnonzero(usable.good)
        refused = outcome(batch.take(pa.array(bad)), usable.reason[bad], usable.arrival[bad])
        step = self.push_usable(batch.take(pa.array(good)), usable.time[good])
        return Out(batch_of(step.ready), step.late, batch_of([refused, step.quarantined]),
                   step.notes)

    def push_usable(self, batch: pa.RecordBatch, time: Int64) -> Step:
        """Take rows whose times are known, those of a stage before."""
        self._look_at(batch.schema)
        beyond = self._beyond(time)
        refused = None
        if beyond is not None:
            bad, good = np.flatnonzero(beyond), np.flatnonzero(~beyond)
            refused = outcome(batch.take(pa.array(bad)), [_BEYOND] * len(bad), time[bad])
            batch, time = batch.take(pa.array(good)), time[good]
        key = self._keys.codes(batch)
        self._names.see(batch, key)
        self._groups.grow(len(self._keys))
        self._groups.touch(key)
        rows = Rows(key, read_only(time), np.zeros(len(time), bool))
        ready = self._windows.take_in(batch, rows, self._columns())
        none = self._no_outcome
        return Step(ready, self._late(batch, rows) or none, refused or none, self._notes())

    def tick(self, now: int) -> Out:
        """Let time pass: rows before `now` are no longer waited for."""
        return self.advance(np.full(self._groups.rows, now))

    def finish(self) -> Out:
        """End of input: close every window."""
        return self.advance(np.full(self._groups.rows, NOTHING))

    def elapse(self, passed: int) -> None:
        """Nothing to count: a window goes by the time of its rows, and of whoever orders them."""

    def idle(self, quiet: int) -> Out:
        """Nothing to do (see `elapse`)."""
        return self.advance(np.full(self._groups.rows, NEVER))

    def advance(self, theta: Int64) -> Out:
        """Close, for each group, what no row from its `theta` on can change any more."""
        if self._schema is None:
            nothing = pa.record_batch({})
            return Out(nothing, nothing, nothing, self._notes())
        groups = self._columns()
        whose = np.flatnonzero((groups.due <= theta) & (groups.due < NOTHING))
        self._groups.touch(whose)
        ready = batch_of(self._windows.advance(whose, theta, groups, self._no_rows))
        passed = whose[groups.due[whose] <= theta[whose]]
        if len(passed):
            self._forget(passed, theta, groups)
        return Out(ready, self._no_outcome, self._no_outcome, self._notes())

    @property
    def empty(self) -> bool:
        """Whether no row has come yet."""
        return self._groups.rows == 0

    @property
    def groups(self) -> pa.RecordBatch:
        """The values of the group columns, by group code: what `advance` goes by."""
        return self._names.all()

    def idle_groups(self) -> Int64:
        """The codes of the groups of which nothing is kept and for which nothing is open.

        All that is known of them is up to which time rows of theirs would be late.
        """
        return np.flatnonzero(~self._groups["kept"] & ~self._groups["open"])

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        begun = self._schema is not None
        meta = {
            "config": self._fingerprint(), "schema": encode_schema(self._schema),
            "keys": self._keys.save(self._store), "groups": self._groups.save(self._store),
            "names": self._names.save(self._store),
            "windows": self._windows.save() if begun else None,
            "lanes": self._lanes.save(self._store) if begun else None,
        }
        index = Record("window", 4, meta).encode()
        return index if self._own is None else bundle(index, self._own)

    def load(self, index: bytes) -> None:
        """Resume where the snapshot with this index was taken."""
        meta = Record.decode(index, kind="window", version=4).meta
        if meta["config"] != self._fingerprint():
            raise SnapshotError("the window has changed since the snapshot", step="restore window",
                                expected=meta["config"], got=self._fingerprint(),
                                hint="keep it, or start afresh with a new checkpoint")
        self._keys.load(self._store, meta["keys"])
        self._groups.load(self._store, meta["groups"])
        schema = decode_schema(meta["schema"])
        self._names.load(self._store, meta["names"], schema)
        if schema is not None:
            self._begin(schema)
            self._windows.load(meta["windows"])
            self._lanes.load(self._store, meta["lanes"])

    # -- inside ---------------------------------------------------------------------------------

    def _fingerprint(self) -> list[Any]:
        config = self._config
        return [config.range, config.slide, list(config.group),
                [[a.function, a.column, a.q, a.name] for a in config.aggregates]]

    def _look_at(self, schema: pa.Schema) -> None:
        if self._schema is None:
            self._begin(schema)
        elif schema != self._schema:
            raise ConfigError("the columns have changed between two batches", step="window",
                              expected=self._schema, got=schema)

    def _begin(self, schema: pa.Schema) -> None:
        """Check the columns, and lay out what the aggregates over them need."""
        config, slide = self._config, self._config.slide
        Roles(time=config.roles.time, key=config.group).check(schema.names, step="window")
        results = config.result_schema(schema)
        grouped = bool(config.group)
        self._lanes = Lanes(config.aggregates, schema, self._span, slide, grouped)  # type: ignore[arg-type]
        self._windows: ByRow | BySlide = (
            ByRow(self._span, grouped, self._lanes, results, self._store) if slide is None
            else BySlide(self._span, slide, self._lanes, self._names, results))  # type: ignore[arg-type]
        self._no_rows = pa.RecordBatch.from_pylist([], schema)
        self._no_outcome = outcome(self._no_rows, None, np.zeros(0, np.int64))
        self._schema = schema

    def _columns(self) -> Groups:
        return Groups(*(self._groups[c] for c in Groups._fields))

    def _beyond(self, time: Int64) -> NDArray[np.bool_] | None:
        """Which rows have windows whose ends no timestamp can say; None: none."""
        first, last = EARLIEST + self._span, LATEST - self._span
        if self._config.slide is None or len(time) == 0 or (
                time.min() >= first and time.max() <= last):
            return None
        return (time < first) | (time > last)

    def _forget(self, whose: Int64, theta: Int64, groups: Groups) -> None:
        """Drop the values of groups whose windows have all passed; from then on `theta` holds."""
        groups.kept[whose] = False
        groups.due[whose] = NOTHING
        groups.floor[whose] = np.maximum(groups.floor[whose], theta[whose])
        if self._config.slide is None:  # the last window of a slide has left no pane
            self._lanes.forget(len(groups.last), whose)

    def _late(self, batch: pa.RecordBatch, rows: Rows) -> pa.RecordBatch | None:
        where = np.flatnonzero(rows.late)
        if len(where) == 0:
            return None
        return outcome(batch.take(pa.array(where)), [_LATE] * len(where),
                       self._groups["last"][rows.group[where]])

    def _notes(self) -> dict[str, Any]:
        if self._schema is None:
            return {"held": 0, "open": 0, "groups": len(self._keys), "retained": 0}
        waiting = len(self._windows)
        return {"held": waiting, "open": waiting, "groups": len(self._keys),
                "retained": self._lanes.size}
