"""The dedupe stage: what an event's id is, and for how long it is remembered."""

from __future__ import annotations

from dataclasses import dataclass, field

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.kernel import Store
from slackwater.core.stage import Stage
from slackwater.dedupe.logic import DedupeLogic

__all__ = ["Dedupe"]


@dataclass(frozen=True)
class Dedupe(Stage):
    """Let each event pass once (see `slackwater.dedupe`).

    Parameters
    ----------
    roles
        Which columns are time and arrival; the key columns are together the event's id.
    within
        How long an id is remembered on the arrival clock after the last row that had it.
    max_future_skew
        A row stamped further ahead of its arrival is quarantined.

    Examples
    --------
    >>> import pyarrow as pa
    >>> s = 1_700_000_000_000
    >>> batch = pa.record_batch({"time": [s, s, s + 5], "arrival": [s + 50, s + 60, s + 70],
    ...                          "id": ["a", "a", "b"]})
    >>> logic = Dedupe(Roles("time", "arrival", key=("id",), unit="ms")).start()
    >>> out = logic.push(batch)
    >>> out.ready["id"].to_pylist(), out.late["id"].to_pylist()
    (['a', 'b'], ['a'])
    """

    roles: Roles = field(default_factory=lambda: Roles(key=("id",)))
    within: Duration = "10 minutes"
    max_future_skew: Duration = "5 minutes"

    def __post_init__(self) -> None:
        if not self.roles.key:
            raise ConfigError("needs the columns of the id", step="dedupe",
                              expected='by=["id"], or roles with a key')
        for name in ("within", "max_future_skew"):
            object.__setattr__(self, name, micros(getattr(self, name), name=name))
        if not self.within:
            raise ConfigError("an id must be remembered for some time", step="dedupe.within",
                              expected="a duration longer than 0, such as 10 minutes",
                              got=repr(self.within))

    def logic(self, store: Store) -> DedupeLogic:
        """A logic that has seen nothing."""
        return DedupeLogic(self, store)
