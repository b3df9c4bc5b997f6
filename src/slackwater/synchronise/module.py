"""The synchronisation module of the paper: synchroniser, output queue, event feeder."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from slackwater.core.errors import ConfigError
from slackwater.core.kernel import Out
from slackwater.core.state import Record
from slackwater.core.state.buffer import batch_of, ipc_batch, ipc_bytes
from slackwater.synchronise.config import Synchroniser

__all__ = ["OutputQueue", "SyncModule"]

Consumer = Callable[[pa.RecordBatch], object]


class OutputQueue:
    """Rows that have left a synchroniser and wait to be fed on, first in first out.

    Examples
    --------
    >>> queue = OutputQueue()
    >>> queue.put(pa.record_batch({"x": [1, 2, 3]}))
    >>> queue.take(2)["x"].to_pylist(), len(queue)
    ([1, 2], 1)
    """

    def __init__(self) -> None:
        self._batches: deque[pa.RecordBatch] = deque()
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def put(self, rows: pa.RecordBatch) -> None:
        """Add rows at the end."""
        if rows.num_rows:
            self._batches.append(rows)
            self._rows += rows.num_rows

    def take(self, most: int) -> pa.RecordBatch | None:
        """Take up to `most` rows from the front; None if there are none."""
        parts: list[pa.RecordBatch] = []
        while self._batches and most > 0:
            first = self._batches.popleft()
            if first.num_rows > most:
                self._batches.appendleft(first.slice(most))
                first = first.slice(0, most)
            parts.append(first)
            most -= first.num_rows
            self._rows -= first.num_rows
        return batch_of(parts) if parts else None

    def everything(self) -> pa.RecordBatch | None:
        """All rows, which stay."""
        return batch_of(list(self._batches)) if self._batches else None


class SyncModule:
    """A synchroniser whose bursts are smoothed by a bounded queue.

    Ready rows go into the queue; `feed` takes them from it and hands them to the consumer, at
    whatever pace the caller chooses.  The queue never keeps more than `capacity` rows: what does
    not fit is fed on at once, oldest first, so that a burst costs its producer time, not memory,
    and nothing is lost.

    Parameters
    ----------
    config
        Any synchroniser.
    consumer
        Called with batches of rows, in order.
    capacity
        Most rows that wait.

    Examples
    --------
    >>> from slackwater.core.events import Roles
    >>> from slackwater.synchronise import FrontierSync
    >>> got = []
    >>> module = SyncModule(FrontierSync(Roles("time", source="s", unit="ms"), sources=("a",)),
    ...                     lambda rows: got.extend(rows["time"].to_pylist()), capacity=2)
    >>> _ = module.push(pa.record_batch({"time": [1, 2, 3], "s": ["a", "a", "a"]}))
    >>> got, module.waiting
    ([1], 2)
    >>> module.feed(1), got
    (1, [1, 2])

    References
    ----------
    Time synchronisation of data stream events with binary trees, section IV.D.
    """

    def __init__(self, config: Synchroniser, consumer: Consumer, *, capacity: int = 65_536) -> None:
        if capacity < 1:
            raise ConfigError("a queue must have room for a row", step="SyncModule.capacity",
                              expected="a whole number ≥ 1", got=capacity)
        self.config, self.capacity = config, capacity
        self.logic = config.start()
        self._consumer = consumer
        self._queue = OutputQueue()

    @property
    def waiting(self) -> int:
        """Rows in the queue."""
        return len(self._queue)

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events; what is ready goes to the queue, the rest of the outcome is returned."""
        return self._enqueue(self.logic.push(batch))

    def tick(self, now: int) -> Out:
        """Let time pass."""
        return self._enqueue(self.logic.tick(now))

    def elapse(self, passed: int) -> None:
        """Count real time (see `Logic.elapse`)."""
        self.logic.elapse(passed)

    def idle(self, quiet: int) -> Out:
        """Let time pass for silent keys (see `Logic.idle`)."""
        return self._enqueue(self.logic.idle(quiet))

    def finish(self) -> Out:
        """End of input: everything goes to the consumer."""
        out = self._enqueue(self.logic.finish())
        self.feed(self.waiting)
        return out

    def feed(self, most: int) -> int:
        """Hand up to `most` rows to the consumer; how many it were."""
        rows = self._queue.take(most)
        if rows is None:
            return 0
        self._consumer(rows)
        return int(rows.num_rows)

    def snapshot(self) -> bytes:
        """Write the state: the synchroniser's, and the rows that wait."""
        waiting = self._queue.everything()
        rows = b"" if waiting is None else ipc_bytes(waiting)
        return Record("module", 1, {}, {
            "logic": np.frombuffer(self.logic.snapshot(), np.uint8),
            "queue": np.frombuffer(rows, np.uint8)}).encode()

    def restore(self, snapshot: bytes) -> None:
        """Go on where `snapshot` was taken."""
        arrays = Record.decode(snapshot, kind="module", version=1).arrays
        self.logic = self.config.restore(arrays["logic"].tobytes())
        self._queue = OutputQueue()
        if len(arrays["queue"]):
            self._queue.put(ipc_batch(arrays["queue"].tobytes()))

    def _enqueue(self, out: Out) -> Out:
        self._queue.put(out.ready)
        self.feed(self.waiting - self.capacity)
        return Out(out.ready.slice(0, 0), out.late, out.quarantined,
                   {**out.notes, "waiting": self.waiting})
