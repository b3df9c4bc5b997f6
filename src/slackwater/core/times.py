"""Times: any column of them as int64 microseconds UTC, each cell read by itself.

What cannot be read, and what lies outside the years 1 to 9999, is marked as unreadable: no value
wraps around into another one that looks like a time.

Enters: an Arrow column and, for numbers, their unit.
Leaves: microseconds (0 where unreadable), and which rows can be read.
May import: errors, text_times.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError, DataError

__all__ = ["FIRST_TIME", "FOREVER", "LAST_TIME", "NEVER", "TIMES_PER_SECOND", "event_times",
           "guess_unit", "settle_unit"]

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEVER = int(np.iinfo(np.int64).min)
"""A moment that nobody knows: the arrival of a row without a readable one."""

FOREVER = int(np.iinfo(np.int64).max)
"""Later than every moment."""

FIRST_TIME, LAST_TIME = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first microsecond of the year 1, and the last one of the year 9999, as in `datetime`."""

TIMES_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""The units of numeric times."""

_DAY = 86_400 * 10**6


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
    for unit, per_second in TIMES_PER_SECOND.items():
        if 1e9 <= middle / per_second < 4.2e9:
            return unit
    return None


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


def event_times(column: pa.Array, *, unit: str | None, name: str) -> tuple[Int64, Bools]:
    """Read a column of times as int64 microseconds, with a mask of the rows that can be read.

    Examples
    --------
    >>> times, readable = event_times(pa.array([0, 2**62]), unit="s", name="time")
    >>> times.tolist(), readable.tolist()
    ([0, 0], [True, False])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind):
        return event_times(column.dictionary_decode(), unit=unit, name=name)
    if pa.types.is_timestamp(kind):
        return _scaled(*_to_numpy(column.cast(pa.int64())), TIMES_PER_SECOND[kind.unit])
    if pa.types.is_date32(kind):
        days, readable = _to_numpy(column.cast(pa.int32()).cast(pa.int64()))
        return _inside(days, readable, _DAY)
    if pa.types.is_date64(kind):
        return _scaled(*_to_numpy(column.cast(pa.int64())), TIMES_PER_SECOND["ms"])
    if pa.types.is_integer(kind):
        return _scaled(*_to_numpy(column), TIMES_PER_SECOND[_declared(unit, name)])
    if pa.types.is_floating(kind):
        return _rounded(column, TIMES_PER_SECOND[_declared(unit, name)])
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        from slackwater.core.text_times import parse_times  # compiled: only where it is needed

        return _inside(*parse_times(column, None if unit is None else TIMES_PER_SECOND[unit]), 1)
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64), np.zeros(len(column), bool)
    raise DataError(
        f"column {name!r} cannot be read as a time", step="time",
        expected="a timestamp, ISO text, or integers with a unit", got=str(kind),
    )


def _to_numpy(column: pa.Array) -> tuple[NDArray[np.integer], Bools]:
    readable = (np.ones(len(column), bool) if column.null_count == 0
                else np.array(column.is_valid().to_numpy(zero_copy_only=False)))
    filled = column if column.null_count == 0 else pc.fill_null(column, 0)
    # a copy: Arrow's memory is read-only, and numba would compile every loop once more for that
    return np.array(filled.to_numpy(zero_copy_only=False)), readable


def _declared(unit: str | None, name: str) -> str:
    if unit is None:
        raise ConfigError(f"column {name!r} holds numbers, and their unit is not declared",
                          step="time", expected='unit="s", "ms", "us" or "ns"')
    return unit


def _scaled(values: NDArray[np.integer], readable: Bools, per_second: int) -> tuple[Int64, Bools]:
    """Whole numbers of any width as microseconds; what is finer is rounded down."""
    if values.dtype != np.uint64:
        values = values.astype(np.int64, copy=False)
    if per_second > 10**6:
        values = values // values.dtype.type(per_second // 10**6)
        per_second = 10**6
    return _inside(values, readable, 10**6 // per_second)


def _inside(values: NDArray[np.integer], readable: Bools, factor: int) -> tuple[Int64, Bools]:
    """Multiply by `factor` what stays within the years 1 to 9999; the rest is unreadable."""
    first, last = -(-FIRST_TIME // factor), LAST_TIME // factor
    inside = None  # None: all of them, which is nearly always so and cheaper to find out
    if len(values) and not (int(values.min()) >= first and int(values.max()) <= last):
        limits = np.iinfo(values.dtype)
        inside = ((values >= values.dtype.type(max(first, limits.min)))
                  & (values <= values.dtype.type(min(last, limits.max))))
        readable = readable & inside
    if not readable.all():
        values = np.where(readable, values, values.dtype.type(0))
    micros = values.astype(np.int64, copy=False)
    return (micros if factor == 1 else micros * factor), readable


def _rounded(column: pa.Array, per_second: int) -> tuple[Int64, Bools]:
    """Floats as microseconds; NaN and infinities are unreadable."""
    numbers = column.to_numpy(zero_copy_only=False).astype(np.float64)
    with np.errstate(over="ignore"):
        micros = np.round(np.where(np.isfinite(numbers), numbers, np.nan) * (1e6 / per_second))
    # LAST_TIME itself is no float: the next one above it is the year 10000
    readable = (micros >= FIRST_TIME) & (micros < LAST_TIME + 1)
    return np.where(readable, micros, 0.0).astype(np.int64), readable
