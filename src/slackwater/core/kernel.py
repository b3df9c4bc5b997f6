"""The one protocol that every stage implements.

A *kernel* is a frozen configuration; ``kernel.start()`` gives the mutable *logic* that events are
pushed through, and ``kernel.restore(snapshot)`` resumes one.  A logic never reads the clock, never
sleeps, never logs a row and uses no global, so that the same arrivals give the same output however
they are cut into batches and wherever the run was stopped and resumed.

Enters: Arrow record batches in arrival order.  Leaves: `Out`.  May import: nothing of Slackwater.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

__all__ = ["Kernel", "Logic", "MemoryStore", "Out", "Store"]


@dataclass(frozen=True)
class Out:
    """What one call released.

    Every row that was pushed leaves exactly once, in one of three batches, which share a schema:
    the input's columns, then ``_reason`` (why late or quarantined, or what a ready row waited for)
    and ``_released`` (the arrival clock when it was released).

    Parameters
    ----------
    ready
        Rows in their place, in time order per key.
    late
        Rows that came after their place had been released.
    quarantined
        Rows without a usable time. They moved no clock and no estimate.
    notes
        Facts about the state after the call: ``held`` rows, the ``watermark``, the ``buffer`` time.
    """

    ready: pa.RecordBatch
    late: pa.RecordBatch
    quarantined: pa.RecordBatch
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.ready.num_rows + self.late.num_rows + self.quarantined.num_rows)


class Store(Protocol):
    """Named blobs: where a logic keeps what is too big to be written again at every snapshot."""

    def get(self, name: str) -> bytes:
        """Fetch a blob."""

    def put(self, name: str, blob: bytes) -> None:
        """Write or replace a blob."""

    def drop(self, name: str) -> None:
        """Delete a blob."""


class MemoryStore(dict[str, bytes]):
    """A store in memory; what a kernel uses when nothing else is given."""

    def get(self, name: str) -> bytes:  # type: ignore[override]
        """Fetch a blob."""
        return self[name]

    def put(self, name: str, blob: bytes) -> None:
        """Write or replace a blob."""
        self[name] = blob

    def drop(self, name: str) -> None:
        """Delete a blob."""
        del self[name]


@runtime_checkable
class Logic(Protocol):
    """A running kernel."""

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events, in arrival order."""

    def tick(self, now: int) -> Out:
        """Let time pass to `now`, on the arrival clock (microseconds UTC), without an event.

        The caller has pushed every row that arrived before `now`.  So time is never counted beside
        the arrivals, and a tick changes no row's fate: what it releases, the next arrival would
        have released before it was judged itself.
        """

    def finish(self) -> Out:
        """End of input: release everything."""

    def snapshot(self) -> bytes:
        """Write the state.

        With a store of its own, the snapshot holds everything.  With a store handed to ``start`` or
        ``restore``, what has changed since the last snapshot goes to the store, and the bytes
        returned are a small index into it.
        """


@runtime_checkable
class Kernel(Protocol):
    """A configuration that can be started: frozen, printable, able to travel to an executor."""

    def start(self, store: Store | None = None) -> Logic:
        """Begin with nothing held."""

    def restore(self, snapshot: bytes, store: Store | None = None) -> Logic:
        """Resume where `snapshot` was taken."""
