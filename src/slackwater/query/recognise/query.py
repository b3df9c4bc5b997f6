"""A MATCH_RECOGNIZE query as a kernel: put in order, then search."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from slackwater.core.durations import Duration
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.kernel import Store
from slackwater.core.names import column_names
from slackwater.core.stage import Stage
from slackwater.query.errors import QueryError
from slackwater.query.recognise.plan import Plan
from slackwater.query.recognise.stage import Recognise, RecogniseLogic
from slackwater.reorder import Policy, Reorder
from slackwater.reorder.chain import ChainLogic
from slackwater.reorder.policies.named import policy_for

__all__ = ["RecogniseQuery", "Recognised"]


@dataclass(frozen=True)
class Recognised(Stage):
    """Reorder, then recognise, as one kernel (as `slackwater.window.Windowed` is for windows)."""

    reorder: Reorder
    recognise: Recognise

    def logic(self, store: Store) -> ChainLogic:
        """A logic with nothing held."""
        return ChainLogic("recognised", self.reorder, RecogniseLogic(self.recognise, store), store)


@dataclass(frozen=True)
class RecogniseQuery:
    """Run a MATCH_RECOGNIZE query over a disordered stream.

    `ready` has the selected columns; `late` and `quarantined` have input rows with all their
    columns.  `notes` say how good the results are (see `slackwater.reorder.chain.ChainLogic`).

    Rows are put in order per partition (or per ``roles.key``, whose columns must be in PARTITION
    BY).  A match leaves as soon as no row that may still come could change it.

    Parameters
    ----------
    text
        The query; the first column of its ORDER BY is the time.
    schema
        The columns of the input.
    roles
        Which columns are arrival, source…
    slack, policy
        How long late rows are waited for: a fixed time, or a policy or its name; by default that of
        `Reorder`.
    scope, max_future_skew, max_delay
        As in `Reorder`.
    max_steps
        As in `Recognise`.

    Examples
    --------
    >>> rows = pa.record_batch({"t": [1, 3, 2, 4, 5], "price": [9, 5, 7, 6, 8]})
    >>> query = RecogniseQuery('''
    ...     SELECT * FROM prices MATCH_RECOGNIZE (
    ...         ORDER BY t MEASURES FIRST(down.price) AS top, LAST(down.price) AS bottom
    ...         PATTERN (down down+ up) DEFINE up AS up.price > PREV(up.price))''',
    ...     rows.schema, Roles("t", unit="s"), slack="2s")
    >>> logic = query.start()
    >>> logic.push(rows).ready.to_pylist() + logic.finish().ready.to_pylist()
    [{'top': 9, 'bottom': 6}]
    """

    text: str
    schema: pa.Schema
    roles: Roles = field(default_factory=Roles)
    slack: Duration | None = None
    policy: Policy | str | None = None
    scope: str | tuple[str, ...] | None = None
    max_future_skew: Duration = "5 minutes"
    max_delay: Duration | None = None
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        if self.slack is not None and self.policy is not None:
            raise ConfigError("the order is asked for twice: slack and policy", step="query",
                              hint="leave one out")
        self.chain.reorder.roles.check(self.schema.names, step="query")

    def _repr_html_(self) -> str:
        from slackwater.query.explain import explained_html

        return explained_html(self.text, slack=self.slack, policy=self.policy)

    @cached_property
    def plan(self) -> Plan:
        """The query, planned."""
        return self.chain.recognise.plan

    @cached_property
    def chain(self) -> Recognised:
        """The kernels that it becomes."""
        old = self.roles
        recognise = Recognise(self.text, self.schema, old.unit, self.max_steps)
        plan = recognise.plan
        if old.time not in (plan.time, "time"):
            raise QueryError(f"the time is in {old.time!r}, and ORDER BY begins with another "
                             "column", self.text, plan.tree.order[0].at, mistake="other-time",
                             hint=f"ORDER BY {old.time}, or say time={plan.time!r}")
        strangers = [k for k in old.key if k not in plan.partition]
        if strangers:
            raise ConfigError(
                f"rows are put in order per {', '.join(strangers)}, but are not partitioned by it",
                step="query", expected=f"columns of PARTITION BY: {', '.join(plan.partition)}",
                hint="add it to PARTITION BY, or take it out of the key")
        roles = Roles(plan.time, old.arrival, old.source, old.sequence,
                      key=old.key or plan.partition, unit=old.unit)
        scope = None if self.scope is None else column_names(self.scope)
        policy = policy_for(self.slack, self.policy, old.source)
        return Recognised(Reorder(policy, roles, scope, self.max_future_skew, self.max_delay),
                          recognise)

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of the results."""
        return pa.schema([pa.field(n, c.type) for n, c in self.plan.outputs.items()])

    def start(self, store: Store | None = None) -> Any:
        """Begin with nothing held."""
        return self.chain.start(store)

    def restore(self, snapshot: bytes, store: Store | None = None) -> Any:
        """Resume where `snapshot` was taken."""
        return self.chain.restore(snapshot, store)

    def __reduce__(self) -> tuple[Any, ...]:
        # the plan is made again where it arrives: it holds functions, which do not travel
        return (RecogniseQuery, (self.text, self.schema, self.roles, self.slack, self.policy,
                                 self.scope, self.max_future_skew, self.max_delay, self.max_steps))
