"""The window kernel: rows in time order per group in, aggregates out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from slackwater.core.durations import Duration, format_duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.kernel import Store
from slackwater.core.stage import Stage
from slackwater.window.aggregate import Aggregate
from slackwater.window.logic import WindowLogic
from slackwater.window.schedule import EARLIEST, LATEST

__all__ = ["Window"]

_STAMP = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Window(Stage):
    """Aggregates over time windows, per group, of rows that come in time order.

    Without `slide` every row gets one result, over the rows of its group with time in
    (t − range, t].  Rows of equal time are in each other's windows, as in SQL's RANGE: so a row's
    result comes once its group has gone on to a later time (or time has passed, or the input ends),
    and it does not depend on the order in which equal times arrived.

    With `slide` every group gets one result for each window [start, start + range) that has a row
    in it; starts are multiples of `slide` from the epoch, as in Spark's `window`.  What is kept is
    one partial aggregate for each slide of the range and group, however many rows there are; only
    MEDIAN and QUANTILE keep the distinct values of each slide, with their counts.  A row whose
    windows would reach beyond the years 1 to 9999 is `quarantined`.

    A row that comes behind its group's time is `late`.

    Parameters
    ----------
    aggregates
        What to compute.
    range
        Length of the window.
    slide
        From one window's start to the next; equal to `range` for tumbling windows.
    group
        Columns whose values make a group; one may be given as text.
    roles
        Which column is the time.

    Examples
    --------
    >>> rows = pa.record_batch({"time": [1, 2, 2, 5], "value": [4.0, 1.0, 7.0, 2.0]})
    >>> window = Window((Aggregate("max", "value"), Aggregate("count")), range="2s",
    ...                 roles=Roles("time", unit="s"))
    >>> logic = window.start()
    >>> first, rest = logic.push(rows).ready, logic.finish().ready
    >>> [(r["time"], r["max_value"], r["count"]) for r in first.to_pylist() + rest.to_pylist()]
    [(1, 4.0, 1), (2, 7.0, 3), (2, 7.0, 3), (5, 2.0, 1)]

    References
    ----------
    Kim, Kim, Kim: Adaptive Disorder Control in Data Stream Processing. Computing and Informatics
    31, 2012 (windows per tuple).  Arasu, Babu, Widom: The CQL Continuous Query Language. VLDB J.
    2006.
    """

    aggregates: Sequence[Aggregate]
    range: Duration
    slide: Duration | None = None
    group: tuple[str, ...] = ()
    roles: Roles = field(default_factory=Roles)

    def __post_init__(self) -> None:
        object.__setattr__(self, "aggregates", tuple(self.aggregates))
        group = (self.group,) if isinstance(self.group, str) else tuple(self.group)
        object.__setattr__(self, "group", group)
        object.__setattr__(self, "range", micros(self.range, name="window.range", least=1))
        if self.slide is not None:
            object.__setattr__(self, "slide", micros(self.slide, name="window.slide", least=1))
            _check_slide(self.range, self.slide)  # type: ignore[arg-type]
        _refuse_twice([a.name for a in self.aggregates], "aggregates are called")
        _refuse_twice(group, "group columns are")
        _refuse_clash(self._added(), group if self.slide is not None else ())

    def _added(self) -> list[str]:
        """The columns of `ready` that are not of the input."""
        names = [a.name for a in self.aggregates]
        return names if self.slide is None else ["window_start", "window_end", *names]

    def result_schema(self, schema: pa.Schema) -> pa.Schema:
        """The columns of `ready` for input of this schema."""
        found = [pa.field(a.name, a.result_type(schema)) for a in self.aggregates]
        if self.slide is None:
            _refuse_clash(self._added(), schema.names)
            return pa.schema([*schema, *found])
        return pa.schema([pa.field("window_start", _STAMP), pa.field("window_end", _STAMP),
                          *(schema.field(name) for name in self.group), *found])

    def logic(self, store: Store) -> WindowLogic:
        """A logic with empty windows."""
        return WindowLogic(self, store)


def _check_slide(span: int, slide: int) -> None:
    if slide > span:
        raise ConfigError(
            "slide cannot be longer than range; rows between windows would be in none",
            step="window", expected=f"at most {format_duration(span)}", got=format_duration(slide))
    if span > LATEST - EARLIEST:
        raise ConfigError("range is longer than the years 1 to 9999, which windows lie in",
                          step="window", expected=f"at most {format_duration(LATEST - EARLIEST)}",
                          got=format_duration(span))


def _refuse_twice(names: Sequence[str], what: str) -> None:
    twice = sorted({n for n in names if list(names).count(n) > 1})
    if twice:
        raise ConfigError(f"two {what} {', '.join(twice)}", step="window",
                          hint="each name can be there once")


def _refuse_clash(added: Sequence[str], others: Sequence[str]) -> None:
    names = [*others, *added]
    clash = [n for n in added if names.count(n) > 1]
    if clash:
        raise ConfigError(f"the result would have two columns {clash[0]!r}", step="window",
                          expected="names of aggregates and of the window's ends that no other "
                          "column of the result has",
                          hint="rename the input's column, or give the aggregate another name")
