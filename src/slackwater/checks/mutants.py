"""Kernels that break one promise each: the proof that the checks can fail.

Each is `FixedWait` with one thing wrong, and says which promise that breaks.  A test runs every
check over every mutant; ``docs/checks.md`` has the table.
"""

from __future__ import annotations

import ctypes
import itertools
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from slackwater.checks.reference import SECOND, FixedWait, FixedWaitLogic, KeyState
from slackwater.core.kernel import Out, Store

__all__ = ["MUTANTS", "Mutant"]

Rows = list[dict[str, Any]]
_SNAPSHOTS = itertools.count()
_LOGICS: dict[str, type[FixedWaitLogic]] = {}

MUTANTS: dict[str, str] = {}
"""The name of each mutant, and of the check whose promise it breaks."""


@dataclass(frozen=True)
class Mutant(FixedWait):
    """The mutant of that name."""

    name: str = ""

    def start(self, store: Store | None = None) -> FixedWaitLogic:
        """Begin with nothing held."""
        return _LOGICS[self.name](self, store)

    def __reduce__(self) -> tuple[Any, ...]:
        wait = 0 if self.name == "LosesItsSettings" else self.wait
        return (Mutant, (wait, self.max_delay, self.name))


def breaks(promise: str) -> Callable[[type[FixedWaitLogic]], type[FixedWaitLogic]]:
    """Make a mutant of a logic."""

    def register(logic: type[FixedWaitLogic]) -> type[FixedWaitLogic]:
        MUTANTS[logic.__name__], _LOGICS[logic.__name__] = promise, logic
        return logic

    return register


@breaks("ready rows are in order")
class PassesThrough(FixedWaitLogic):
    """Hands rows on in the order in which they came, and holds none."""

    def push(self, batch: pa.RecordBatch) -> Out:
        """Hold nothing."""
        bad = super().push(batch).quarantined.to_pylist()
        skip = [row["row"] for row in bad]
        for state in self.keys.values():
            state.held, state.watermark = [], None
        return self.out([{**row, "_released": row["arrival"]} for row in batch.to_pylist()
                         if row["row"] not in skip], [], bad)


@breaks("only what came too late is late")
class FindsRowsLate(FixedWaitLogic):
    """Hands every other row out as late."""

    def out(self, ready: Rows, late: Rows = (), quarantined: Rows = ()) -> Out:  # type: ignore[assignment]
        """Sort out every other row."""
        return super().out([row for row in ready if row["row"] % 2 == 0],
                           [*late, *(row for row in ready if row["row"] % 2)], quarantined)


@breaks("every row leaves exactly once")
class LosesRows(FixedWaitLogic):
    """Loses every tenth row."""

    def released(self, due: Iterable[Any], when: int) -> Rows:
        """Leave one out."""
        return [row for row in super().released(due, when) if row["row"] % 10]


@breaks("every row leaves exactly once")
class RepeatsRows(FixedWaitLogic):
    """Hands every tenth row out twice."""

    def released(self, due: Iterable[Any], when: int) -> Rows:
        """Repeat one."""
        return [row for row in super().released(due, when)
                for _ in range(1 if row["row"] % 10 else 2)]


@breaks("cuts do not matter")
class MarksTheFirstBatch(FixedWaitLogic):
    """Says of rows that they left with the first batch."""

    def push(self, batch: pa.RecordBatch) -> Out:
        """Mark what leaves."""
        first, out = self.n == 0, super().push(batch)
        why = "first batch" if first else None
        return self.out([{**row, "_reason": why} for row in out.ready.to_pylist()],
                        out.late.to_pylist(), out.quarantined.to_pylist())


@breaks("cuts do not matter")
class EndsSilencesFirst(FixedWaitLogic):
    """Lets go what the silence of a key would have let go before the rest of a batch."""

    def push(self, batch: pa.RecordBatch) -> Out:
        """First what waited for more than an hour."""
        early = []
        for row, now in zip(batch.to_pylist(), batch["arrival"].cast(pa.int64()).to_pylist(),
                            strict=True):
            state = self.keys.get(self.key_of(row), KeyState(clock=now))
            if now - state.clock > 3600 * SECOND:
                early += self.released(state.release(None), now)
        out = super().push(batch)
        return self.out([*early, *out.ready.to_pylist()], out.late.to_pylist(),
                        out.quarantined.to_pylist())


@breaks("restarts do not matter")
class ForgetsAtARestart(FixedWaitLogic):
    """Does not know the watermarks any more when it is restored without a store."""

    def read_key(self, blob: bytes) -> KeyState:
        """Lose the watermark."""
        state = super().read_key(blob)
        return replace(state, watermark=None) if self.own else state


