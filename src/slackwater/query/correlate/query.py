"""A query over two streams as a kernel: filter each side, correlate, select from the pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from slackwater.core.events import FOREVER
from slackwater.core.html import html_fields
from slackwater.core.kernel import Out, Store
from slackwater.core.layouts import laid_out, laid_out_schema
from slackwater.core.names import BUCKET
from slackwater.core.state.ipc import empty_rows
from slackwater.correlate import Correlate
from slackwater.query.correlate.names import PAIR
from slackwater.query.correlate.parse import parse_correlate
from slackwater.query.correlate.plan import CorrelatePlan, plan_correlate

__all__ = ["PairQuery"]


@dataclass(frozen=True)
class PairQuery:
    """Run ``SELECT … FROM A a, B b WHERE |@a − @b| <= 5 seconds …`` over two streams.

    Rows that WHERE leaves out move no clock.  `ready` has the selected columns, `late` and
    `quarantined` the rows of the side that was pushed.

    Parameters
    ----------
    text
        The query.
    left, right
        The columns of the two streams.
    correlate
        The kernel that pairs, as ``CorrelatePlan.correlate`` gives it.
    """

    text: str
    left: pa.Schema
    right: pa.Schema
    correlate: Correlate

    def __post_init__(self) -> None:
        for side in ("left", "right"):
            object.__setattr__(self, side, laid_out_schema(getattr(self, side)))

    def _repr_html_(self) -> str:
        from slackwater.query.explain import explained_html

        return explained_html(self.text) + html_fields(self.correlate)

    @cached_property
    def plan(self) -> CorrelatePlan:
        """The query, planned."""
        return plan_correlate(parse_correlate(self.text), self.left, self.right)

    def start(self, store: Store | None = None) -> PairLogic:
        """Begin with nothing held."""
        return PairLogic(self, self.correlate.start(store))

    def restore(self, snapshot: bytes, store: Store | None = None) -> PairLogic:
        """Resume where `snapshot` was taken."""
        return PairLogic(self, self.correlate.restore(snapshot, store))

    def __reduce__(self) -> tuple[Any, ...]:
        # the plan is made again where it arrives: it holds functions, which do not travel
        return (PairQuery, (self.text, self.left, self.right, self.correlate))


class PairLogic:
    """A running `PairQuery`."""

    def __init__(self, config: PairQuery, logic: Any) -> None:
        self._config, self._logic = config, logic

    def push(self, batch: pa.RecordBatch, side: str) -> Out:
        """Take rows of one side, ``"left"`` or ``"right"``, in arrival order."""
        at = 0 if side == "left" else 1
        rows = self._config.plan.keep(laid_out(batch), at)
        return self._selected(self._logic.push(rows, side))

    def tick(self, now: int) -> Out:
        """Let time pass without a row."""
        return self._selected(self._logic.tick(now))

    def finish(self) -> Out:
        """End of input: evaluate everything."""
        return self._selected(self._logic.finish())

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        found: bytes = self._logic.snapshot()
        return found

    def lead(self, promise: int | None, *, shared: bool) -> None:
        """Pairs have no order that others could follow."""

    def trust(self) -> None:
        """Rows come in order from a stage that has judged their clock."""
        self._logic.trust()

    def watermark(self, upto: int = FOREVER) -> int:
        """There is no telling."""
        found: int = self._logic.watermark(upto)
        return found

    def _selected(self, out: Out) -> Out:
        plan, pairs = self._config.plan, out.ready
        if not pairs.num_rows:
            ready = empty_rows(plan.schema)
        else:
            ready = plan.results(plan.keep(pairs, PAIR))
        return Out(ready, _plain(out.late), _plain(out.quarantined), out.notes)


def _plain(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of the input, without the bucket that they were spread by."""
    return rows.drop_columns([BUCKET]) if BUCKET in rows.schema.names else rows
