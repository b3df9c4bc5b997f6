"""From points to intervals: what is known about a clock, a sampling period or an NTP exchange.

Each helper takes a table or batch with a column of times and returns it with two more columns,
`time_min` and `time_max` (timestamps in UTC).
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError, DataError, UnknownColumn
from slackwater.core.events import event_times

__all__ = ["from_clock_error", "from_ntp", "from_sampling"]

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)
Int64 = NDArray[np.int64]
_STAMP = pa.timestamp("us", "UTC")


def from_clock_error(rows: Rows, error: Duration | str, *, time: str = "time",
                     unit: str | None = None, names: tuple[str, str] = ("time_min", "time_max"),
                     ) -> Rows:
    """Time ± error: a duration for all rows, or the name of a column of errors in milliseconds.

    Examples
    --------
    >>> rows = pa.table({"time": pa.array([1_000_000], pa.timestamp("us", "UTC"))})
    >>> from_clock_error(rows, "250ms").column("time_max")[0].value
    1250000
    """
    at, known = _times(rows, time, unit)
    if isinstance(error, str) and error in rows.column_names:
        half, sure = _milliseconds(rows, error)
        if (half[sure] < 0).any():
            raise DataError(f"column {error!r} has errors below zero", step="from_clock_error",
                            expected="the size of the error, in milliseconds",
                            got=float(half[sure].min()) / 1000)
        known = known & sure
    else:
        half = np.full(len(at), micros(error, name="error"), np.int64)
    return _with(rows, at - half, at + half, known, names)


def from_sampling(rows: Rows, period: Duration, *, stamped: str = "end", time: str = "time",
                  unit: str | None = None, names: tuple[str, str] = ("time_min", "time_max"),
                  ) -> Rows:
    """The event happened at some moment of the sampling period that ends (or starts) at its time.

    Examples
    --------
    >>> rows = pa.table({"time": pa.array([1_000_000], pa.timestamp("us", "UTC"))})
    >>> from_sampling(rows, "200ms").column("time_min")[0].value
    800000
    """
    if stamped not in ("start", "middle", "end"):
        raise ConfigError("is not a place in the period", step="from_sampling.stamped",
                          expected="start, middle or end", got=repr(stamped))
    at, known = _times(rows, time, unit)
    length = micros(period, name="period")
    before = {"start": 0, "middle": length // 2, "end": length}[stamped]
    return _with(rows, at - before, at - before + length, known, names)


def from_ntp(rows: Rows, offset: str, *, delay: str | Duration | None = None, time: str = "time",
             unit: str | None = None, names: tuple[str, str] = ("time_min", "time_max"),
             ) -> Rows:
    """Correct by a measured clock offset; the round trip says how wrong that measurement may be.

    Parameters
    ----------
    rows
        Rows with a column of times on the producer's clock.
    offset
        Column with the producer's clock minus the true time, in milliseconds, as NTP measured it.
    delay
        Round-trip delay of the exchange: a column in milliseconds, or one duration. The offset is
        off by half of it at most. None: the offset is off by its own size at most, that is, the
        time lies between the stamp as it is and the stamp corrected.
    time, unit, names
        The column of times, the unit if it holds integers, and the names of the new columns.

    Examples
    --------
    >>> rows = pa.table({"time": pa.array([1_000_000], pa.timestamp("us", "UTC")),
    ...                  "offset": [30.0]})
    >>> out = from_ntp(rows, "offset", delay="20ms")
    >>> out.column("time_min")[0].value, out.column("time_max")[0].value
    (960000, 980000)
    """
    at, known = _times(rows, time, unit)
    shift, sure = _milliseconds(rows, offset)
    known = known & sure
    true = at - shift
    if delay is None:
        return _with(rows, np.minimum(at, true), np.maximum(at, true), known, names)
    if isinstance(delay, str) and delay in rows.column_names:
        trip, sure = _milliseconds(rows, delay)
        half, known = np.abs(trip) // 2, known & sure
    else:
        half = np.full(len(at), micros(delay, name="delay") // 2, np.int64)
    return _with(rows, true - half, true + half, known, names)


def _column(rows: Rows, name: str, role: str) -> pa.Array:
    if name not in rows.schema.names:
        raise UnknownColumn(name, rows.schema.names, role=role, step="intervals")
    return rows.column(name)


def _times(rows: Rows, name: str, unit: str | None) -> tuple[Int64, NDArray[np.bool_]]:
    return event_times(_column(rows, name, "time"), unit=unit, name=name)


def _milliseconds(rows: Rows, name: str) -> tuple[Int64, NDArray[np.bool_]]:
    column = _column(rows, name, "offset")
    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as why:
        raise DataError(f"column {name!r} is not a number of milliseconds", step="intervals",
                        got=column.type) from why
    sure = np.isfinite(values) & (np.abs(values) < 1e14)
    return np.round(np.where(sure, values, 0.0) * 1000).astype(np.int64), sure


def _with(rows: Rows, first: Int64, last: Int64, known: NDArray[np.bool_],
          names: tuple[str, str]) -> Rows:
    for name, ends in zip(names, (first, last), strict=True):
        if name in rows.schema.names:
            raise ConfigError(f"there is a column {name!r} already", step="intervals",
                              hint="choose others with names=(…, …)")
        column = pa.array(ends, pa.int64(), mask=~known).cast(_STAMP)
        rows = rows.append_column(name, column)
    return rows
