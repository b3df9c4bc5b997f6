"""A SELECT query as a kernel: filter, reorder, window, project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from slackwater.core.durations import Duration
from slackwater.core.errors import ConfigError
from slackwater.core.events import FOREVER, Roles, event_times
from slackwater.core.kernel import Out, Store
from slackwater.core.layouts import laid_out, laid_out_schema
from slackwater.core.names import column_names
from slackwater.core.state.ipc import empty_rows
from slackwater.query.expr.arrow import Columns
from slackwater.query.expr.tree import Name
from slackwater.query.select.parse import parse_select
from slackwater.query.select.plan import Plan, plan_select
from slackwater.query.select.tree import Select
from slackwater.reorder import DropRatio, Policy, Reorder
from slackwater.reorder.chain import ChainLogic
from slackwater.reorder.policies.named import policy_for
from slackwater.window import Windowed

__all__ = ["SelectQuery"]


@dataclass(frozen=True)
class SelectQuery:
    """Run a SELECT query over a disordered stream.

    Rows for which WHERE is not true take no part: they are not counted, and move no clock.  `ready`
    has the selected columns; `late` and `quarantined` have input rows with all their columns.
    `notes` say how good the results are (see `slackwater.window.Windowed`), and how many rows WHERE
    has ``filtered``.

    Rows are put in order per group (or per ``roles.key``, whose columns must be in GROUP BY).  With
    DRATIO all groups share one estimate: the share is of the query's rows.

    Parameters
    ----------
    text
        The query.
    schema
        The columns of the input.
    roles
        Which columns are time and arrival.
    slack, policy
        How the input is put in order where the query has no DRATIO: a fixed buffer time, or a
        policy or its name; by default that of `Reorder`.
    scope
        As in `Reorder`.
    max_future_skew, max_delay
        As in `Reorder`.

    Examples
    --------
    >>> rows = pa.record_batch({"time": [0, 2, 1, 9], "x": [1, 10, 100, 1000]})
    >>> query = SelectQuery("SELECT time, SUM(x) AS total FROM s [RANGE 2 seconds] WHERE x < 500",
    ...                     rows.schema, Roles("time", unit="s"), slack="3s")
    >>> logic = query.start()
    >>> logic.push(rows).ready.to_pylist() + logic.finish().ready.to_pylist()
    [{'time': 0, 'total': 1}, {'time': 1, 'total': 101}, {'time': 2, 'total': 110}]
    """

    text: str
    schema: pa.Schema
    roles: Roles = field(default_factory=Roles)
    slack: Duration | None = None
    policy: Policy | str | None = None
    scope: str | tuple[str, ...] | None = None
    max_future_skew: Duration = "5 minutes"
    max_delay: Duration | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", laid_out_schema(self.schema))
        self.roles.check(self.schema.names, step="query")
        given = [name for name, value in (("DRATIO", self.tree.dratio), ("slack", self.slack),
                                          ("policy", self.policy)) if value is not None]
        if len(given) > 1:
            raise ConfigError(f"the order is asked for twice: {' and '.join(given)}", step="query",
                              hint="leave one out")
        self.chain  # noqa: B018  (mistakes are to be told now, not on an executor)

    def _repr_html_(self) -> str:
        from slackwater.query.explain import explained_html

        return explained_html(self.text, slack=self.slack, policy=self.policy)

    @cached_property
    def tree(self) -> Select:
        """The query, parsed."""
        return parse_select(self.text)

    @cached_property
    def plan(self) -> Plan:
        """The query, planned."""
        return plan_select(self.tree, self.schema, self.roles)

    @cached_property
    def chain(self) -> Windowed:
        """The kernels that it becomes."""
        window = self.plan.window
        old = self.roles
        roles = Roles(old.time, old.arrival, old.source, old.sequence,
                      key=old.key or window.group, unit=old.unit)
        policy = self._policy()
        scope = None if self.scope is None else column_names(self.scope)
        if isinstance(policy, DropRatio) and scope is None:
            scope = ()
        return Windowed(Reorder(policy, roles, scope, self.max_future_skew, self.max_delay), window)

    def _policy(self) -> Policy:
        if self.tree.dratio is not None:
            return DropRatio(self.tree.dratio)
        return policy_for(self.slack, self.policy, self.roles.source)

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of the results."""
        return pa.schema([pa.field(n, c.type) for n, c in self.plan.outputs.items()])

    def start(self, store: Store | None = None) -> SelectLogic:
        """Begin with nothing held."""
        return SelectLogic(self, self.chain.start(store))

    def restore(self, snapshot: bytes, store: Store | None = None) -> SelectLogic:
        """Resume where `snapshot` was taken."""
        return SelectLogic(self, self.chain.restore(snapshot, store))

    def __reduce__(self) -> tuple[Any, ...]:
        # the plan is made again where it arrives: it holds functions, which do not travel
        return (SelectQuery, (self.text, self.schema, self.roles, self.slack, self.policy,
                              self.scope, self.max_future_skew, self.max_delay))


