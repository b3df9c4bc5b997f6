"""The synchronisation module of the paper: synchroniser, output queue, event feeder."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from slackwater.core.errors import ConfigError
from slackwater.core.kernel import Out
from slackwater.core.state import Record
from slackwater.core.state.ipc import ipc_batch, ipc_bytes, joined
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
        rows = self.first(most)
        if rows is not None:
            self.drop(rows.num_rows)
        return rows

    def first(self, most: int) -> pa.RecordBatch | None:
        """Up to `most` rows of the front, which stay; None if there are none."""
        parts: list[pa.RecordBatch] = []
        for batch in self._batches:
            if most <= 0:
                break
            parts.append(batch.slice(0, most))
            most -= parts[-1].num_rows
        return joined(parts) if parts else None

    def drop(self, count: int) -> None:
        """Take `count` rows away from the front."""
        self._rows -= count
        while count > 0:
            first = self._batches.popleft()
            if first.num_rows > count:
                self._batches.appendleft(first.slice(count))
            count -= first.num_rows

    def everything(self) -> pa.RecordBatch | None:
        """All rows, which stay."""
        return joined(list(self._batches)) if self._batches else None


class SyncModule:
    """A synchroniser whose bursts are smoothed by a bounded queue.

    Ready rows go into the queue; `feed` takes them from it and hands them to the consumer, at
    whatever pace the caller chooses.  The queue never keeps more than `capacity` rows: what does
    not fit is fed on at once, oldest first, so that a burst costs its producer time, not memory,
    and nothing is lost.

    If the consumer raises, so does the call that fed it.  The rows that it did not take stay in the
    queue, for the moment perhaps more than `capacity`, and are handed to it again by the next call;
    late and quarantined rows that could not be returned are returned by the next call that can.

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
        self._owed = OutputQueue(), OutputQueue()  # late and quarantined rows not yet returned

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

    def punctuate(self, time: int, *, source: str | None = None,
                  key: Mapping[str, Any] | None = None) -> Out:
        """Nothing with a time before `time` comes any more (see `StageLogic.punctuate`)."""
        return self._enqueue(self.logic.punctuate(time, source=source, key=key))

    def finish(self) -> Out:
        """End of input: everything goes to the consumer."""
        return self._enqueue(self.logic.finish(), leave=0)

    def feed(self, most: int) -> int:
        """Hand up to `most` rows to the consumer; how many it were."""
        rows = self._queue.first(most)
        if rows is None:
            return 0
        self._consumer(rows)
        self._queue.drop(rows.num_rows)  # not before: it may have raised
        return int(rows.num_rows)

    def snapshot(self) -> bytes:
        """Write the state: the synchroniser's, and the rows that wait."""
        parts = {"logic": self.logic.snapshot()}
        for name, queue in self._queues():
            rows = queue.everything()
            parts[name] = b"" if rows is None else ipc_bytes(rows)
        return Record("module", 2, {}, {name: np.frombuffer(part, np.uint8)
                                        for name, part in parts.items()}).encode()

    def restore(self, snapshot: bytes) -> None:
        """Go on where `snapshot` was taken."""
        arrays = Record.decode(snapshot, kind="module", version=2).arrays
        self.logic = self.config.restore(arrays["logic"].tobytes())
        self._queue, self._owed = OutputQueue(), (OutputQueue(), OutputQueue())
        for name, queue in self._queues():
            if len(arrays[name]):
                queue.put(ipc_batch(arrays[name].tobytes()))

    def _queues(self) -> list[tuple[str, OutputQueue]]:
        return [("queue", self._queue), ("late", self._owed[0]), ("quarantined", self._owed[1])]

    def _enqueue(self, out: Out, leave: int | None = None) -> Out:
        self._queue.put(out.ready)
        for queue, rows in zip(self._owed, (out.late, out.quarantined), strict=True):
            queue.put(rows)
        self.feed(self.waiting - (self.capacity if leave is None else leave))
        late, quarantined = (queue.take(len(queue)) for queue in self._owed)
        return Out(out.ready.slice(0, 0), out.late if late is None else late,
                   out.quarantined if quarantined is None else quarantined,
                   {**out.notes, "waiting": self.waiting})
