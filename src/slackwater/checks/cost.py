"""Cost: a snapshot writes what has changed since the last one, not all that is held."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slackwater.checks.subject import Subject
from slackwater.core.kernel import MemoryStore

__all__ = ["CountingStore", "check_cost"]

_COPIES = 200  # of the end of the stream, each with a key of its own
_TAIL = 30
_PUSHES = 5
_SMALL = 1 << 16  # bytes that are not worth a thought


class CountingStore(MemoryStore):
    """A store that counts the bytes written to it."""

    written = 0

    def put(self, name: str, blob: bytes) -> None:
        """Write or replace a blob."""
        self.written += len(blob)
        super().put(name, blob)


def check_cost(subject: Subject) -> None:
    """One row more beside many that are held: the snapshot is cheap."""
    assert subject.key is not None
    store = CountingStore()
    logic = subject.kernel.start(store)
    tail = subject.events.slice(max(0, subject.events.num_rows - _TAIL))
    held = pa.concat_batches([_renamed(tail, subject.key, copy) for copy in range(_COPIES)])
    if subject.arrival is not None:
        held = held.take(pa.array(np.argsort(subject.times(subject.arrival, held), kind="stable")))
    logic.push(held)
    everything = len(logic.snapshot()) + sum(map(len, store.values()))
    one = _renamed(tail.slice(tail.num_rows - 1), subject.key, 0)
    spent = 0
    for _ in range(_PUSHES):
        before = store.written
        logic.push(one)
        spent += len(logic.snapshot()) + store.written - before
    limit = max(everything / 8, _SMALL)
    assert spent / _PUSHES <= limit, (
        f"a row costs {spent / _PUSHES:.0f} bytes where the whole state is {everything}")


def _renamed(rows: pa.RecordBatch, key: str, copy: int) -> pa.RecordBatch:
    names = pa.array([f"{value} {copy}" for value in rows[key].to_pylist()])
    at = rows.schema.names.index(key)
    columns = [names if i == at else column for i, column in enumerate(rows.columns)]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
