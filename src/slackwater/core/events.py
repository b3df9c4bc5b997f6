"""Events as columns: which column plays which role, and time as int64 microseconds UTC.

Enters: any Arrow record batch and the user's mapping of roles to its columns.
Leaves: numpy arrays that kernels loop over, and for each row whether it can be used at all.
May import: errors, durations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.core.errors import ConfigError, DataError, UnknownColumn

__all__ = ["NEVER", "RESERVED", "Roles", "Usable", "event_times", "guess_unit", "settle_unit",
           "usable_rows"]

Int64 = NDArray[np.int64]

RESERVED = ("_status", "_reason", "_released")
"""Columns that operators add: what became of the row, why, and when it was let go."""

NEVER = int(np.iinfo(np.int64).min)
"""A moment that nobody knows: the arrival of a row without a readable one."""

_TIMES_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # years 1 and 9999, as datetime


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
        if isinstance(self.key, str):
            object.__setattr__(self, "key", (self.key,))
        object.__setattr__(self, "key", tuple(self.key))
        if self.unit is not None and self.unit not in _TIMES_PER_SECOND:
            raise ConfigError("is not a unit of integer times", step="unit",
                              expected="s, ms, us or ns", got=repr(self.unit))

    def check(self, columns: list[str], *, step: str) -> None:
        """Raise if a mapped column is missing, or if the data already has a reserved column."""
        for field in fields(self):
            if field.name in ("unit", "key"):
                continue
            name = getattr(self, field.name)
            if name is not None and name not in columns:
                raise UnknownColumn(name, columns, role=field.name, step=step)
        for name in self.key:
            if name not in columns:
                raise UnknownColumn(name, columns, role="key", step=step)
        taken = [c for c in columns if c in RESERVED]
        if taken:
            raise ConfigError(
                f"the input already has {', '.join(taken)}, which an operator adds", step=step,
                hint="split the earlier operator's output with ready(...) or late(...) first",
            )


def guess_unit(values: Int64) -> str | None:
    """Tell the unit of integer times from their size, if they lie between 2001 and 2100.

    Examples
    --------
    >>> guess_unit(np.array([1415624019862]))
    'ms'
    """
    if len(values) == 0:
        return "us"
    middle = float(np.median(values))
    for unit, per_second in _TIMES_PER_SECOND.items():
        if 1e9 <= middle / per_second < 4.2e9:
            return unit
    return None


def event_times(column: pa.Array, *, unit: str | None,
                name: str) -> tuple[Int64, NDArray[np.bool_]]:
    """Read a column of times as int64 microseconds, with a mask of the rows that can be read."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind):
        return event_times(column.dictionary_decode(), unit=unit, name=name)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        # years beyond 9999 overflow the cast; safe=False wraps them and the range check sees it
        stamp = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
        values, readable = _to_numpy(stamp.cast(pa.int64()))
        return values, readable & _inside(values)
    if pa.types.is_integer(kind):
        values, readable = _to_numpy(column.cast(pa.int64(), safe=False))
        return _scale(values, readable, _declared(unit, name))
    if pa.types.is_floating(kind):
        numbers = column.to_numpy(zero_copy_only=False).astype(np.float64)
        readable = np.isfinite(numbers)
        whole = np.where(readable, numbers, 0.0)
        micro = whole * (1e6 / _TIMES_PER_SECOND[_declared(unit, name)])
        inside = (micro >= _FIRST) & (micro <= _LAST)
        return np.where(inside, micro, 0.0).round().astype(np.int64), readable & inside
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _parse_text(column, unit)
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64), np.zeros(len(column), bool)
    raise DataError(
        f"column {name!r} cannot be read as a time", step="time",
        expected="a timestamp, ISO text, or integers with a unit", got=str(kind),
    )


def _to_numpy(column: pa.Array) -> tuple[Int64, NDArray[np.bool_]]:
    readable = (np.ones(len(column), bool) if column.null_count == 0
                else np.asarray(column.is_valid().to_numpy(zero_copy_only=False)))
    filled = column if column.null_count == 0 else pc.fill_null(column, 0)
    # a copy: Arrow's memory is read-only, and numba would compile every loop once more for that
    return np.array(filled.to_numpy(zero_copy_only=False)), readable


def settle_unit(values: Int64, declared: str | None, *, name: str) -> str:
    """Decide the unit of a whole column of integer times: for readers, which see all of it.

    Kernels do not guess: what one batch looks like must not decide how the next is read.
    """
    guessed = guess_unit(values)
    if declared is None:
        if guessed is None:
            raise DataError(
                f"the unit of the integers in column {name!r} is not clear", step="time",
                expected="epoch times between 2001 and 2100, or a declared unit",
                got=f"values around {int(np.median(values))}", hint='say unit="ms" (or s, us, ns)',
            )
        return guessed
    if guessed is not None and guessed != declared and len(values):
        raise DataError(
            f"column {name!r} is declared in {declared!r} but its values look like {guessed!r}",
            step="time", got=f"values around {int(np.median(values))}",
            hint=f'say unit="{guessed}"',
        )
    return declared


def _declared(unit: str | None, name: str) -> str:
    if unit is None:
        raise ConfigError(f"column {name!r} holds numbers, and their unit is not declared",
                          step="time", expected='unit="s", "ms", "us" or "ns"')
    return unit


def _inside(values: Int64) -> NDArray[np.bool_]:
    if len(values) == 0 or (values.min() >= _FIRST and values.max() <= _LAST):
        return np.ones(len(values), bool)  # nearly always, and told at a fraction of the cost
    return (values >= _FIRST) & (values <= _LAST)


def _scale(values: Int64, readable: NDArray[np.bool_],
           unit: str) -> tuple[Int64, NDArray[np.bool_]]:
    per_second = _TIMES_PER_SECOND[unit]
    if per_second > 10**6:
        return values // (per_second // 10**6), readable
    factor = 10**6 // per_second
    inside = (values >= _FIRST // factor) & (values <= _LAST // factor)
    return np.where(inside, values, 0) * factor, readable & inside


def _parse_text(column: pa.Array, unit: str | None) -> tuple[Int64, NDArray[np.bool_]]:
    if unit is not None:
        # one bad cell makes a whole CSV column text: with a unit, the others are still numbers
        number = _whole_number(column)
        if number.any():
            digits = pc.if_else(pa.array(number), column, None).cast(pa.int64())
            scaled, inside = _scale(*_to_numpy(digits), unit)
            text, readable = _parse_text(pc.if_else(pa.array(number), None, column), None)
            return np.where(number, scaled, text), np.where(number, inside, readable)
    try:
        values, readable = _to_numpy(column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
        return values, readable & _inside(values)
    except pa.ArrowInvalid:
        pass
    # Mixed zones, basic offsets (+0100) or rubbish: slower, but row by row. No zone means UTC.
    import pandas as pd

    stamps = pd.to_datetime(pd.Series(column.to_pylist(), dtype=object), errors="coerce", utc=True,
                            format="ISO8601")
    readable = stamps.notna().to_numpy()
    micro = stamps.dt.as_unit("us").astype("int64").to_numpy()
    return np.where(readable, micro, 0), readable


def _whole_number(column: pa.Array) -> NDArray[np.bool_]:
    found = pc.fill_null(pc.match_substring_regex(column, r"^-?[0-9]{1,18}$"), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), bool)


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
