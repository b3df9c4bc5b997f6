"""The reorder kernel: a policy, the release rule, and the rows that wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError, DataError, SnapshotError
from slackwater.core.events import NEVER, Roles, usable_rows
from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.outcome import outcome
from slackwater.core.state import Hold, KeyTable, Record, Table, bundle, unbundle
from slackwater.core.state.buffer import Rows
from slackwater.core.state.record import decode_schema, encode_schema
from slackwater.reorder.policies.named import as_policy
from slackwater.reorder.policy import NO_SEQUENCE, Arrivals, Estimator, Explains, Policy
from slackwater.reorder.release import by_step, in_time, order_by_key, release

__all__ = ["Reorder"]

Int64 = NDArray[np.int64]
_FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Reorder:
    """Put events in time order, waiting as long as a policy says.

    Parameters
    ----------
    policy
        A `Policy`, or the name of one (``"MeanPlusRange"``, or the paper's ``"bsttda"``).
    roles
        Which columns are time, arrival, key…
    scope
        Key columns whose values share one estimate of the buffer time; None: every key has its own.
        With very many keys, a window of delays per key is more than the events themselves.
    max_future_skew
        A row stamped further ahead of its arrival is quarantined.
    max_delay
        A row stamped further behind its arrival is quarantined; None: no row is too old to be late.

    Examples
    --------
    >>> import pyarrow as pa
    >>> s = 1_700_000_000_000
    >>> batch = pa.record_batch({"time": [s, s + 200, s + 100, s + 900],
    ...                          "arrival": [s + 50, s + 250, s + 260, s + 950]})
    >>> logic = Reorder("Static", Roles("time", "arrival", unit="ms")).start()
    >>> out = logic.push(batch)
    >>> (out.ready.num_rows, out.notes["held"])
    (0, 4)
    >>> [t.as_py() - s for t in logic.finish().ready["time"]]
    [0, 100, 200, 900]
    """

    policy: Policy | str = "MeanPlusRange"
    roles: Roles = field(default_factory=Roles)
    scope: tuple[str, ...] | None = None
    max_future_skew: Duration = "5 minutes"
    max_delay: Duration | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "policy", as_policy(self.policy))
        object.__setattr__(self, "max_future_skew",
                           micros(self.max_future_skew, name="max_future_skew"))
        if self.max_delay is not None:
            object.__setattr__(self, "max_delay", micros(self.max_delay, name="max_delay"))
        if self.scope is not None:
            object.__setattr__(self, "scope", tuple(self.scope))
            strangers = [c for c in self.scope or () if c not in self.roles.key]
            if strangers:
                raise ConfigError(
                    f"scope names {', '.join(strangers)}, which is not a key column",
                    step="reorder", expected=f"some of {', '.join(self.roles.key) or '(no keys)'}")

    def start(self, store: Store | None = None) -> ReorderLogic:
        """Begin with nothing held."""
        return ReorderLogic(self, store)

    def restore(self, snapshot: bytes, store: Store | None = None) -> ReorderLogic:
        """Resume where `snapshot` was taken."""
        if store is None:
            snapshot, store = unbundle(snapshot)
            logic = ReorderLogic(self, store)
            logic._own = store
        else:
            logic = ReorderLogic(self, store)
        logic._load(snapshot)
        return logic


class ReorderLogic:
    """A running `Reorder`."""

    def __init__(self, config: Reorder, store: Store | None) -> None:
        self._config = config
        self._own = MemoryStore() if store is None else None
        self._store: Store = store if store is not None else self._own  # type: ignore[assignment]
        assert isinstance(config.policy, Policy)
        self._estimator: Estimator = config.policy.estimator()
        self._keys = KeyTable("keys", config.roles.key)
        # the clock is the greatest arrival of the key so far
        self._marks = Table("marks", {"time": np.int64(NEVER), "n": np.int64(-1),
                                      "clock": np.int64(NEVER), "group": np.int64(0),
                                      "seen": np.int64(0)})
        self._groups = None if config.scope is None else KeyTable("groups", config.scope)
        within = config.roles.key if config.scope is None else config.scope
        self._sources = (KeyTable("sources", (*within, config.roles.source))
                         if config.policy.needs_source and config.roles.source else None)
        self._hold = Hold("held", self._store, self._gone)
        self._n = 0
        self._elapsed = 0
        self._schema: pa.Schema | None = None
        self._buffer = float("nan")
        self._reached = np.zeros(0, np.int64)
        self.bare = False
        """For a stage that follows in the same kernel: ready rows without the added columns."""
        self.times = np.zeros(0, np.int64)
        """The times of the last call's ready rows, if it is `bare`."""

    # -- the protocol ---------------------------------------------------------------------------

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events, in arrival order."""
        roles = self._config.roles
        self._check(batch.schema)
        usable = usable_rows(batch, roles, max_future_skew=self._config.max_future_skew,  # type: ignore[arg-type]
                             max_delay=self._config.max_delay)  # type: ignore[arg-type]
        good = np.flatnonzero(usable.good)
        bad = None
        time, arrival, rows = usable.time, usable.arrival, batch
        if len(good) < batch.num_rows:
            bad = np.flatnonzero(~usable.good)
            time, arrival, rows = time[good], arrival[good], batch.take(pa.array(good))
        key = self._keys.codes(rows)
        self._marks.grow(len(self._keys))
        self._marks.touch(key)
        if len(self._keys) == 1:
            self._marks["seen"][:len(key)] = self._elapsed
        else:
            self._marks["seen"][key] = self._elapsed
        if roles.arrival is None:
            arrival = time.copy()
        _follow_clock(arrival, key, self._marks["clock"], roles.arrival is None)
        threshold, buffer = self._estimator.advance(self._arrivals(rows, key, time, arrival))
        if len(buffer):
            self._buffer = float(buffer[-1])
        n = np.arange(self._n, self._n + len(time))
        self._n += len(time)
        new = Rows(key, time, n, rows)
        last = np.full(len(self._keys), NEVER)
        quarantined = None
        if bad is not None:
            quarantined = (batch.take(pa.array(bad)), usable.reason[bad], usable.arrival[bad])
        return self._step(new, threshold, arrival, last, None, quarantined)

    def tick(self, now: int) -> Out:
        """Let time pass without an event."""
        return self._pass_time(np.full(self._marks.rows, now))

    def finish(self) -> Out:
        """End of input: let everything go."""
        return self._quiet_step(np.full(self._marks.rows, _FOREVER), None)

    def elapse(self, passed: int) -> None:
        """Count real time (see `Logic.elapse`)."""
        self._elapsed += passed

    def idle(self, quiet: int) -> Out:
        """Let time pass for silent keys (see `Logic.idle`)."""
        marks = self._marks
        silence = self._elapsed - marks["seen"]
        # a clock that stands at NEVER has no events to release, and must not be added to
        return self._pass_time(np.where((silence >= quiet) & (marks["clock"] != NEVER),
                                        marks["clock"] + silence, NEVER))

    def reached(self, keys: pa.RecordBatch) -> Int64:
        """For each row of key values, the time that the last `tick` or `idle` let its key reach.

        NEVER where that call left the key alone.  For stages that follow in the same kernel.
        """
        return self._reached[self._keys.codes(keys)]

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        meta = {
            "policy": type(self._config.policy).__name__,
            "key": list(self._config.roles.key),
            "scope": None if self._config.scope is None else list(self._config.scope),
            "n": self._n,
            "elapsed": self._elapsed,
            "schema": encode_schema(self._schema),
            "keys": self._keys.save(self._store),
            "marks": self._marks.save(self._store),
            "groups": None if self._groups is None else self._groups.save(self._store),
            "sources": None if self._sources is None else self._sources.save(self._store),
            "estimator": self._estimator.save(self._store),
            "hold": self._hold.save(),
        }
        index = Record("reorder", 1, meta).encode()
        return index if self._own is None else bundle(index, self._own)

    def _load(self, index: bytes) -> None:
        meta = Record.decode(index, kind="reorder", version=1).meta
        config = self._config
        now: dict[str, Any] = {
            "policy": type(config.policy).__name__, "key": list(config.roles.key),
            "scope": None if config.scope is None else list(config.scope)}
        for what, value in now.items():
            if meta[what] != value:
                raise SnapshotError(f"the {what} has changed since the snapshot",
                                    step="restore reorder", expected=meta[what], got=value,
                                    hint="keep it, or start afresh with a new checkpoint")
        self._n, self._elapsed = meta["n"], meta["elapsed"]
        self._schema = decode_schema(meta["schema"])
        self._keys.load(self._store, meta["keys"])
        self._marks.load(self._store, meta["marks"])
        if self._groups is not None:
            self._groups.load(self._store, meta["groups"])
        if self._sources is not None:
            if meta.get("sources") is None:
                raise SnapshotError("the snapshot was taken without a source column",
                                    step="restore reorder", got=config.roles.source,
                                    hint="keep the roles, or start afresh with a new checkpoint")
            self._sources.load(self._store, meta["sources"])
        self._estimator.load(self._store, meta["estimator"])
        self._hold.load(meta["hold"])

    # -- inside ---------------------------------------------------------------------------------

    def _check(self, schema: pa.Schema) -> None:
        if self._schema is None:
            self._config.roles.check(schema.names, step="reorder")
        elif schema != self._schema and len(self._hold):
            raise SnapshotError("the columns have changed while rows are held", step="reorder",
                                expected=self._schema, got=schema,
                                hint="let the old query drain, then start a new checkpoint")
        self._schema = schema

    def _arrivals(self, rows: pa.RecordBatch, key: Int64, time: Int64,
                  arrival: Int64) -> Arrivals:
        group, groups = key, len(self._keys)
        if self._groups is not None:
            group, groups = self._groups.codes(rows), len(self._groups)
            self._marks["group"][key] = group
        source = sequence = None
        if self._sources is not None:
            source = self._sources.codes(rows)
        if self._config.policy.needs_source and self._config.roles.sequence:  # type: ignore[union-attr]
            sequence = _running_numbers(rows.column(self._config.roles.sequence))
        return Arrivals(time, arrival, group, groups, source, sequence, self._source_names())

    def _source_names(self) -> pa.Array | None:
        return None if self._sources is None else self._sources.part(-1)

    def _gone(self, rows: Rows) -> NDArray[np.bool_]:
        time, n = self._marks["time"][rows.key], self._marks["n"][rows.key]
        return (rows.time < time) | ((rows.time == time) & (rows.n <= n))

    def _pass_time(self, now: Int64) -> Out:
        """Let each key reach its own `now` (NEVER: not this one)."""
        if self._groups is None:
            last = self._estimator.thresholds(now) if len(now) else now
        else:
            group = self._marks["group"]
            together = np.full(len(self._groups), NEVER)
            np.maximum.at(together, group, now)
            last = self._estimator.thresholds(together)[group]
        self._reached = np.where(now == NEVER, NEVER, last)
        return self._quiet_step(self._reached, now)

    def _quiet_step(self, last: Int64, now: Int64 | None) -> Out:
        none = np.zeros(0, np.int64)
        new = Rows(none, none, none, pa.RecordBatch.from_pylist([], self._schema or pa.schema([])))
        return self._step(new, none, none, last, now, None)

    def _step(
        self, new: Rows, threshold: Int64, arrival: Int64, last: Int64, now: Int64 | None,
        quarantined: tuple[pa.RecordBatch, Any, Int64] | None,
    ) -> Out:
        upto = max(int(threshold.max(initial=NEVER)), int(last.max(initial=NEVER)))
        parts = self._hold.due(upto)
        rows = Rows.concat([*parts, new])
        held, keys = len(rows) - len(new), self._marks.rows
        by_time, time_starts = order_by_key(rows.key, rows.time, rows.n, keys)
        late_by = np.zeros(len(new), np.int64)
        stays = np.zeros(len(rows), bool)
        passed = NEVER
        if self.bare and keys == 1:  # the steps, which the short way does not give, are not needed
            passed = in_time(new.time, threshold, int(self._marks["time"][0]))
        if passed != NEVER:
            upto = int(np.searchsorted(rows.time, passed, side="right", sorter=by_time))
            out, step = by_time[:upto], by_time[:0]
            stays[by_time[upto:]] = True
            if upto:
                self._marks["time"][0], self._marks["n"][0] = rows.time[out[-1]], rows.n[out[-1]]
        else:
            by_arrival, arrival_starts = _arrival_order(new.key, keys)
            before = self._marks["time"].copy() if now is not None or not len(new) else None
            out, step = release(rows.time, rows.n, held, threshold, by_time, time_starts,
                                by_arrival, arrival_starts, last, self._marks["time"],
                                self._marks["n"], late_by)
            if before is not None:
                self._marks.touch(np.flatnonzero(before != self._marks["time"]))
            if keys > 1:
                out, step = self._across_keys(rows, out, step, len(new))
            stays[:] = True
            stays[out] = False
            stays[held:][late_by > 0] = False
        at = 0
        keep = []
        for part in parts:
            keep.append(stays[at:at + len(part)])
            at += len(part)
        self._hold.settle(keep, parts)
        self._hold.add(new.take(np.flatnonzero(stays[held:])))
        late = np.flatnonzero(late_by)
        why_late = _how_late(late_by[late], self._why_late(late))
        return Out(
            ready=self._ready(rows, out, step, arrival, now),
            late=outcome(new.payload.take(pa.array(late)), why_late, arrival[late]),
            quarantined=outcome(*quarantined) if quarantined is not None
            else outcome(new.payload.slice(0, 0), None, np.zeros(0, np.int64)),
            notes=self._notes(),
        )

    def _ready(self, rows: Rows, out: Int64, step: Int64, arrival: Int64,
               now: Int64 | None) -> pa.RecordBatch:
        """The rows that leave in their place, at which steps."""
        payload = rows.payload.take(pa.array(out))
        if self.bare:
            self.times = self._times(payload) if len(out) else out
            if len(self.times) < len(out):
                self.times = rows.time[out]
            return payload
        key = rows.key[out]
        end = (self._marks["clock"] if now is None else now)[key]
        return outcome(payload, self._why_ready(key, step, len(arrival), now),
                       _release_times(step, arrival, end))

    def _times(self, payload: pa.RecordBatch) -> Int64:
        """The times as they stand in the rows, if they do so as int64 microseconds; else none."""
        column = payload.column(self._config.roles.time)
        if pa.types.is_timestamp(column.type) and column.type.unit == "us":
            return np.asarray(column.cast(pa.int64()).to_numpy())
        return np.zeros(0, np.int64)

    def _why_ready(self, key: Int64, step: Int64, steps: int, now: Int64 | None) -> pa.Array | None:
        if not isinstance(self._estimator, Explains) or len(step) == 0:
            return None
        if steps:
            return self._estimator.why_ready(step, self._source_names())
        if now is None:
            return pa.repeat("end of input", len(step))
        group = key if self._groups is None else self._marks["group"][key]
        return self._estimator.why_ready_by_time(group, self._source_names())

    def _why_late(self, row: Int64) -> pa.Array | None:
        if not isinstance(self._estimator, Explains) or len(row) == 0:
            return None
        return self._estimator.why_late(row, self._source_names())

    def _across_keys(self, rows: Rows, out: Int64, step: Int64,
                     steps: int) -> tuple[Int64, Int64]:
        """Rows of several keys leave in the order of the arrivals that released them."""
        out, step = by_step(out, step, steps)
        last = int(np.searchsorted(step, steps))
        tail = out[last:]  # released together by time passing: merged over the keys
        out[last:] = tail[np.lexsort((rows.n[tail], rows.time[tail]))]
        return out, step

    def _notes(self) -> dict[str, Any]:
        marks = self._marks["time"]
        seen = marks[marks != NEVER]
        return {
            "held": len(self._hold),
            "keys": len(self._keys),
            "watermark": int(seen.min()) if len(seen) else None,
            "ahead": int(seen.max()) if len(seen) else None,
            "buffer": self._buffer,
            **(self._estimator.notes(self._source_names())
               if isinstance(self._estimator, Explains) else {}),
        }


def _arrival_order(key: Int64, keys: int) -> tuple[Int64, Int64]:
    starts = np.zeros(keys + 1, np.int64)
    if keys == 1:
        starts[1] = len(key)
        return np.arange(len(key)), starts
    np.cumsum(np.bincount(key, minlength=keys), out=starts[1:])
    return np.argsort(key, kind="stable"), starts


def _release_times(step: Int64, arrival: Int64, end: Int64) -> Int64:
    """When each row was let go: at the arrival that released it, else by the passing of time.

    The end of input is the moment of the key's last arrival.
    """
    by_arrival = step < len(arrival)
    if by_arrival.all():
        return arrival[step]
    when = end.copy()
    when[by_arrival] = arrival[step[by_arrival]]
    return when


def _how_late(late_by: Int64, why: pa.Array | None) -> pa.Array:
    ms = pa.array(np.round(late_by / 1000, 3)).cast(pa.string())
    text = pc.binary_join_element_wise("came ", ms, " ms behind the watermark", "")
    if why is None:
        return text
    return pc.binary_join_element_wise(text, why, ": ", null_handling="skip")


def _running_numbers(column: pa.Array) -> Int64:
    """Sequence numbers as int64; a null is `NO_SEQUENCE`."""
    if not pa.types.is_integer(column.type):
        raise DataError("the sequence column holds no whole numbers", step="sequence",
                        expected="integers", got=column.type,
                        hint="leave the role out if the producers do not number their events")
    # a copy: Arrow's memory is read-only, and numba would compile the loop once more for that
    return np.array(pc.fill_null(column.cast(pa.int64(), safe=False), NO_SEQUENCE))


@njit(cache=True, nogil=True)
def _follow_clock(arrival: Int64, key: Int64, clock: Int64, derive: bool) -> None:
    """Keep each key's greatest arrival; where there is no arrival column, it *is* the arrival."""
    for j in range(len(arrival)):
        k = key[j]
        if arrival[j] > clock[k]:
            clock[k] = arrival[j]
        if derive:
            arrival[j] = clock[k]
