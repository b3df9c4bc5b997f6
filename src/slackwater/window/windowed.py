"""Reorder, then window, as one kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slackwater.core.errors import ConfigError
from slackwater.core.kernel import MemoryStore, Out, Store
from slackwater.core.state import Record, bundle, unbundle
from slackwater.core.state.buffer import batch_of
from slackwater.reorder import Reorder
from slackwater.window.logic import Step
from slackwater.window.window import Window

__all__ = ["Windowed"]

_PIECE = 1 << 18  # rows that go through both stages at once: what they make stays in the cache


@dataclass(frozen=True)
class Windowed:
    """Windows over a disordered stream.

    `ready` holds the results; `late` and `quarantined` hold input rows, with all their columns.
    `notes` say how good the results are: ``rows`` taken in, ``late`` among them, ``quarantined``,
    ``filtered`` before, ``late_share``, the ``bound`` asked for (None without one) and ``delay``,
    the watermark delay in microseconds that is paid at the moment (None before the first row).

    Parameters
    ----------
    reorder
        How the input is put in order. Its key columns must be among the window's group columns: a
        group that took rows of several keys would not get them in order.
    window
        What is computed.

    Examples
    --------
    >>> from slackwater.core.events import Roles
    >>> from slackwater.window import Aggregate
    >>> roles = Roles("time", unit="s")
    >>> kernel = Windowed(Reorder("Static(buffer=3s)", roles),
    ...                   Window([Aggregate("sum", "x")], range="2s", slide="2s", roles=roles))
    >>> logic = kernel.start()
    >>> rows = pa.record_batch({"time": [0, 2, 1, 9], "x": [1, 10, 100, 1000]})
    >>> [r["sum_x"] for out in (logic.push(rows), logic.finish()) for r in out.ready.to_pylist()]
    [101, 10, 1000]
    """

    reorder: Reorder
    window: Window

    def __post_init__(self) -> None:
        strangers = [k for k in self.reorder.roles.key if k not in self.window.group]
        if strangers:
            raise ConfigError(
                f"rows are put in order per {', '.join(strangers)}, but are not grouped by it",
                step="window", expected=f"key columns among {', '.join(self.window.group) or '()'}",
                hint="add it to GROUP BY, or take it out of the key")

    def start(self, store: Store | None = None) -> WindowedLogic:
        """Begin with nothing held."""
        own = MemoryStore() if store is None else None
        inner: Store = store if store is not None else own  # type: ignore[assignment]
        return WindowedLogic(self, inner, own, None)

    def restore(self, snapshot: bytes, store: Store | None = None) -> WindowedLogic:
        """Resume where `snapshot` was taken."""
        own = None
        if store is None:
            snapshot, own = unbundle(snapshot)
        inner: Store = store if store is not None else own  # type: ignore[assignment]
        return WindowedLogic(self, inner, own, snapshot)


class WindowedLogic:
    """A running `Windowed`."""

    def __init__(self, config: Windowed, store: Store, own: MemoryStore | None,
                 index: bytes | None) -> None:
        self._config, self._own = config, own
        self._count = {"rows": 0, "late": 0, "quarantined": 0, "filtered": 0}
        if index is None:
            self._reorder = config.reorder.start(store)
            self._window = config.window.start(store)
            self._reorder.bare = True
            return
        record = Record.decode(index, kind="windowed", version=1)
        self._count = dict(record.meta)
        self._reorder = config.reorder.restore(record.arrays["reorder"].tobytes(), store)
        self._window = config.window.restore(record.arrays["window"].tobytes(), store)
        self._reorder.bare = True

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events, in arrival order."""
        ready, late, quarantined = [], [], []
        notes: dict[str, Any] = {}
        size = _PIECE if batch.num_rows > 2 * _PIECE else max(batch.num_rows, 1)
        for at in range(0, max(batch.num_rows, 1), size):
            piece = batch.slice(at, size)
            self._count["rows"] += piece.num_rows
            pieces, out = self._pass_on(self._reorder.push(piece))
            ready += pieces
            late.append(out.late)
            quarantined.append(out.quarantined)
            notes = dict(out.notes)
        return Out(_all(ready), _all(late), _all(quarantined), notes)

    def leave_out(self, rows: int) -> None:
        """Note that rows were filtered out before they came here."""
        self._count["filtered"] += rows

    def tick(self, now: int) -> Out:
        """Let time pass without an event."""
        return self._advance(self._reorder.tick(now))

    def elapse(self, passed: int) -> None:
        """Count real time (see `Logic.elapse`)."""
        self._reorder.elapse(passed)

    def idle(self, quiet: int) -> Out:
        """Let time pass for silent keys (see `Logic.idle`)."""
        return self._advance(self._reorder.idle(quiet))

    def finish(self) -> Out:
        """End of input: let everything go."""
        pieces, out = self._pass_on(self._reorder.finish())
        return self._joined(pieces, out, self._window.finish())

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        arrays = {"reorder": np.frombuffer(self._reorder.snapshot(), np.uint8),
                  "window": np.frombuffer(self._window.snapshot(), np.uint8)}
        index = Record("windowed", 1, self._count, arrays).encode()
        return index if self._own is None else bundle(index, self._own)

    def _advance(self, let_go: Out) -> Out:
        pieces, out = self._pass_on(let_go)
        if self._window.empty:
            return out
        return self._joined(pieces, out,
                            self._window.advance(self._reorder.reached(self._window.groups)))

    def _pass_on(self, ordered: Out) -> tuple[list[pa.RecordBatch], Out]:
        """What the window makes of ordered rows, in pieces; `ready` of the `Out` is the first."""
        if ordered.ready.num_columns == 0:  # no input so far
            out = self._window.idle(0)
            step = Step([out.ready], out.late, out.quarantined, dict(out.notes))
        else:
            step = self._window.push_usable(ordered.ready, self._reorder.times)
        late = _all([ordered.late, step.late])
        quarantined = _all([ordered.quarantined, step.quarantined])
        self._count["late"] += late.num_rows
        self._count["quarantined"] += quarantined.num_rows
        return step.ready, Out(step.ready[0], late, quarantined,
                               self._notes(ordered.notes, step.notes))

    def _joined(self, pieces: list[pa.RecordBatch], one: Out, two: Out) -> Out:
        return Out(_all([*pieces, two.ready]), one.late, one.quarantined,
                   {**one.notes, "held": one.notes["held"] - one.notes["open"] + two.notes["open"],
                    "open": two.notes["open"], "retained": two.notes["retained"]})

    def _notes(self, ordered: Any, window: Any) -> dict[str, Any]:
        used = self._count["rows"] - self._count["quarantined"]
        delay = ordered["buffer"]
        return {
            **ordered, **window, **self._count, "held": ordered["held"] + window["open"],
            "late_share": self._count["late"] / used if used else 0.0,
            "bound": getattr(self._config.reorder.policy, "ratio", None),
            "delay": None if np.isnan(delay) else delay,
        }


def _all(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of them all; those without rows may have no columns yet."""
    return batch_of([b for b in batches if b.num_rows] or batches[:1])