class SelectLogic:
    """A running `SelectQuery`."""

    def __init__(self, config: SelectQuery, chain: ChainLogic) -> None:
        self._config, self._chain = config, chain

    def push(self, batch: pa.RecordBatch) -> Out:
        """Take events, in arrival order."""
        plan, schema = self._config.plan, self._config.schema
        batch = laid_out(batch)
        if batch.schema.names != schema.names or batch.schema.types != schema.types:
            raise ConfigError("the columns are not those of the query", step="query",
                              expected=schema, got=batch.schema)

        def columns(name: Name) -> pa.Array:
            return batch.column(name.name)

        if plan.where is not None:
            keep = plan.where.evaluate(columns, batch.num_rows)
            before, batch = batch.num_rows, batch.filter(keep)  # NULL is not true
            self._chain.leave_out(before - batch.num_rows)
        if plan.arguments:
            more = [c.evaluate(columns, batch.num_rows) for c in plan.arguments.values()]
            names = [*batch.schema.names, *plan.arguments]
            batch = pa.RecordBatch.from_arrays([*batch.columns, *more], names)
        return self._selected(self._chain.push(batch))

    def tick(self, now: int) -> Out:
        """Let time pass without an event."""
        return self._selected(self._chain.tick(now))

    def punctuate(self, time: int, *, source: str | None = None,
                  key: Mapping[str, Any] | None = None) -> Out:
        """Nothing with a time before `time` comes any more (see `StageLogic.punctuate`)."""
        return self._selected(self._chain.punctuate(time, source=source, key=key))

    def finish(self) -> Out:
        """End of input: let everything go."""
        return self._selected(self._chain.finish())

    def snapshot(self) -> bytes:
        """Write the state (see `Logic.snapshot`)."""
        return self._chain.snapshot()

    def lead(self, promise: int | None, *, shared: bool) -> None:
        """Other stages follow (see `slackwater.core.keyed`)."""
        self._chain.lead(promise, shared=shared)

    def trust(self) -> None:
        """Rows come in order from a stage that has judged their clock."""
        self._chain.trust()

    def watermark(self, upto: int = FOREVER) -> int:
        """No window that ends earlier will be emitted."""
        return self._chain.watermark(upto)

    def _selected(self, out: Out) -> Out:
        plan, results = self._config.plan, out.ready
        schema = self._config.result_schema
        if results.num_columns == 0:
            ready = empty_rows(schema)
        else:
            if plan.having is not None:
                results = results.filter(plan.having.evaluate(self._reader(results),
                                                              results.num_rows))
            columns = self._reader(results)
            ready = pa.RecordBatch.from_arrays(
                [c.evaluate(columns, results.num_rows) for c in plan.outputs.values()],
                schema=schema)
        return Out(ready, self._input(out.late), self._input(out.quarantined), out.notes)

    def _reader(self, results: pa.RecordBatch) -> Columns:
        def column(name: Name) -> pa.Array:
            if name.name in results.schema.names:
                return results.column(name.name)
            # a window of one row ends at its time, and has no columns of its own
            roles, span = self._config.roles, self._config.tree.range
            ends, _ = event_times(results.column(roles.time), unit=roles.unit, name=roles.time)
            back = int(span or 0) if name.name == "window_start" else 0
            return pa.array(ends - back, pa.int64()).cast(pa.timestamp("us", "UTC"))

        return column

    def _input(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        hidden = [n for n in rows.schema.names if n not in self._config.plan.arguments]
        return rows.select(hidden)


def quality(notes: Any) -> dict[str, Any]:
    """What a run's last notes say about its results, for people and machines.

    Examples
    --------
    >>> quality({"rows": 4, "late": 1, "quarantined": 0, "late_share": 0.25, "bound": None,
    ...          "delay": 2e6, "filtered": 0})["delay_ms"]
    2000.0
    """
    delay = notes.get("delay")
    return {
        "rows": notes["rows"], "filtered": notes["filtered"], "late": notes["late"],
        "quarantined": notes["quarantined"], "late_share": round(float(notes["late_share"]), 9),
        "bound": notes["bound"],
        "delay_ms": None if delay is None or np.isnan(delay) else round(float(delay) / 1000, 3),
    }
