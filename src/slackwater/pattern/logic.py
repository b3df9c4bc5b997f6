"""A running matcher: the protocol around the compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.errors import DataError, SnapshotError
from slackwater.core.events import NEVER, Roles, usable_rows
from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.outcome import outcome
from slackwater.core.state import Hold, Record, bundle
from slackwater.core.state.buffer import Rows
from slackwater.core.state.record import decode_schema, encode_schema
from slackwater.pattern.clocks import FOREVER, Clocks, Passed
from slackwater.pattern.finality import Matches
from slackwater.pattern.live import Live
from slackwater.pattern.match import Match
from slackwater.pattern.pattern import Bound
from slackwater.pattern.result import ready_batch, ready_schema
from slackwater.pattern.run import Batch, Runner, less

__all__ = ["MatchLogic"]

Int64 = NDArray[np.int64]
_LEAST = 1 << 16  # with fewer rows than this a compaction is not worth its time


class MatchLogic:
    """A running `Match`."""

    def __init__(self, config: Match, store: Store | None) -> None:
        self._config = config
        self._own: MemoryStore | None = MemoryStore() if store is None else None
        self._store: Store = store if store is not None else self._own  # type: ignore[assignment]
        self._clocks = Clocks(config.roles, config.policy)
        self._told = np.zeros(0, np.int64)  # the watermarks up to which matches have been told
        self._hold = Hold("events", self._store, self._dead)
        self._waiting = Hold("waiting", self._store, lambda rows: self._told[rows.key] > rows.time)
        self._n = self._saved = 0
        self._changed = False
        self._built = 0
        self._schema: pa.Schema | None = None
        self._bound: Bound | None = None

    # -- the protocol ---------------------------------------------------------------------------

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events, in arrival order."""
        self._check(batch.schema)
        usable = usable_rows(batch, self._config.roles,
                             max_future_skew=self._config.max_future_skew)  # type: ignore[arg-type]
        time, arrival, rows, bad = usable.time, usable.arrival, batch, None
        if not usable.good.all():
            good, bad = np.flatnonzero(usable.good), np.flatnonzero(~usable.good)
            time, arrival, rows = time[good], arrival[good], batch.take(pa.array(good))
        passed = self._clocks.advance(rows, time, arrival)
        n = np.arange(self._n, self._n + len(time))
        self._n += len(time)
        first = self._live.rows
        kept = self._runner.take_in(rows, time, n, passed.stream, passed.late_by > 0)
        ready = self._tell(first, kept, passed, n)
        late = np.flatnonzero(passed.late_by)
        none = np.zeros(0, np.int64)
        return Out(
            ready=ready,
            late=outcome(rows.take(pa.array(late)), _how_late(passed.late_by[late]),
                         passed.arrival[late]),
            quarantined=outcome(batch.slice(0, 0), None, none) if bad is None
            else outcome(batch.take(pa.array(bad)), usable.reason[bad], usable.arrival[bad]),
            notes=self._notes(),
        )

    def tick(self, now: int) -> Out:
        """Let time pass without an event."""
        self._clocks.pass_time(self._clocks.every(now))
        return self._quiet()

    def finish(self) -> Out:
        """End of input: everything that still waits is final."""
        self._clocks.end()
        return self._quiet()

    def elapse(self, passed: int) -> None:
        """Count real time (see `Logic.elapse`)."""
        self._clocks.elapse(passed)

    def idle(self, quiet: int) -> Out:
        """Let time pass for silent streams (see `Logic.idle`)."""
        self._clocks.pass_time(self._clocks.silent(quiet))
        return self._quiet()

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        if self._bound is not None and self._changed:
            self._save_events()
        meta = {**self._identity(), "n": self._n, "schema": encode_schema(self._schema),
                "clocks": self._clocks.save(self._store), "events": self._hold.save(),
                "waiting": self._waiting.save()}
        index = Record("match", 1, meta).encode()
        return index if self._own is None else bundle(index, self._own)

    def resume(self, index: bytes, own: MemoryStore | None) -> None:
        """Continue from a snapshot's index; `own` is the store if it came with the snapshot."""
        self._own = own
        meta = Record.decode(index, kind="match", version=1).meta
        for what, value in self._identity().items():
            if meta[what] != value:
                raise SnapshotError(f"the {what} has changed since the snapshot",
                                    step="restore match", expected=meta[what], got=value,
                                    hint="keep it, or start afresh with a new checkpoint")
        self._clocks.load(self._store, meta["clocks"])
        self._told = self._clocks.mark.copy()
        self._hold.load(meta["events"])
        self._waiting.load(meta["waiting"])
        self._n = self._saved = meta["n"]
        schema = decode_schema(meta["schema"])
        if schema is not None:
            self._bind(schema)
            held = self._hold.everything()
            if held:
                rows = Rows.concat(held)
                rows = rows.take(np.argsort(rows.n))
                self._runner.refill(rows.payload, rows.time, rows.n, rows.key)

    # -- inside ---------------------------------------------------------------------------------

    def _identity(self) -> dict[str, Any]:
        config = self._config
        return {"query": " ".join(config.pattern.text.split()), "emit": config.emit,
                "select": config.select, "policy": type(config.policy).__name__,
                "roles": _role_names(config.roles)}

    def _check(self, schema: pa.Schema) -> None:
        if self._schema is not None and schema == self._schema:
            return
        if self._schema is not None and (self._live.rows or len(self._waiting)):
            raise SnapshotError("the columns have changed while events are held", step="match",
                                expected=self._schema, got=schema,
                                hint="let the old query drain, then start a new checkpoint")
        self._config.roles.check(schema.names, step="match")
        self._bind(schema)

    def _bind(self, schema: pa.Schema) -> None:
        config = self._config
        self._bound = config.pattern.bind(schema, config.roles)
        self._schema = schema
        self._runner = Runner(config, self._bound)
        self._live: Live = self._runner.live

    def _quiet(self) -> Out:
        if self._bound is None or self._schema is None:
            nothing = pa.record_batch({})
            return Out(nothing, nothing, nothing, self._notes())
        none = np.zeros(0, np.int64)
        ready = self._tell(self._live.rows, none, Passed(none, none, none, none), none)
        empty = outcome(pa.RecordBatch.from_pylist([], self._schema), None, none)
        return Out(ready, empty, empty, self._notes())

    def _tell(self, first: int, kept: Int64, passed: Passed, n: Int64) -> pa.RecordBatch:
        """Match, and tell what is to be told by now."""
        assert self._bound is not None
        assert self._schema is not None
        self._changed = True
        config, mark = self._config, self._clocks.mark
        told = np.full(len(mark), NEVER)
        told[: len(self._told)] = self._told
        batch = Batch(first, kept, passed, n, told, mark)
        found, step, waiting = self._runner.run(batch)
        self._built = self._runner.built
        if config.emit == "final" and config.select == "skip_till_any":
            found, step = self._due(found, step, batch)
            self._wait(waiting)
        self._told = mark.copy()
        ready = ready_batch(found, step, self._live, config.pattern.components, self._schema,
                            self._bound, config.roles.arrival)
        self._compact()
        return ready

    def _due(self, found: Matches, step: Int64, batch: Batch) -> tuple[Matches, Int64]:
        """Add the waiting matches that have become final."""
        mark = self._clocks.mark
        if not len(self._waiting) or not len(mark):
            return found, step
        parts = self._waiting.due(int(mark.max()) - 1)
        if not parts:
            return found, step
        due = [rows.time < mark[rows.key] for rows in parts]
        rows = Rows.concat([p.take(np.flatnonzero(d)) for p, d in zip(parts, due, strict=True)])
        self._waiting.settle([~d for d in due], parts)
        if not len(rows):
            return found, step
        again, steps = self._runner.resume(rows, batch)
        return (Matches(*(np.concatenate([getattr(found, f), getattr(again, f)])
                          for f in ("rows", "counts", "op", "trigger"))),
                np.concatenate([step, steps]))

    def _wait(self, waiting: Rows | None) -> None:
        if waiting is not None:
            self._waiting.add(waiting)
        if len(self._waiting) > self._config.max_matches:
            raise DataError("too many matches wait until nothing can undo them", step="match",
                            expected=f"at most {self._config.max_matches} (max_matches)",
                            got=len(self._waiting),
                            hint='narrow WHERE or WITHIN, use emit="eager", or raise max_matches')

    def _dead(self, rows: Rows) -> NDArray[np.bool_]:
        return self._outdated(rows.time, rows.key)

    def _outdated(self, time: Int64, stream: Int64) -> NDArray[np.bool_]:
        return time < less(self._clocks.mark, self._config.retention)[stream]

    def _compact(self) -> None:
        live = self._live
        if live.rows < _LEAST and not (live.rows and (self._clocks.mark == FOREVER).all()):
            return
        dead = self._outdated(live["time"], live["stream"])
        if 2 * int(dead.sum()) < live.rows:
            return
        keep = np.flatnonzero(~dead)
        self._runner.refill(live.payload(keep), live["time"][keep], live["n"][keep],
                            live["stream"][keep])

    def _save_events(self) -> None:
        """Hand the hold what is new, and take from it what is outdated."""
        live, mark = self._live, self._clocks.mark
        if len(mark):
            parts = self._hold.due(int(less(mark, self._config.retention).max()))
            self._hold.settle([np.ones(len(p), bool) for p in parts], parts)
        new = np.flatnonzero((live["n"] >= self._saved)
                             & ~self._outdated(live["time"], live["stream"]))
        if len(new):
            new = new[np.argsort(live["time"][new], kind="stable")]
            self._hold.add(Rows(live["stream"][new], live["time"][new], live["n"][new],
                                live.payload(new)))
        self._saved = self._n
        self._changed = False

    def _notes(self) -> dict[str, Any]:
        mark = self._clocks.mark
        seen = mark[mark != NEVER]
        return {
            "held": self._held(),
            "waiting": len(self._waiting),
            "keys": len(self._clocks.keys),
            "watermark": int(seen.min()) if len(seen) else None,
            "ahead": int(seen.max()) if len(seen) else None,
            "built": self._built,
        }

    def _held(self) -> int:
        if self._bound is None:
            return 0
        return self._live.rows - int(self._outdated(self._live["time"], self._live["stream"]).sum())

    def ready_schema(self) -> pa.Schema | None:
        """The columns of `Out.ready`, once the input's are known."""
        if self._bound is None or self._schema is None:
            return None
        return ready_schema(self._config.pattern.components, self._schema, self._bound)


def _role_names(roles: Roles) -> dict[str, Any]:
    return {"time": roles.time, "type": roles.type, "sequence": roles.sequence,
            "arrival": roles.arrival, "key": list(roles.key), "unit": roles.unit}


def _how_late(late_by: Int64) -> pa.Array:
    ms = pa.array(np.round(late_by / 1000, 3)).cast(pa.string())
    return pc.binary_join_element_wise("came ", ms, " ms behind the watermark", "")
