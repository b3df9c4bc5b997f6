"""Reorder, then window, as one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from slackwater.core.errors import ConfigError
from slackwater.core.events import FOREVER
from slackwater.core.kernel import Store
from slackwater.core.stage import Arrivals, Stage, StageLogic, Step, empty_rows, joined
from slackwater.core.steps import merged
from slackwater.reorder.logic import ReorderLogic
from slackwater.reorder.reorder import Reorder
from slackwater.window.logic import WindowLogic
from slackwater.window.window import Window

__all__ = ["Windowed"]

_PIECE = 1 << 18  # rows that go through both stages at once: what they make stays in the cache


@dataclass(frozen=True)
class Windowed(Stage):
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

    def logic(self, store: Store) -> WindowedLogic:
        """A logic with nothing held."""
        return WindowedLogic(self, store)


class WindowedLogic(StageLogic):
    """A running `Windowed`: each step of the first stage is a step of the second."""

    def __init__(self, config: Windowed, store: Store) -> None:
        super().__init__("windowed", config.reorder.roles, store)
        self._first = ReorderLogic(config.reorder, store)
        self._second = WindowLogic(config.window, store)
        self._count = {"rows": 0, "late": 0, "quarantined": 0, "filtered": 0}

    def step(self, batch: pa.RecordBatch) -> tuple[Step, list[pa.RecordBatch]]:
        """Take events, in pieces whose rows stay in the cache while both stages see them."""
        steps, refused = [], []
        size = _PIECE if batch.num_rows > 2 * _PIECE else max(batch.num_rows, 1)
        for at in range(0, max(batch.num_rows, 1), size):
            step, bad = self._first.step(batch.slice(at, size))
            steps.append(self._pass_on(step))
            refused += bad
        self.schema = batch.schema
        self._count["rows"] += batch.num_rows
        self._count["quarantined"] += sum(rows.num_rows for rows in refused)
        return merged(steps), refused

    def leave_out(self, rows: int) -> None:
        """Note that rows were filtered out before they came here."""
        self._count["filtered"] += rows

    def take(self, new: Arrivals) -> Step:
        """Take rows that are known to be usable."""
        return self._pass_on(self._first.take(new))

    def pass_time(self, now: int) -> Step:
        """Let time pass; the windows of a group close as far as its key has come."""
        return self._close(self._first.pass_time(now))

    def punctuated(self, time: int, source: str | None, key: Mapping[str, Any] | None) -> Step:
        """The same as far as a promise has brought its key."""
        return self._close(self._first.punctuated(time, source, key))

    def _close(self, step: Step) -> Step:
        results = self._pass_on(step)
        groups = None if self._second.schema is None else self._second.groups()
        if groups is None or step.reached is None:
            return results
        return merged([results, self._second.advance(step.reached(groups))])

    def lead(self, promise: int | None, *, shared: bool) -> None:
        """What is promised to windows, which close in silence, is promised to all that follow."""
        self._first.lead(promise, shared=shared)

    def trust(self) -> None:
        """Rows come in order from a stage that has judged their clock."""
        self._first.trust()

    def watermark(self, upto: int = FOREVER) -> int:
        """Windows that end later are still open."""
        return self._first.watermark(upto)

    def end(self) -> Step:
        """Release everything, close every window."""
        return merged([self._pass_on(self._first.end()), self._second.end()])

    def _pass_on(self, step: Step) -> Step:
        """What the window makes of ordered rows."""
        rows = joined(step.ready)
        late = [] if step.late is None or not step.late.num_rows else [
            replace(step, ready=[], stamp=None, time=None, reached=None)]
        if rows.num_columns == 0:  # no input so far
            result = Step([pa.record_batch({})])
        else:
            assert step.time is not None
            self._second.see(rows.schema)
            result = self._second.take(self._second.numbered(step.time, step.time, rows))
        whole = merged([*late, result]) if late else replace(result, refused=[
            *step.refused, *result.refused])
        self._count["late"] += 0 if whole.late is None else whole.late.num_rows
        self._count["quarantined"] += sum(r.num_rows for r in whole.refused)
        return whole

    def blank(self) -> pa.RecordBatch:
        """No rows, of the input's columns."""
        return empty_rows(self._first.schema)

    def identity(self) -> dict[str, Any]:
        """What the two stages may not change."""
        return {**self._first.identity(), **self._second.identity()}

    def save(self) -> dict[str, Any]:
        """Write what has changed in both."""
        return {"count": self._count, "first": self._first.index().hex(),
                "second": self._second.index().hex()}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        self._count = dict(meta["count"])
        self._first.resume(bytes.fromhex(meta["first"]), owns=False)
        self._second.resume(bytes.fromhex(meta["second"]), owns=False)

    def bind(self, schema: pa.Schema) -> None:
        """The stages check the columns themselves."""

    def notes(self) -> dict[str, Any]:
        """The notes of both, and how good the results are."""
        ordered, window = self._first.notes(), self._second.notes()
        used = self._count["rows"] - self._count["quarantined"]
        delay = ordered["buffer"]
        return {
            **ordered, **window, **self._count, "held": ordered["held"] + window["open"],
            "late_share": self._count["late"] / used if used else 0.0,
            "delay": None if np.isnan(delay) else delay,
        }
