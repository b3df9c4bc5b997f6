"""Keys put in order each by itself, then brought into one order together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.durations import Duration, micros
from slackwater.errors import ConfigError
from slackwater.events import Roles
from slackwater.kernel import MemoryStore, Out, Store
from slackwater.reorder import Reorder
from slackwater.state import KeyTable, Prefixed, Record, bundle, unbundle
from slackwater.synchronise.frontier import FrontierSync

__all__ = ["Aligned"]

_LET_GO, _KEY, _WHY = "__let_go", "__key", "__why"


@dataclass(frozen=True)
class Aligned:
    """Reorder by key, then hold what is ready until the slowest live key has reached it.

    For operators with one watermark for all keys, such as Spark's own: the greatest time that any
    key has released would make the rows of a slower key late.  Each key is a source of a
    `FrontierSync`; a key that keeps the others waiting for `wait` is let go ahead of, and after
    some such failures no longer waited for until it comes back.  A row that comes behind the
    common watermark all the same is `late`, with the reason, never dropped.

    Parameters
    ----------
    reorder
        How each key is put in order.
    wait
        How long a ready row may wait for other keys, on the arrival clock.
    max_failures
        After so many vain waits a key is not waited for any more.

    Examples
    --------
    >>> kernel = Aligned(Reorder("Static(buffer=0s)", Roles("time", key=("room",), unit="s")))
    >>> logic = kernel.start()
    >>> rows = pa.record_batch({"time": [1, 9, 1, 3], "room": ["a", "a", "b", "b"]})
    >>> outs = [logic.push(rows), logic.finish()]
    >>> [r["time"] for out in outs for r in out.ready.to_pylist()]
    [1, 1, 3, 9]
    """

    reorder: Reorder
    wait: Duration = "1 minute"
    max_failures: int = 3
    sync: FrontierSync = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.reorder.roles.key:
            raise ConfigError("without key columns there is nothing to align", step="align",
                              hint="name the key columns, or leave align out")
        object.__setattr__(self, "wait", micros(self.wait, name="align"))
        # what was usable once is not judged again: a held row may leave long after its arrival
        roles = Roles(self.reorder.roles.time, _LET_GO, _KEY, unit=self.reorder.roles.unit)
        object.__setattr__(self, "sync", FrontierSync(
            roles, max_delay=self.wait, max_failures=self.max_failures,
            max_future_skew="100000 days"))

    def start(self, store: Store | None = None) -> AlignedLogic:
        """Begin with nothing held."""
        own = MemoryStore() if store is None else None
        return AlignedLogic(self, store if store is not None else own, own, None)  # type: ignore[arg-type]

    def restore(self, snapshot: bytes, store: Store | None = None) -> AlignedLogic:
        """Resume where `snapshot` was taken."""
        own = None
        if store is None:
            snapshot, own = unbundle(snapshot)
        return AlignedLogic(self, store if store is not None else own, own, snapshot)  # type: ignore[arg-type]


class AlignedLogic:
    """A running `Aligned`."""

    def __init__(self, config: Aligned, store: Store, own: MemoryStore | None,
                 index: bytes | None) -> None:
        self._own = own
        self._text = KeyTable("", config.reorder.roles.key)
        first, second = Prefixed(store, "reorder"), Prefixed(store, "align")
        if index is None:
            self._reorder, self._sync = config.reorder.start(first), config.sync.start(second)
        else:
            arrays = Record.decode(index, kind="aligned", version=1).arrays
            self._reorder = config.reorder.restore(arrays["reorder"].tobytes(), first)
            self._sync = config.sync.restore(arrays["align"].tobytes(), second)

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events, in arrival order."""
        return self._align(self._reorder.push(batch))

    def tick(self, now: int) -> Out:
        """Let time pass without an event."""
        return self._then(self._align(self._reorder.tick(now)), self._sync.tick(now))

    def elapse(self, passed: int) -> None:
        """Count real time (see `Logic.elapse`)."""
        self._reorder.elapse(passed)
        self._sync.elapse(passed)

    def idle(self, quiet: int) -> Out:
        """Let time pass for silent keys (see `Logic.idle`)."""
        return self._then(self._align(self._reorder.idle(quiet)), self._sync.idle(quiet))

    def finish(self) -> Out:
        """End of input: let everything go."""
        return self._then(self._align(self._reorder.finish()), self._sync.finish())

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        arrays = {"reorder": np.frombuffer(self._reorder.snapshot(), np.uint8),
                  "align": np.frombuffer(self._sync.snapshot(), np.uint8)}
        index = Record("aligned", 1, {}, arrays).encode()
        return index if self._own is None else bundle(index, self._own)

    def _align(self, ordered: Out) -> Out:
        if ordered.ready.num_columns < 3:  # nothing but what an operator adds: no input so far
            return ordered
        schema = ordered.ready.schema
        # in the order in which the keys' rows were let go, which is this stage's order of arrival
        rows = ordered.ready.rename_columns([*schema.names[:-2], _WHY, _LET_GO])
        rows = rows.append_column(_KEY, self._text.text(rows))
        out = self._sync.push(rows)
        behind = _strip(out.late)
        return Out(_strip(out.ready), pa.concat_batches([ordered.late, behind]),
                   ordered.quarantined, self._notes(ordered, out))

    def _then(self, one: Out, two: Out) -> Out:
        if two.ready.num_columns < 4:
            return one
        return Out(pa.concat_batches([one.ready, _strip(two.ready)]), one.late, one.quarantined,
                   {**one.notes, "held": one.notes["held"] - one.notes["waiting"]
                    + two.notes["held"], "waiting": two.notes["held"],
                    "watermark": two.notes.get("watermark")})

    def _notes(self, ordered: Out, out: Out) -> dict[str, Any]:
        return {**ordered.notes, "held": ordered.notes["held"] + out.notes["held"],
                "waiting": out.notes["held"], "watermark": out.notes.get("watermark")}


def _strip(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of the reorder stage: its reason where this one has none to give."""
    why = pc.coalesce(rows["_reason"], rows[_WHY])
    at = rows.schema.get_field_index("_reason")
    return rows.set_column(at, "_reason", why).drop_columns([_WHY, _LET_GO, _KEY])
