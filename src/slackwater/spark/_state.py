"""A shard's state on Spark: named blobs in a map state, and a small head beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

__all__ = ["Head", "SparkStore"]


class SparkStore:
    """A `kernel.Store` over Spark's state store.

    A state call costs a round trip of 30–100 µs, so writes wait in memory until `flush`: a page
    that is written and dropped within a micro-batch costs none.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._map = handle.getMapState("blobs", "name string", "blob binary")
        self._waiting: dict[str, bytes | None] = {}

    def get(self, name: str) -> bytes:
        """Fetch a blob."""
        if name in self._waiting:
            waiting = self._waiting[name]
            assert waiting is not None, f"{name} was dropped"
            return waiting
        value = self._map.getValue((name,))
        if value is None:
            raise KeyError(name)
        return bytes(value[0])

    def put(self, name: str, blob: bytes) -> None:
        """Write or replace a blob."""
        self._waiting[name] = blob

    def drop(self, name: str) -> None:
        """Delete a blob."""
        self._waiting[name] = None

    def flush(self) -> None:
        """Hand everything that waits to Spark, which commits it with the micro-batch."""
        for name, blob in self._waiting.items():
            if blob is None:
                self._map.removeKey((name,))
            else:
                self._map.updateValue((name,), (blob,))
        self._waiting = {}


@dataclass
class Head:
    """What the runner itself must remember of a shard.

    Parameters
    ----------
    shards
        How many shards there were: with another number, keys would look for their state elsewhere.
    tick
        Time of the last tick that the shard saw, in microseconds.
    held
        How many rows wait: a tick has nothing to do where none do.
    clocks
        The greatest arrival of each input so far, where a kernel has two.
    index
        The kernel's index into the store.
    """

    shards: int
    tick: int | None = None
    held: int = 0
    clocks: list[int] = field(default_factory=lambda: [0, 0])
    index: bytes | None = None

    SCHEMA: ClassVar[str] = "head string, index binary"

    def to_row(self) -> tuple[Any, ...]:
        """For ValueState.update."""
        head = {"shards": self.shards, "tick": self.tick, "held": self.held,
                "clocks": self.clocks}
        return (json.dumps(head), self.index)

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Head:
        """From ValueState.get."""
        return cls(**json.loads(row[0]), index=bytes(row[1]))
