"""The window kernel: rows in time order per group in, aggregates out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import Duration, format_duration, micros
from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.core.events import Roles, usable_rows
from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.outcome import outcome
from slackwater.core.state import Hold, KeyTable, Record, Table, bundle, unbundle
from slackwater.core.state.buffer import Rows, batch_of
from slackwater.core.state.record import decode_schema, encode_schema
from slackwater.window.aggregate import Aggregate
from slackwater.window.extremes import Extremes
from slackwater.window.lane import Lane, read_only
from slackwater.window.names import Names
from slackwater.window.schedule import (
    NEVER,
    Probes,
    by_slide,
    by_slide_until,
    by_tuple,
    by_tuple_of_one,
    by_tuple_until,
    closed_first,
)

__all__ = ["Window"]

Int64 = NDArray[np.int64]
_STAMP = pa.timestamp("us", "UTC")
_FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Window:
    """Aggregates over time windows, per group, of rows that come in time order.

    Without `slide` every row gets one result, over the rows of its group with time in
    (t − range, t].  Rows of equal time are in each other's windows, as in SQL's RANGE: so a row's
    result comes once its group has gone on to a later time (or time has passed, or the input ends),
    and it does not depend on the order in which equal times arrived.

    With `slide` every group gets one result for each window [start, start + range) that has a row
    in it; starts are multiples of `slide` from the epoch, as in Spark's `window`.

    A row that comes behind its group's time is `late`.

    Parameters
    ----------
    aggregates
        What to compute.
    range
        Length of the window.
    slide
        From one window's start to the next; equal to `range` for tumbling windows.
    group
        Columns whose values make a group.
    roles
        Which column is the time.

    Examples
    --------
    >>> rows = pa.record_batch({"time": [1, 2, 2, 5], "value": [4.0, 1.0, 7.0, 2.0]})
    >>> window = Window((Aggregate("max", "value"), Aggregate("count")), range="2s",
    ...                 roles=Roles("time", unit="s"))
    >>> logic = window.start()
    >>> first, rest = logic.push(rows).ready, logic.finish().ready
    >>> [(r["time"], r["max_value"], r["count"]) for r in first.to_pylist() + rest.to_pylist()]
    [(1, 4.0, 1), (2, 7.0, 3), (2, 7.0, 3), (5, 2.0, 1)]

    References
    ----------
    Kim, Kim, Kim: Adaptive Disorder Control in Data Stream Processing. Computing and Informatics
    31, 2012 (windows per tuple).  Arasu, Babu, Widom: The CQL Continuous Query Language. VLDB J.
    2006.
    """

    aggregates: Sequence[Aggregate]
    range: Duration
    slide: Duration | None = None
    group: tuple[str, ...] = ()
    roles: Roles = field(default_factory=Roles)

    def __post_init__(self) -> None:
        object.__setattr__(self, "aggregates", tuple(self.aggregates))
        object.__setattr__(self, "group", tuple(self.group))
        object.__setattr__(self, "range", micros(self.range, name="window.range", least=1))
        if self.slide is not None:
            object.__setattr__(self, "slide", micros(self.slide, name="window.slide", least=1))
            if self.slide > self.range:  # type: ignore[operator]
                raise ConfigError(
                    "slide cannot be longer than range; rows between windows would be in none",
                    step="window", expected=f"at most {format_duration(self.range)}",  # type: ignore[arg-type]
                    got=format_duration(self.slide))  # type: ignore[arg-type]
        names = [a.name for a in self.aggregates]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ConfigError(f"two aggregates are called {', '.join(twice)}", step="window",
                              hint="give one of them another name")

    def result_schema(self, schema: pa.Schema) -> pa.Schema:
        """The columns of `ready` for input of this schema."""
        found = [pa.field(a.name, a.result_type(schema)) for a in self.aggregates]
        if self.slide is None:
            return pa.schema([*schema, *found])
        return pa.schema([pa.field("window_start", _STAMP), pa.field("window_end", _STAMP),
                          *(schema.field(name) for name in self.group), *found])

    def start(self, store: Store | None = None) -> WindowLogic:
        """Begin with empty windows."""
        return WindowLogic(self, store)

    def restore(self, snapshot: bytes, store: Store | None = None) -> WindowLogic:
        """Resume where `snapshot` was taken."""
        own = None
        if store is None:
            snapshot, own = unbundle(snapshot)
        logic = WindowLogic(self, own if store is None else store)
        logic._own = own
        logic._load(snapshot)
        return logic


class WindowLogic:
    """A running `Window`."""

    def __init__(self, config: Window, store: Store | None) -> None:
        self._config = config
        self._span: int = config.range  # type: ignore[assignment]
        self._own = MemoryStore() if store is None else None
        self._store: Store = store if store is not None else self._own  # type: ignore[assignment]
        self._keys = KeyTable("window/keys", config.group)
        # last: the group's time; floor: what is older is late, though nothing newer has come
        self._groups = Table("window/groups", {
            "last": np.int64(NEVER), "floor": np.int64(NEVER), "next_end": np.int64(NEVER),
            "open": np.bool_(False), "kept": np.bool_(False)})
        self._names = Names("window/names", config.group)
        self._hold = Hold("window/open", self._store, self._gone)
        self._lanes: list[tuple[str | None, Lane | Extremes, list[int]]] = []
        self._schema: pa.Schema | None = None
        self._n = 0

    # -- the protocol ---------------------------------------------------------------------------

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take rows, in time order per group."""
        self._look_at(batch.schema)
        usable = usable_rows(batch, self._config.roles, max_future_skew=_FOREVER)
        if usable.good.all():
            ready, late = self._take_in(batch, usable.time)
            return self._out(batch_of(ready), late, None)
        good, bad = np.flatnonzero(usable.good), np.flatnonzero(~usable.good)
        refused = outcome(batch.take(pa.array(bad)), usable.reason[bad], usable.arrival[bad])
        ready, late = self._take_in(batch.take(pa.array(good)), usable.time[good])
        return self._out(batch_of(ready), late, refused)

    def push_usable(self, batch: pa.RecordBatch,
                    time: Int64) -> tuple[list[pa.RecordBatch], pa.RecordBatch, dict[str, Any]]:
        """Take rows whose times are known, those of a stage before: what is ready, late, and notes.

        What is ready comes in pieces, for the caller to put together once.
        """
        self._look_at(batch.schema)
        ready, late = self._take_in(batch, time)
        return ready, self._out(ready[0], late, None).late, self._notes()

    def tick(self, now: int) -> Out:
        """Let time pass: rows before `now` are no longer waited for."""
        return self.advance(np.full(self._groups.rows, now))

    def finish(self) -> Out:
        """End of input: close every window."""
        return self.advance(np.full(self._groups.rows, _FOREVER))

    def elapse(self, passed: int) -> None:
        """Nothing to count: a window goes by the time of its rows, and of whoever orders them."""

    def idle(self, quiet: int) -> Out:
        """Nothing to do (see `elapse`)."""
        return self.advance(np.full(self._groups.rows, NEVER))

    @property
    def empty(self) -> bool:
        """Whether no row has come yet."""
        return self._groups.rows == 0

    @property
    def groups(self) -> pa.RecordBatch:
        """The values of the group columns, by group code: what `advance` goes by."""
        return self._names.all()

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        meta = {
            "config": self._fingerprint(), "n": self._n, "schema": encode_schema(self._schema),
            "keys": self._keys.save(self._store), "groups": self._groups.save(self._store),
            "names": self._names.save(self._store), "open": self._hold.save(),
            "lanes": [lane.save(self._store) for _, lane, _ in self._lanes],
        }
        index = Record("window", 3, meta).encode()
        return index if self._own is None else bundle(index, self._own)

    def _load(self, index: bytes) -> None:
        meta = Record.decode(index, kind="window", version=3).meta
        if meta["config"] != self._fingerprint():
            raise SnapshotError("the window has changed since the snapshot", step="restore window",
                                expected=meta["config"], got=self._fingerprint(),
                                hint="keep it, or start afresh with a new checkpoint")
        schema = decode_schema(meta["schema"])
        if schema is not None:
            self._begin(schema)
        self._n = meta["n"]
        self._keys.load(self._store, meta["keys"])
        self._groups.load(self._store, meta["groups"])
        self._names.load(self._store, meta["names"])
        self._hold.load(meta["open"])
        for (_, lane, _), saved in zip(self._lanes, meta["lanes"], strict=True):
            lane.load(self._store, saved)

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
        """Check the columns and lay out one lane for each column that is aggregated."""
        config = self._config
        Roles(time=config.roles.time, key=config.group).check(schema.names, step="window")
        self._result_schema = config.result_schema(schema)
        by_column: dict[str | None, list[int]] = {}
        for i, aggregate in enumerate(config.aggregates):
            by_column.setdefault(aggregate.column, []).append(i)
        for column, which in by_column.items():
            kind = None if column is None else schema.field(column).type
            name, asked = f"window/lane{len(self._lanes)}", [config.aggregates[i] for i in which]
            lane = (Extremes(name, kind, asked) if Extremes.suits(asked, config.group)
                    else Lane(name, kind, asked, config.slide or 0))  # type: ignore[arg-type]
            self._lanes.append((column, lane, which))
        self._schema = schema

    def _keep(self, key: Int64) -> None:
        """Note that groups have values; with one group there is no need to ask every row."""
        if len(key):
            self._groups["kept"][key if self._config.group else 0] = True

    def _gone(self, rows: Rows) -> NDArray[np.bool_]:
        last, is_open = self._groups["last"][rows.key], self._groups["open"][rows.key]
        return (rows.time < last) | ~is_open

    def _take_in(self, batch: pa.RecordBatch,
                 time: Int64) -> tuple[list[pa.RecordBatch], pa.RecordBatch | None]:
        """What is ready, in pieces, and what is late."""
        config, groups = self._config, self._groups
        key, time = self._keys.codes(batch), read_only(time)
        self._names.see(batch, key)
        groups.grow(len(self._keys))
        groups.touch(key)
        late = np.zeros(len(time), bool)
        if config.slide is not None:
            probes = by_slide(key, time, config.range, config.slide, groups["last"],
                              groups["floor"], groups["next_end"], late)
            self._keep(key)
            answers = self._answers(key, time, batch, late, probes)
            ready = [self._by_window(probes, answers)]
        else:
            reach = groups["last"][key] if config.group else groups["last"]
            parts = self._hold.due(int(reach.max(initial=NEVER)))
            probe_of = np.empty(len(time), np.int64)
            first_probe = np.full(len(self._keys), -1)
            state = groups["last"], groups["floor"], groups["open"], late, probe_of, first_probe
            probes = (by_tuple(key, time, config.range, *state) if config.group
                      else by_tuple_of_one(time, config.range, *state))
            self._keep(key)
            answers = self._answers(key, time, batch, late, probes)
            closed = closed_first(probe_of)
            ready = self._by_row(parts, first_probe, batch, probe_of, closed, answers)
            if closed < 0 or late.any():
                stays = np.flatnonzero((probe_of < 0) & ~late)
            else:
                stays = np.arange(closed, len(time))
            self._hold.add(Rows(key[stays], time[stays], self._n + stays,
                                batch.take(pa.array(stays))))
        self._n += len(time)
        return ready, self._late(batch, key, time, late)

    def advance(self, theta: Int64) -> Out:
        """Close, for each group, what no row from its `theta` on can change any more."""
        config, groups = self._config, self._groups
        if self._schema is None:
            nothing = pa.record_batch({})
            return Out(nothing, nothing, nothing, self._notes())
        if config.slide is not None:
            probes = by_slide_until(theta, config.range, config.slide, groups["last"],
                                    groups["floor"], groups["next_end"])
            groups.touch(probes.group)
            ready = self._by_window(probes, self._ask(probes))
        else:
            parts = self._hold.due(int(theta.max(initial=NEVER)))
            first_probe = np.full(len(self._keys), -1)
            probes = by_tuple_until(theta, self._span, groups["last"], groups["floor"],
                                    groups["open"], first_probe)
            groups.touch(probes.group)
            empty = pa.RecordBatch.from_pylist([], self._schema)
            ready = batch_of(self._by_row(parts, first_probe, empty, np.zeros(0, np.int64), 0,
                                          self._ask(probes)))
        self._forget(theta)
        return self._out(ready, None, None)

    def _forget(self, theta: Int64) -> None:
        """Drop the values of groups whose windows have all passed; from then on `theta` holds."""
        groups = self._groups
        reach = np.where(groups["last"] > _FOREVER - self._span, _FOREVER,
                         groups["last"] + self._span)
        whose = np.flatnonzero(groups["kept"] & ~groups["open"] & (reach < theta))
        if len(whose) == 0:
            return
        groups.touch(whose)
        groups["kept"][whose] = False
        groups["floor"][whose] = np.maximum(groups["floor"][whose], theta[whose])
        everything = np.full(len(whose), _FOREVER)
        self._ask(Probes(np.zeros_like(whose), whose, everything, everything))

    def _ask(self, probes: Probes) -> list[pa.Array]:
        none = np.zeros(0, np.int64)
        return self._answers(none, none, pa.RecordBatch.from_pylist([], self._schema),
                             np.zeros(0, bool), probes)

    def _answers(self, key: Int64, time: Int64, batch: pa.RecordBatch, skip: NDArray[np.bool_],
                 probes: Probes) -> list[pa.Array]:
        found: list[pa.Array] = [None] * len(self._config.aggregates)
        for column, lane, which in self._lanes:
            values = None if column is None else batch.column(column)
            for i, answer in zip(which, lane.run(key, len(self._keys), time, values, skip, probes),
                                 strict=True):
                found[i] = answer
        return found

    def _by_window(self, probes: Probes, answers: list[pa.Array]) -> pa.RecordBatch:
        ends = pa.array(probes.end).cast(_STAMP)
        starts = pa.array(probes.end - self._span).cast(_STAMP)
        return pa.RecordBatch.from_arrays(
            [starts, ends, *self._names.of(probes.group), *answers], schema=self._result_schema)

    def _by_row(self, parts: list[Rows], first_probe: Int64, batch: pa.RecordBatch,
                probe_of: Int64, closed: int, answers: list[pa.Array]) -> list[pa.RecordBatch]:
        """The rows that probes have closed, in the order of the probes, with their answers.

        `closed` is what `closed_first` says of `probe_of`.
        """
        over = [first_probe[part.key] >= 0 for part in parts]
        pieces = [part.payload.take(pa.array(np.flatnonzero(o)))
                  for part, o in zip(parts, over, strict=True)]
        probe = [first_probe[part.key[o]] for part, o in zip(parts, over, strict=True)]
        self._hold.settle([~o for o in over], parts)
        if closed >= 0:
            pieces.append(batch.slice(0, closed))
            probe.append(probe_of[:closed])
        else:
            done = np.flatnonzero(probe_of >= 0)
            pieces.append(batch.take(pa.array(done)))
            probe.append(probe_of[done])
        earlier = np.concatenate([*probe[:-1], probe[-1][:1]])
        which = np.concatenate(probe) if len(probe) > 1 else probe[0]
        pieces = [p for p in pieces if p.num_rows] or [pieces[-1]]
        if (np.diff(which if closed < 0 else earlier) < 0).any():
            order = np.argsort(which, kind="stable")
            which, pieces = which[order], [batch_of(pieces).take(pa.array(order))]
        if len(answers) and len(answers[0]) != len(which):
            answers = [_taken(a, which) for a in answers]
        ready, at = [], 0
        for rows in pieces:
            own = [a.slice(at, rows.num_rows) for a in answers]
            ready.append(pa.RecordBatch.from_arrays([*rows.columns, *own],
                                                    schema=self._result_schema))
            at += rows.num_rows
        return ready

    def _late(self, batch: pa.RecordBatch, key: Int64, time: Int64,
              late: NDArray[np.bool_]) -> pa.RecordBatch | None:
        where = np.flatnonzero(late)
        if len(where) == 0:
            return None
        reason = ["came behind its window, which had been closed"] * len(where)
        return outcome(batch.take(pa.array(where)), reason, self._groups["last"][key[where]])

    def _out(self, ready: pa.RecordBatch, late: pa.RecordBatch | None,
             refused: pa.RecordBatch | None) -> Out:
        none = outcome(pa.RecordBatch.from_pylist([], self._schema), None, np.zeros(0, np.int64))
        return Out(ready, none if late is None else late, none if refused is None else refused,
                   self._notes())

    def _notes(self) -> dict[str, Any]:
        waiting = len(self._hold)
        return {"held": waiting, "open": waiting, "groups": len(self._keys),
                "retained": max((lane.size for _, lane, _ in self._lanes), default=0)}


def _taken(values: pa.Array, which: Int64) -> pa.Array:
    """`values` at the places `which`; numpy is the faster where there are no nulls."""
    if values.null_count or not (pa.types.is_integer(values.type)
                                 or pa.types.is_floating(values.type)):
        return values.take(pa.array(which))
    return pa.array(values.to_numpy()[which], values.type)
