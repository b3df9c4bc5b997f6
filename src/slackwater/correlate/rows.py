"""Reading intervals from batches, and writing pairs of rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.core.errors import ConfigError, UnknownColumn
from slackwater.core.events import Roles, event_times
from slackwater.core.names import BUCKET, OWNER, check_reserved, column_names

__all__ = ["By", "Intervals", "check_columns", "check_key_types", "pair_columns", "read_intervals",
           "split_by"]

Int64 = NDArray[np.int64]
By = tuple[str | tuple[str, str], ...]


@dataclass(frozen=True)
class Intervals:
    """Earliest and latest times, arrivals, and a reason for each row that is no use."""

    first: Int64
    last: Int64
    arrival: Int64
    good: NDArray[np.bool_]
    faults: list[tuple[str, NDArray[np.bool_]]]

    def reasons(self) -> NDArray[np.object_]:
        """Why each row is no use; None where it is."""
        out = np.full(len(self.good), None, object)
        for text, rows in self.faults:
            out[rows] = text
        return out


def split_by(by: By | str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The key columns of the left and of the right."""
    pairs = [(b, b) if isinstance(b, str) else b for b in column_names(by)]
    return tuple(b[0] for b in pairs), tuple(b[1] for b in pairs)


def check_columns(names: list[str], roles: Roles, key: tuple[str, ...], side: str) -> None:
    """Raise if a column that is needed is missing, or if one has a name that is ours."""
    step = f"correlate ({side})"
    check_reserved(names, step=step, allow=(BUCKET, OWNER))
    ends = ((roles.time_min, "time_min"), (roles.time_max, "time_max"))
    used = ends if roles.time_min or roles.time_max else ((roles.time, "time"),)
    for name, role in (*used, (roles.arrival, "arrival"), *((k, "by") for k in key)):
        if name is not None and name not in names:
            raise UnknownColumn(name, names, role=role, step=step)


def check_key_types(left: pa.Schema, right: pa.Schema, by: By | str) -> None:
    """Raise if the two columns of a key cannot hold equal values.

    The number 1 and the text "1" are not equal, though both are written alike.
    """
    for one, other in zip(*split_by(by), strict=True):
        types = left.field(one).type, right.field(other).type
        if _kind(types[0]) != _kind(types[1]):
            raise ConfigError(
                f"the key {one!r} of the left is {types[0]} and {other!r} of the right is "
                f"{types[1]}: they would never be equal", step="correlate",
                expected="the same kind of value on both sides",
                hint="cast one of them before this step")


def _kind(kind: pa.DataType) -> object:
    """What two types must share for their values to be comparable: widths may differ."""
    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    for name, test in (("whole number", pa.types.is_integer), ("real", pa.types.is_floating),
                       ("text", _is_text), ("date", pa.types.is_date)):
        if test(kind):
            return name
    return kind


def _is_text(kind: pa.DataType) -> bool:
    return (pa.types.is_string(kind) or pa.types.is_large_string(kind)
            or pa.types.is_string_view(kind))


def read_intervals(batch: pa.RecordBatch | pa.Table, roles: Roles, key: tuple[str, ...],
                   shortest: int = 0, longest: int | None = None) -> Intervals:
    """Read the interval columns; a row without both ends, or with them swapped, is no use.

    Without `time_min` and `time_max` the `time` is a point; with one of them only, so is that one.
    Without an arrival column a row arrives at its latest time.
    """
    low = roles.time_min or roles.time_max or roles.time
    high = roles.time_max or roles.time_min or roles.time
    first, first_ok = event_times(batch.column(low), unit=roles.unit, name=low)
    last, last_ok = event_times(batch.column(high), unit=roles.unit, name=high)
    faults: list[tuple[str, NDArray[np.bool_]]] = []  # the last one that holds is the one told
    length = last - first
    if longest is not None:
        faults.append((f"an interval longer than {format_duration(longest)} (see longest)",
                       length > longest))
    if shortest > 0:
        faults.append((f"an interval shorter than {format_duration(shortest)} (see shortest)",
                       length < shortest))
    faults += [(f"{low!r} is after {high!r}", length < 0), (f"no time in {high!r}", ~last_ok),
               (f"no time in {low!r}", ~first_ok)]
    arrival = last
    if roles.arrival is not None:
        arrival, arrival_ok = event_times(batch.column(roles.arrival), unit=roles.unit,
                                          name=roles.arrival)
        faults.append((f"no readable arrival in {roles.arrival!r}", ~arrival_ok))
    for name in key:
        if batch.column(name).null_count:
            # as in SQL, what is not known equals nothing
            empty = np.asarray(batch.column(name).is_null().to_numpy(zero_copy_only=False)
                               if isinstance(batch, pa.RecordBatch)
                               else batch.column(name).is_null().to_numpy())
            faults.append((f"no value in key column {name!r}", empty))
    faults = [fault for fault in faults if fault[1].any()]
    good = np.ones(len(first), bool)
    for _, rows in faults:
        good &= ~rows
    return Intervals(first, last, arrival, good, faults)


def pair_columns(left: list[str], right: list[str]) -> tuple[list[str], list[str]]:
    """The output's column names: a name that both sides have gets ``_left`` and ``_right``.

    Examples
    --------
    >>> pair_columns(["id", "pressure"], ["id", "flow"])
    (['id_left', 'pressure'], ['id_right', 'flow'])
    """
    taken = {"probability", "_reason", "_released"}
    clash = (set(left) & set(right)) | (set(left) & taken) | (set(right) & taken)
    names = ([f"{n}_left" if n in clash else n for n in left],
             [f"{n}_right" if n in clash else n for n in right])
    twice = [n for n, count in Counter([*names[0], *names[1]]).items() if count > 1]
    if twice:
        raise ConfigError(f"two columns of the pairs would be called {twice[0]!r}",
                          step="correlate", hint="rename one of them before this step")
    return names
