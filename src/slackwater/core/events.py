"""Events as columns: which column plays which role, and time as int64 microseconds UTC.

Enters: any Arrow record batch and the user's mapping of roles to its columns.
Leaves: numpy arrays that kernels loop over, and for each row whether it can be used at all.
May import: errors, durations, names, times.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.core.errors import ConfigError, UnknownColumn
from slackwater.core.names import RESERVED, check_reserved, column_names
from slackwater.core.times import (
    FOREVER,
    NEVER,
    TIMES_PER_SECOND,
    event_times,
    guess_unit,
    settle_unit,
)

__all__ = ["FOREVER", "NEVER", "RESERVED", "Roles", "Usable", "event_times", "guess_unit",
           "settle_unit", "usable_rows"]

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Roles:
    """Which column plays which role (SPEC section 0).

    Parameters
    ----------
    time
        When it happened.
    arrival
        When the system received it. Without it, the clock is the greatest `time` seen so far.
    source, sequence
        Which producer, and that producer's own running number.
    type, time_min, time_max
        For patterns and for uncertain time.
    key
        Partition columns: each combination of values is a stream of its own.
    unit
        Unit of integer times: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.
    """

    time: str = "time"
    arrival: str | None = None
    source: str | None = None
    sequence: str | None = None
    type: str | None = None
    time_min: str | None = None
    time_max: str | None = None
    key: tuple[str, ...] = ()
    unit: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", column_names(self.key))
        if self.unit is not None and self.unit not in TIMES_PER_SECOND:
            raise ConfigError("is not a unit of integer times", step="unit",
                              expected="s, ms, us or ns", got=repr(self.unit))

    def check(self, columns: list[str], *, step: str) -> None:
        """Raise if a mapped column is missing, or if a column has a name that is ours."""
        for field in fields(self):
            if field.name in ("unit", "key"):
                continue
            name = getattr(self, field.name)
            if name is not None and name not in columns:
                raise UnknownColumn(name, columns, role=field.name, step=step)
        for name in self.key:
            if name not in columns:
                raise UnknownColumn(name, columns, role="key", step=step)
        check_reserved(columns, step=step)


@dataclass(frozen=True)
class Usable:
    """The outcome of `usable_rows`: times, arrivals, and a reason for each row that is no use.

    Where all are good there are no reasons at all.  An arrival that cannot be read is `NEVER`.
    """

    time: Int64
    arrival: Int64
    good: NDArray[np.bool_]
    reason: NDArray[np.object_]


def _near(time: Int64, arrival: Int64, ahead: int, behind: int | None) -> bool:
    """Whether no row is further ahead of its arrival, nor further behind it."""
    if len(time) == 0 or time is arrival:
        return True
    delay = arrival - time
    return bool(-delay.min() <= ahead and (behind is None or delay.max() <= behind))


def usable_rows(
    batch: pa.RecordBatch,
    roles: Roles,
    *,
    max_future_skew: int,
    max_delay: int | None = None,
) -> Usable:
    """Read time and arrival and say which rows must be quarantined, and why.

    Without an arrival column the arrival is the time itself, for the kernel to make a clock of.
    """
    time, time_ok = event_times(batch.column(roles.time), unit=roles.unit, name=roles.time)
    if roles.arrival is None:
        arrival, arrival_ok = time, time_ok
    else:
        arrival, arrival_ok = event_times(batch.column(roles.arrival), unit=roles.unit,
                                          name=roles.arrival)
    good = time_ok & arrival_ok
    if good.all() and _near(time, arrival, max_future_skew, max_delay):
        return Usable(time, arrival, good, np.zeros(0, object))
    reason = np.full(len(time), None, object)
    if not good.all():
        empty = np.asarray(batch.column(roles.time).is_null().to_numpy(zero_copy_only=False))
        reason[~arrival_ok] = f"no readable arrival in {roles.arrival!r}"
        reason[~time_ok] = (f"{roles.time!r} is not a time "
                            "(unreadable, or out of range: wrong unit?)")
        reason[empty] = f"no time in {roles.time!r}"
    if roles.arrival is not None:
        ahead = good & (time - arrival > max_future_skew)
        if ahead.any():
            reason[ahead] = f"more than {format_duration(max_future_skew)} ahead of its arrival"
            good = good & ~ahead
        if max_delay is not None:
            stale = good & (arrival - time > max_delay)
            reason[stale] = f"more than {format_duration(max_delay)} older than its arrival"
            good = good & ~stale
    return Usable(time, np.where(arrival_ok, arrival, NEVER), good, reason)