@breaks("a store apart does not matter")
class ForgetsWithAStore(FixedWaitLogic):
    """Does not know the watermarks any more when it is restored from a store."""

    def read_key(self, blob: bytes) -> KeyState:
        """Lose the watermark."""
        state = super().read_key(blob)
        return state if self.own else replace(state, watermark=None)


@breaks("a store apart does not matter")
class WritesWithoutNeed(FixedWaitLogic):
    """Writes to the store at every snapshot, whether or not something has changed."""

    def snapshot(self) -> bytes:
        """Write a blob that is never the same."""
        if not self.own:
            self.store.put("snapshots", f"{next(_SNAPSHOTS):09}".encode())
        return super().snapshot()


@breaks("ticks do not matter")
class TicksAhead(FixedWaitLogic):
    """Takes a tick for a moment a second later, and so finds rows late that are not."""

    def tick(self, now: int) -> Out:
        """Let too much time pass."""
        return super().tick(now + SECOND)


@breaks("silence ends the waiting")
class WaitsForRows(FixedWaitLogic):
    """Lets nothing go by the passing of time."""

    def tick(self, now: int) -> Out:
        """Do nothing."""
        return self.out([])


@breaks("quarantined rows move nothing")
class HeedsQuarantine(FixedWaitLogic):
    """Lets a key's rows go when one of them has no time."""

    def push(self, batch: pa.RecordBatch) -> Out:
        """In pieces that end with such a row, so that cuts do not matter."""
        ready, late, bad = [], [], []
        ends = np.flatnonzero(batch.column("time").is_null()).tolist()
        for start, end in pairwise([0, *(at + 1 for at in ends), batch.num_rows]):
            out = super().push(batch.slice(start, end - start))
            ready += out.ready.to_pylist()
            late += out.late.to_pylist()
            bad += out.quarantined.to_pylist()
            if end in [at + 1 for at in ends]:
                state = self.keys.setdefault(self.key_of(bad[-1]), KeyState())
                ready += self.released(state.release(None), state.clock)
        return self.out(ready, late, bad)


@breaks("the watermark never goes back")
class TakesItBack(FixedWaitLogic):
    """Reports a watermark an hour behind while an odd number of rows is held."""

    def out(self, ready: Rows, late: Rows = (), quarantined: Rows = ()) -> Out:  # type: ignore[assignment]
        """Report another watermark."""
        out = super().out(ready, late, quarantined)
        mark = out.notes["watermark"]
        if mark is not None and out.notes["held"] % 2:
            mark -= 3600 * SECOND
        return replace(out, notes={**out.notes, "watermark": mark})


@breaks("keys do not see each other")
class MixesKeys(FixedWaitLogic):
    """Has one watermark for all keys."""

    def key_of(self, row: dict[str, Any]) -> str:
        """All the same."""
        return "all"


@breaks("nothing is held after the end")
class EndsTwice(FixedWaitLogic):
    """Hands the last rows out again when it is finished again."""

    last: Out | None = None

    def finish(self) -> Out:
        """Repeat what was said before."""
        self.last = super().finish() if self.last is None else self.last
        return self.last


@breaks("the input is not changed")
class WritesIntoTheInput(FixedWaitLogic):
    """Works on the batch that it was given, in place."""

    def push(self, batch: pa.RecordBatch) -> Out:
        """Overwrite the first value."""
        out = super().push(batch)
        if batch.num_rows:
            column = batch.column("value")
            at = column.buffers()[1].address + 8 * column.offset
            ctypes.memmove(at, ctypes.byref(ctypes.c_double(-1.0)), 8)
        return out


@breaks("the same input gives the same output")
class LosesItsSettings(FixedWaitLogic):
    """Waits as long as it was told only where it was configured (see `Mutant.__reduce__`)."""


@breaks("state is bounded")
class KeepsRows(FixedWaitLogic):
    """Keeps every row for ever."""

    def __init__(self, config: FixedWait, store: Store | None) -> None:
        super().__init__(config, store)
        self.kept: list[str] = []

    def push(self, batch: pa.RecordBatch) -> Out:
        """Write it down, too."""
        self.kept += map(str, batch.to_pylist())
        return super().push(batch)

    def snapshot(self) -> bytes:
        """With all that ever came."""
        return json.dumps([super().snapshot().decode(), self.kept]).encode()

    def load(self, snapshot: bytes) -> None:
        """With all that ever came."""
        index, self.kept = json.loads(snapshot)
        super().load(index.encode())


@breaks("silent keys are forgotten")
class KeepsKeys(FixedWaitLogic):
    """Keeps every key for ever."""

    def forgettable(self, state: KeyState, now: int) -> bool:
        """Never."""
        return False


@breaks("a snapshot costs what has changed")
class WritesEverything(FixedWaitLogic):
    """Writes all that it holds at every snapshot."""

    def snapshot(self) -> bytes:
        """As if all had changed."""
        for state in self.keys.values():
            state.changed = True
        return super().snapshot()
