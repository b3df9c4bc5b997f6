"""The reorder stage: what is put in order, by which policy."""

from __future__ import annotations

from dataclasses import dataclass, field

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.kernel import Store
from slackwater.core.names import column_names
from slackwater.core.punctuation import declared
from slackwater.core.stage import Stage
from slackwater.reorder.logic import ReorderLogic
from slackwater.reorder.policies.named import as_policy, default_policy
from slackwater.reorder.policy import Policy

__all__ = ["Reorder"]


@dataclass(frozen=True)
class Reorder(Stage):
    """Put events in time order, waiting as long as a policy says.

    Parameters
    ----------
    policy
        A `Policy`, or the name of one (``"MeanPlusRange"``, or the paper's ``"bsttda"``). None:
        with a source role ``Tide``, else ``MeanPlusRange``.
    roles
        Which columns are time, arrival, key…
    scope
        Key columns whose values share one estimate of the buffer time; None: every key has its own.
        With very many keys, a window of delays per key is more than the events themselves.
    max_future_skew
        A row stamped further ahead of its arrival is quarantined.
    max_delay
        A row stamped further behind its arrival is quarantined; None: no row is too old to be late.
    forget_after
        A key that is silent for longer than this and `max_future_skew` together, on the arrival
        clock, starts afresh with its next row (see `slackwater.core.keyed`); make it longer than
        the longest delay that is not to be lost. The values of a `scope`, and sources, start afresh
        after this time alone. None: all are kept for ever.
    literal
        Let the policy learn from every row, as its paper has it. Otherwise a single row, or a
        single source, with a delay far beyond all others teaches nothing (see
        `slackwater.reorder.belief`).
    sources
        The sources that promise by themselves that nothing before a time comes any more (see
        `punctuate`): rows leave before the policy's time when all of them have. None: whoever
        punctuates speaks for all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> s = 1_700_000_000_000
    >>> batch = pa.record_batch({"time": [s, s + 200, s + 100, s + 900],
    ...                          "arrival": [s + 50, s + 250, s + 260, s + 950]})
    >>> logic = Reorder("Static", Roles("time", "arrival", unit="ms")).start()
    >>> out = logic.push(batch)
    >>> (out.ready.num_rows, out.notes["held"])
    (0, 4)
    >>> [t.as_py() - s for t in logic.finish().ready["time"]]
    [0, 100, 200, 900]
    """

    policy: Policy | str | None = None
    roles: Roles = field(default_factory=Roles)
    scope: tuple[str, ...] | None = None
    max_future_skew: Duration = "5 minutes"
    max_delay: Duration | None = None
    forget_after: Duration | None = "1 day"
    literal: bool = False
    sources: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "policy", default_policy(self.roles.source)
                           if self.policy is None else as_policy(self.policy))
        object.__setattr__(self, "sources", declared(self.sources, "reorder"))
        object.__setattr__(self, "max_future_skew",
                           micros(self.max_future_skew, name="max_future_skew"))
        for name in ("max_delay", "forget_after"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, micros(getattr(self, name), name=name))
        if self.scope is not None:
            scope = column_names(self.scope)
            object.__setattr__(self, "scope", scope)
            strangers = [c for c in scope if c not in self.roles.key]
            if strangers:
                raise ConfigError(
                    f"scope names {', '.join(strangers)}, which is not a key column",
                    step="reorder", expected=f"some of {', '.join(self.roles.key) or '(no keys)'}")

    def logic(self, store: Store) -> ReorderLogic:
        """A logic with nothing held."""
        return ReorderLogic(self, store)
