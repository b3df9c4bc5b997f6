"""Reorder, then a stage that needs its rows in order, as one kernel's logic."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import FOREVER, NEVER
from slackwater.core.kernel import Store
from slackwater.core.outcome import Refused
from slackwater.core.stage import StageLogic
from slackwater.core.state.ipc import empty_rows, joined
from slackwater.core.steps import Arrivals, Step, merged
from slackwater.reorder.logic import ReorderLogic
from slackwater.reorder.reorder import Reorder

__all__ = ["ChainLogic", "FollowerLogic"]

Int64 = NDArray[np.int64]

_QUIET = 10_000_000


class FollowerLogic(StageLogic):
    """A stage that takes rows in time order, and is told how far each of its groups has come."""

    @abstractmethod
    def groups(self) -> pa.RecordBatch | None:
        """The values of the group columns, by slot: what `advance` goes by; None: no group."""

    @abstractmethod
    def advance(self, theta: Int64) -> Step:
        """For each group no row with a time before its `theta` comes any more."""


class ChainLogic(StageLogic):
    """Reorder, then another stage, as one: each step of the first is a step of the second.

    What the second stage closes in silence is closed for rows that nothing has overtaken, too. So
    that no tick decides on them, the silence of a key counts from ten seconds on, with and without
    ticks, unless whoever runs the logic says otherwise (`lead`), as Spark's runner does.

    Its notes have those of both, and how good the results are: ``rows`` taken in, ``late`` among
    them, ``quarantined``, ``filtered`` before, ``late_share``, the ``bound`` asked for (None
    without one) and ``delay``, the watermark delay in microseconds that is paid at the moment (None
    before the first row).
    """

    def __init__(self, name: str, reorder: Reorder, second: FollowerLogic, store: Store) -> None:
        super().__init__(name, reorder.roles, store)
        self._first = ReorderLogic(reorder, store)
        self._first.lead(_QUIET, shared=False)
        self._quiet = _QUIET
        self._second = second
        self._count = {"rows": 0, "late": 0, "quarantined": 0, "filtered": 0}

    @property
    def front(self) -> StageLogic:
        """Rows come to the first stage."""
        return self._first

    def step(self, batch: pa.RecordBatch) -> tuple[Step, list[Refused]]:
        """Take events, which go through both stages piece by piece."""
        step, refused = super().step(batch)
        self.schema = batch.schema
        self._count["rows"] += batch.num_rows
        self._count["quarantined"] += sum(len(part.by) for part in refused)
        return step, refused

    def leave_out(self, rows: int) -> None:
        """Note that rows were filtered out before they came here."""
        self._count["filtered"] += rows

    def take(self, new: Arrivals) -> Step:
        """Take rows that are known to be usable."""
        return self.pass_on(self._first.take(new))

    def pass_time(self, now: int) -> Step:
        """Let time pass; the second stage is told how far each key has come."""
        return self._close(self._first.pass_time(now if now == NEVER else now - self._quiet))

    def punctuated(self, time: int, source: str | None, key: Mapping[str, Any] | None) -> Step:
        """The same as far as a promise has brought its key."""
        return self._close(self._first.punctuated(time, source, key))

    def _close(self, step: Step) -> Step:
        results = self.pass_on(step)
        groups = None if self._second.schema is None else self._second.groups()
        if groups is None or step.reached is None:
            return results
        return merged([results, self._second.advance(step.reached(groups))])

    def lead(self, promise: int | None, *, shared: bool) -> None:
        """What is promised to the second stage is promised to all that follow.

        Whoever says so takes as much off the time that passes here.
        """
        self._first.lead(promise, shared=shared)
        self._quiet = 0

    def trust(self) -> None:
        """Rows come in order from a stage that has judged their clock."""
        self._first.trust()

    def watermark(self, upto: int = FOREVER) -> int:
        """As far as the input has been put in order; what the second stage has open ends later."""
        return self._first.watermark(upto)

    def end(self) -> Step:
        """Release everything, then end the second stage."""
        return merged([self.pass_on(self._first.end()), self._second.end()])

    def pass_on(self, step: Step) -> Step:
        """What the second stage makes of ordered rows."""
        rows = joined(step.ready)
        late = [] if step.late is None or not step.late.num_rows else [
            replace(step, ready=[], stamp=None, time=None, reached=None)]
        if rows.num_columns == 0:  # no input so far
            result = Step([pa.record_batch({})])
        else:
            assert step.time is not None
            self._second.see(rows.schema)
            count = self._second.count
            result = self._second.take(self._second.numbered(step.time, step.time, rows))
            if result.refused and step.by is not None and step.reached is None:
                by = step.by()
                result = replace(result, refused=[
                    replace(part, by=by[np.clip(part.by - count, 0, len(by) - 1)])
                    for part in result.refused])
        whole = merged([*late, result]) if late else replace(result, refused=[
            *step.refused, *result.refused])
        self._count["late"] += 0 if whole.late is None else whole.late.num_rows
        self._count["quarantined"] += sum(len(part.by) for part in whole.refused)
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

    def held(self) -> int:
        """Rows that the first holds, and rows or windows that are open in the second."""
        return self._first.held() + self._second.held()

    def notes(self) -> dict[str, Any]:
        """The notes of both, and how good the results are."""
        ordered, second = self._first.notes(), self._second.notes()
        used = self._count["rows"] - self._count["quarantined"]
        delay = ordered["buffer"]
        return {
            **ordered, **second, **self._count, "held": self.held(),
            "late_share": self._count["late"] / used if used else 0.0,
            "delay": None if np.isnan(delay) else delay,
        }
