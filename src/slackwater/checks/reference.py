"""The simplest kernel that keeps every promise: a fixed wait per key, in plain Python.

It is here to be read and to be broken (see `mutants`); for real streams there is
``Reorder(Static(...))``, which gives the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from slackwater.core.events import Roles, usable_rows
from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.outcome import outcome_schema
from slackwater.core.state.record import decode_schema, encode_schema

__all__ = ["FixedWait", "FixedWaitLogic", "KeyState"]

ROLES = Roles("time", "arrival", key=("key",))
SECOND = 1_000_000


@dataclass(frozen=True)
class FixedWait:
    """Hold each row for `wait` µs after its time, per value of the column ``key``.

    A row more than `max_delay` behind its arrival is quarantined, and a key that has been silent
    for that long is forgotten: what its watermark could still find late would be quarantined.
    """

    wait: int = SECOND // 10
    max_delay: int = 60 * SECOND

    def start(self, store: Store | None = None) -> FixedWaitLogic:
        """Begin with nothing held."""
        return FixedWaitLogic(self, store)

    def restore(self, snapshot: bytes, store: Store | None = None) -> FixedWaitLogic:
        """Resume where `snapshot` was taken."""
        logic = self.start(store)
        logic.load(snapshot)
        return logic


@dataclass
class KeyState:
    """What is known of a key: held rows as (time, number, row), the watermark, the clock."""

    held: list[tuple[int, int, dict[str, Any]]] = field(default_factory=list)
    watermark: int | None = None
    clock: int = 0
    changed: bool = True

    def release(self, upto: int | None) -> list[tuple[int, int, dict[str, Any]]]:
        """Take the rows up to a time (None: all) out, in order."""
        due = sorted((r for r in self.held if upto is None or r[0] <= upto), key=lambda r: r[:2])
        if due:
            self.held = [] if upto is None else [r for r in self.held if r[0] > upto]
            self.watermark, self.changed = due[-1][0], True
        return due


class FixedWaitLogic:
    """A running `FixedWait`."""

    def __init__(self, config: FixedWait, store: Store | None) -> None:
        self.config, self.own = config, store is None
        self.store: Store = MemoryStore() if store is None else store
        self.keys: dict[str, KeyState] = {}
        self.saved: set[str] = set()  # the keys that have a blob in the store
        self.n = 0
        self.schema: pa.Schema | None = None

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events, in arrival order."""
        self.schema = batch.schema
        usable = usable_rows(batch, ROLES, max_future_skew=300 * SECOND,
                             max_delay=self.config.max_delay)
        ready, late, quarantined = [], [], []
        for i, row in enumerate(batch.to_pylist()):
            if not usable.good[i]:
                quarantined.append({**row, "_reason": usable.reason[i],
                                    "_released": row["arrival"]})
                continue
            time, arrival = int(usable.time[i]), int(usable.arrival[i])
            state = self.keys.setdefault(self.key_of(row), KeyState())
            state.clock, state.changed = max(state.clock, arrival), True
            ready += self.released(state.release(self.threshold(arrival)), arrival)
            if state.watermark is not None and time < state.watermark:
                late.append({**row, "_reason": "late", "_released": row["arrival"]})
            else:
                state.held.append((time, self.n, row))
            self.n += 1
        return self.out(ready, late, quarantined)

    def tick(self, now: int) -> Out:
        """Let time pass without an event."""
        due = [r for state in self.keys.values() for r in state.release(self.threshold(now))]
        for key in [k for k, s in self.keys.items() if self.forgettable(s, now)]:
            del self.keys[key]
        return self.out(self.released(sorted(due, key=lambda r: r[:2]), now))

    def finish(self) -> Out:
        """End of input."""
        due = [(r, s.clock) for s in self.keys.values() for r in s.release(None)]
        due.sort(key=lambda d: d[0][:2])
        return self.out([row for r, clock in due for row in self.released([r], clock)])

    def key_of(self, row: dict[str, Any]) -> str:
        """Which rows share a watermark."""
        return str(row["key"])

    def threshold(self, now: int) -> int:
        """Up to which time rows leave at a moment."""
        return now - self.config.wait

    def forgettable(self, state: KeyState, now: int) -> bool:
        """Whether a key has nothing left to say."""
        return not state.held and now - state.clock > self.config.max_delay

    def released(self, due: Iterable[tuple[int, int, dict[str, Any]]],
                 when: int) -> list[dict[str, Any]]:
        """Rows as they leave."""
        return [{**row, "_reason": None, "_released": when} for _, _, row in due]

    def out(self, ready: list[Any], late: list[Any] = (),  # type: ignore[assignment]
            quarantined: list[Any] = ()) -> Out:  # type: ignore[assignment]
        """Rows as batches, with the notes."""
        schema = outcome_schema(self.schema) if self.schema is not None else pa.schema([])
        marks = [s.watermark for s in self.keys.values() if s.watermark is not None]
        batches = [pa.RecordBatch.from_pylist(list(rows), schema)
                   for rows in (ready, late, quarantined)]
        return Out(batches[0], batches[1], batches[2],
                   {"held": sum(len(s.held) for s in self.keys.values()),
                    "keys": len(self.keys), "watermark": min(marks, default=None)})

    # -- state: a blob per key, and an index of the keys ----------------------------------------

    def snapshot(self) -> bytes:
        """Write the keys that changed, return the index."""
        for key, state in self.keys.items():
            if state.changed:
                self.store.put(key, self.write_key(state))
                state.changed = False
        for key in self.saved - set(self.keys):
            self.store.drop(key)
        self.saved = set(self.keys)
        index: dict[str, Any] = {"n": self.n, "schema": encode_schema(self.schema),
                                 "keys": sorted(self.keys)}
        if self.own:
            index["blobs"] = {key: self.store.get(key).decode() for key in self.keys}
        return json.dumps(index).encode()

    def load(self, snapshot: bytes) -> None:
        """Read what `snapshot` wrote."""
        index = json.loads(snapshot)
        self.n, self.schema = index["n"], decode_schema(index["schema"])
        for key in index["keys"]:
            if self.own:
                self.store.put(key, index["blobs"][key].encode())
            self.keys[key] = self.read_key(self.store.get(key))
        self.saved = set(self.keys)

    def write_key(self, state: KeyState) -> bytes:
        """A key's state as text."""
        rows = pa.RecordBatch.from_pylist([row for _, _, row in state.held], self.schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(rows)
        return json.dumps({"held": [r[:2] for r in state.held], "watermark": state.watermark,
                           "clock": state.clock,
                           "rows": sink.getvalue().to_pybytes().hex()}).encode()

    def read_key(self, blob: bytes) -> KeyState:
        """What `write_key` wrote."""
        found = json.loads(blob)
        rows = pa.ipc.open_stream(bytes.fromhex(found["rows"])).read_all().to_pylist()
        held = [(time, n, row) for (time, n), row in zip(found["held"], rows, strict=True)]
        return KeyState(held, found["watermark"], found["clock"], changed=False)
