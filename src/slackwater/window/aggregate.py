"""What a window is asked for: an aggregate function, over a column, under a name."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from slackwater.core.errors import ConfigError, UnknownColumn, did_you_mean

__all__ = ["FUNCTIONS", "Aggregate"]

FUNCTIONS = ("count", "sum", "avg", "min", "max", "stddev", "first", "last", "median", "quantile",
             "count_distinct")
"""Every aggregate function."""

_ANY_TYPE = ("count",)
_ORDERED = ("min", "max", "first", "last")


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a window's rows.

    NULL (and NaN, which is not a number) is left out, as SQL does; of no values COUNT is 0 and all
    others are NULL.  STDDEV is of a sample (n − 1), NULL for one value.  MEDIAN and QUANTILE are
    exact and interpolate between neighbours.  FIRST and LAST go by time, among equal times by
    arrival.  A SUM of whole numbers, unsigned ones too, is an int64, NULL where it does not fit.

    COUNT_DISTINCT is exact, of a column of any type that can be a key.

    With a `slide`, windows keep one partial aggregate for each slide; MEDIAN, QUANTILE and
    COUNT_DISTINCT are the exception: what they keep grows with the number of distinct values.

    Parameters
    ----------
    function
        One of `FUNCTIONS`.
    column
        What it is over; None with ``count``: rows are counted.
    q
        For ``quantile``, between 0 and 1.
    name
        Column of the result; by default made of the others.

    Examples
    --------
    >>> Aggregate("max", "value").name, Aggregate("quantile", "value", q=0.9).name
    ('max_value', 'quantile_value_0.9')
    """

    function: str
    column: str | None = None
    q: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        function = self.function.lower()
        object.__setattr__(self, "function", function)
        if function not in FUNCTIONS:
            raise ConfigError(f"there is no aggregate {self.function!r}", step="window",
                              expected=", ".join(FUNCTIONS),
                              hint=did_you_mean(function, FUNCTIONS))
        if function == "median":
            object.__setattr__(self, "q", 0.5)
        if (function in ("quantile", "median")) != (self.q is not None):
            raise ConfigError(f"{function} " + ("needs q" if self.q is None else "takes no q"),
                              step="window", expected="quantile with 0 ≤ q ≤ 1", got=self.q)
        if self.q is not None and (isinstance(self.q, bool) or not isinstance(self.q, (int, float))
                                   or not 0 <= self.q <= 1):  # which NaN is not
            raise ConfigError("is not a share", step="quantile", expected="0 ≤ q ≤ 1", got=self.q)
        if self.column is None and function != "count":
            raise ConfigError(f"{function} needs a column", step="window",
                              hint="only count is of whole rows")
        if not self.name:
            parts = [function, self.column] + ([str(self.q)] if function == "quantile" else [])
            object.__setattr__(self, "name", "_".join(p for p in parts if p))

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """The Arrow type of the result over rows of this schema."""
        if self.function == "count":
            return pa.int64()
        if self.column not in schema.names:
            raise UnknownColumn(str(self.column), schema.names, role=self.function, step="window")
        if self.function == "count_distinct":
            return pa.int64()
        kind = schema.field(self.column).type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        stamp = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
        if self.function in _ORDERED and (number or stamp or pa.types.is_boolean(kind)):
            return kind
        if self.function == "sum" and pa.types.is_duration(kind):
            return kind
        if not number:
            raise ConfigError(
                f"{self.function} cannot be taken of column {self.column!r}", step="window",
                got=kind, expected="numbers" if self.function not in _ORDERED
                else "numbers, booleans, times or durations")
        if self.function == "sum":
            return pa.int64() if pa.types.is_integer(kind) else pa.float64()
        return pa.float64()
