"""Many kernels in one operator: rows go to the one that their column `query` names.

On a stream every operator has a state store of its own and is planned by itself, which takes
seconds.  This kernel holds a hundred others, so that all of them are run by Spark, their state in
Spark's state store, for the price of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.outcome import outcome_schema
from slackwater.core.state.ipc import joined

TOLD = pa.schema([(name, pa.string()) for name in ("match_id", "op", "events", "returned")])
ROWS = pa.schema([("number", pa.int32()), ("result", pa.string())])


@dataclass(frozen=True)
class Many:
    """Kernels by number; their results as JSON, since each has columns of its own."""

    kernels: tuple[Any, ...]
    matches: bool = True

    def start(self, store: Store | None = None) -> Running:
        return Running(self, MemoryStore() if store is None else store, {})

    def restore(self, snapshot: bytes, store: Store) -> Running:
        return Running(self, store, json.loads(snapshot))


class Part:
    """A matcher's own names in the store of all."""

    def __init__(self, store: Store, number: int) -> None:
        self._store, self._prefix = store, f"{number}/"

    def get(self, name: str) -> bytes:
        return self._store.get(self._prefix + name)

    def put(self, name: str, blob: bytes) -> None:
        self._store.put(self._prefix + name, blob)

    def drop(self, name: str) -> None:
        self._store.drop(self._prefix + name)


class Running:
    def __init__(self, config: Many, store: Store, before: dict[str, str]) -> None:
        self._kernels, self._store, self._indexes = config.kernels, store, before
        self._matches = config.matches
        self._logics: dict[int, Any] = {}
        self._held: dict[int, int] = {}

    def push(self, batch: pa.RecordBatch) -> Out:
        self._schema = batch.schema
        numbers = batch.column("query").to_numpy(zero_copy_only=False)
        return self._out([(int(n), self._logic(int(n)).push(
            batch.take(pa.array(np.flatnonzero(numbers == n))))) for n in np.unique(numbers)])

    def finish(self) -> Out:
        return self._out([(n, logic.finish()) for n, logic in self._logics.items()])

    def _out(self, told_by: list[tuple[int, Out]]) -> Out:
        self._held |= {n: out.notes["held"] for n, out in told_by}
        outs = [out for _, out in told_by]
        aside = pa.RecordBatch.from_pylist([], outcome_schema(self._schema))
        ready = pa.RecordBatch.from_pylist(
            [row for n, out in told_by
             for row in (told(out.ready) if self._matches else results(n, out.ready))],
            TOLD if self._matches else ROWS)
        return Out(ready, joined([aside, *(out.late for out in outs)]),
                   joined([aside, *(out.quarantined for out in outs)]),
                   {"held": sum(self._held.values()) + 1})

    def snapshot(self) -> bytes:
        self._indexes |= {str(n): logic.snapshot().hex() for n, logic in self._logics.items()}
        return json.dumps(self._indexes).encode()

    def _logic(self, number: int) -> Any:
        if number not in self._logics:
            kernel, part = self._kernels[number], Part(self._store, number)
            index = self._indexes.get(str(number))
            self._logics[number] = (kernel.start(part) if index is None
                                    else kernel.restore(bytes.fromhex(index), part))
        return self._logics[number]


def results(number: int, ready: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    for row in ready.to_pylist():
        yield {"number": number, "result": json.dumps(row, default=lambda at: at.isoformat())}


def told(ready: pa.RecordBatch) -> Iterator[dict[str, str]]:
    for row in ready.to_pylist():
        returned = {name: value for name, value in row.items()
                    if name not in ("match_id", "op", "events", "_reason", "_released")
                    and value is not None}
        yield {"match_id": row["match_id"], "op": row["op"],
               "events": json.dumps(row["events"]), "returned": json.dumps(returned)}
