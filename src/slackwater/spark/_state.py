"""A shard's state on Spark: named blobs in a map state, and a small head beside them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from slackwater.core.kernel import Store

__all__ = ["Head", "SparkStore", "StepStore"]


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

    def drop_all(self, prefix: str) -> None:
        """Delete every blob whose name begins so."""
        for (name,) in list(self._map.keys()):
            if name.startswith(prefix):
                self.drop(name)

    def flush(self) -> None:
        """Hand everything that waits to Spark, which commits it with the micro-batch."""
        for name, blob in self._waiting.items():
            if blob is None:
                self._map.removeKey((name,))
            else:
                self._map.updateValue((name,), (blob,))
        self._waiting = {}


@dataclass(frozen=True)
class StepStore:
    """The part of a store that is one step's."""

    store: Store
    step: str

    def get(self, name: str) -> bytes:
        """Fetch a blob."""
        return self.store.get(f"{self.step}/{name}")

    def put(self, name: str, blob: bytes) -> None:
        """Write or replace a blob."""
        self.store.put(f"{self.step}/{name}", blob)

    def drop(self, name: str) -> None:
        """Delete a blob."""
        self.store.drop(f"{self.step}/{name}")


@dataclass
class Head:
    """What the runner itself must remember of a shard.

    Parameters
    ----------
    shards
        How many shards there were: with another number, keys would look for their state elsewhere.
    held
        How many rows wait in each step that has a state: time has nothing to do where none do.
    clocks
        How far each input of a step has come: the arrival up to which all its partitions were read.
    latest
        The greatest arrival of any input.
    tick
        Real time of the last micro-batch with data, if it had a tick; None: not known.
    ticked
        The time that each step was last told.
    """

    shards: int
    held: dict[str, int] = field(default_factory=dict)
    clocks: dict[str, int] = field(default_factory=dict)
    latest: int | None = None
    tick: int | None = None
    ticked: dict[str, int] = field(default_factory=dict)

    SCHEMA: ClassVar[str] = "head string"

    def read_on(self, step: str, parts: dict[int, dict[int, int]]) -> None:
        """Rows have come in: for each input, the greatest arrival of each of its partitions.

        A partition gives its rows in arrival order, so all up to the least of those were read.
        """
        for at, reached in parts.items():
            name, now = f"{step}/{at}", min(reached.values())
            self.clocks[name] = max(self.clocks.get(name, now), now)
            self.latest = max(self.latest or now, max(reached.values()))

    def come(self, step: str, inputs: int) -> int | None:
        """How far all inputs of a step have come."""
        clocks = [self.clocks.get(f"{step}/{at}") for at in range(inputs)]
        return None if None in clocks else min(c for c in clocks if c is not None)

    def caught_up(self, tick: int) -> int | None:
        """Nothing came in: the input has caught up, and only now real time tells of silence."""
        if self.tick is None:
            self.tick = tick
        return None if self.latest is None else self.latest + max(tick - self.tick, 0)

    def to_row(self) -> tuple[Any, ...]:
        """For ValueState.update."""
        return (json.dumps(asdict(self)),)

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Head:
        """From ValueState.get."""
        return cls(**json.loads(row[0]))
