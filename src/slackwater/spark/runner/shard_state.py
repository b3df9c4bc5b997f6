"""A shard's state on Spark: one map, in which a head and the small blobs share an entry."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from slackwater.spark.runner.near import Near
from slackwater.spark.runner.squeezed import plain, squeezed

if TYPE_CHECKING:
    from slackwater.core.kernel import Store

__all__ = ["NEAR", "STATE", "Head", "SparkStore", "StepStore"]

STATE = "blobs"
"""The name of the one variable.  Spark analyses and compiles what each one needs anew in every
task, 10 ms of it, so there is no second one."""
NEAR = ""
"""The entry with the head and what is near."""
# as types: for a text Spark's parser would be asked, in every task, too
_NAME = StructType([StructField("name", StringType())])
# the layout of what is kept is a column of its own: by a column more or less Spark refuses the
# checkpoints of another layout, which it would else take for those of a query without state
_BLOB = StructType([StructField("blob", BinaryType()), StructField("layout", IntegerType())])
_LARGE = 1 << 22
"""Bytes: handing these over takes longer than the round trip does."""


class SparkStore:
    """A `kernel.Store` over Spark's state store.

    A state call costs a round trip of 30–100 µs, and more where cores are few.  So writes wait in
    memory until `flush`: a page that is written and dropped within a micro-batch costs none.  Only
    large blobs are handed over at once, or they would all be in memory together.  And small ones
    live *near*: together in one entry with the head, which is read and written anyway.  A blob is
    in one place, near or in an entry of its own.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._map = handle.getMapState(STATE, _NAME, _BLOB)
        self._waiting: dict[str, bytes | None] = {}
        self._near, self._kept = Near(), b""

    def open(self, shards: int) -> Head:
        """Begin with a shard: its head; with so many shards, if it is new."""
        self._kept = self._found(NEAR) or b""
        self._near, self._waiting = Near.from_bytes(self._kept), {}
        return Head.from_text(self._near.head) if self._near.head else Head(shards)

    def get(self, name: str) -> bytes:
        """Fetch a blob."""
        if name in self._waiting:
            waiting = self._waiting[name]
            assert waiting is not None, f"{name} was dropped"
            return waiting
        if name in self._near.blobs:
            return self._near.blobs[name]
        blob = self._found(name)
        if blob is None:
            raise KeyError(name)
        return blob

    def put(self, name: str, blob: bytes) -> None:
        """Write or replace a blob."""
        if len(blob) < _LARGE:
            self._waiting[name] = blob
            return
        self._waiting.pop(name, None)
        self._near.remove(name)
        self._near.others = True
        self._keep(name, blob)

    def drop(self, name: str) -> None:
        """Delete a blob."""
        self._waiting[name] = None

    def drop_all(self, prefix: str) -> None:
        """Delete every blob whose name begins so."""
        far = [name for (name,) in list(self._map.keys())] if self._near.others else []
        for name in [*self._near.blobs, *far]:
            if name.startswith(prefix):
                self.drop(name)

    def flush(self, head: Head) -> None:
        """Hand all that waits to Spark, which commits it with the micro-batch."""
        near = self._near
        for name, blob in self._waiting.items():
            was_near = near.remove(name)
            if blob is not None and not near.add(name, blob):
                self._keep(name, blob)
                near.others = True
            elif not was_near and near.others:
                self._map.removeKey((name,))
        self._waiting = {}
        near.head = head.to_text()
        now = near.to_bytes()
        if now != self._kept:  # else a write, and a row in the checkpoint, that nobody needs
            self._keep(NEAR, now)
            self._kept = now

    def _found(self, name: str) -> bytes | None:
        value = self._map.getValue((name,))
        return None if value is None else plain(*value)

    def _keep(self, name: str, blob: bytes) -> None:
        self._map.updateValue((name,), squeezed(blob))


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
        The greatest arrival of each step's input.
    tick
        Real time of the last micro-batch with data for a step, if it had a tick; else None.
    ticked
        The time that each step was last told.
    owed
        The number of the first blob of results that waits (see `slackwater.spark.runner.owed`), and
        the number of the next.
    """

    shards: int
    held: dict[str, int] = field(default_factory=dict)
    clocks: dict[str, int] = field(default_factory=dict)
    latest: dict[str, int] = field(default_factory=dict)
    tick: dict[str, int | None] = field(default_factory=dict)
    ticked: dict[str, int] = field(default_factory=dict)
    owed: tuple[int, int] = (0, 0)

    def read_on(self, step: str, parts: dict[int, dict[int, int]], tick: int | None) -> None:
        """Rows have come in: for each input, the greatest arrival of each of its partitions.

        A partition gives its rows in arrival order, so all up to the least of those were read.
        """
        self.tick[step] = tick
        for at, reached in parts.items():
            name, now = f"{step}/{at}", min(reached.values())
            self.clocks[name] = max(self.clocks.get(name, now), now)
            self.latest[step] = max(self.latest.get(step, now), max(reached.values()))

    def caught_up(self, step: str, tick: int) -> int | None:
        """Nothing came in: the input has caught up, and only now real time tells of silence."""
        since = self.tick.get(step)
        if since is None:
            since = self.tick[step] = tick
        latest = self.latest.get(step)
        return None if latest is None else latest + max(tick - since, 0)

    def to_text(self) -> str:
        """For the state."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Head:
        """From the state."""
        said = json.loads(text)
        return cls(**{**said, "owed": tuple(said["owed"])})
