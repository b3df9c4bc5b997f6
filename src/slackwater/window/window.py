"""The window kernel: rows in time order per group in, aggregates out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from slackwater.core.durations import Duration, format_duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.kernel import Store
from slackwater.core.names import column_names
from slackwater.core.stage import Stage
from slackwater.core.times import FIRST_TIME, LAST_TIME
from slackwater.window.aggregate import Aggregate
from slackwater.window.logic import WindowLogic

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

    With `session` instead of `range` every group gets one result for each of its sessions: rows of
    which each follows the one before it by at most `session`.  It ends `session` after its last
    row; a row exactly at its end still belongs to it, as in Spark and Flink.  What is kept is one
    partial aggregate per group, as above.

    A row that comes behind its group's time is `late`.

    Parameters
    ----------
    aggregates
        What to compute.
    range
        Length of the window; None with `session`.
    slide
        From one window's start to the next; equal to `range` for tumbling windows.
    group
        Columns whose values make a group; one may be given as text.
    roles
        Which column is the time.
    session
        How long a group must be silent for its session to end.

    Examples
    --------
    >>> rows = pa.record_batch({"time": [1, 2, 2, 5], "value": [4.0, 1.0, 7.0, 2.0]})
    >>> window = Window((Aggregate("max", "value"), Aggregate("count")), range="2s",
    ...                 roles=Roles("time", unit="s"))
    >>> logic = window.start()
    >>> first, rest = logic.push(rows).ready, logic.finish().ready
    >>> [(r["time"], r["max_value"], r["count"]) for r in first.to_pylist() + rest.to_pylist()]
    [(1, 4.0, 1), (2, 7.0, 3), (2, 7.0, 3), (5, 2.0, 1)]
    >>> logic = Window([Aggregate("sum", "value")], session="2s", roles=Roles("time", unit="s")
    ...                ).start()
    >>> [(r["window_start"].second, r["window_end"].second, r["sum_value"])
    ...  for out in (logic.push(rows), logic.finish()) for r in out.ready.to_pylist()]
    [(1, 4, 12.0), (5, 7, 2.0)]

    References
    ----------
    Kim, Kim, Kim: Adaptive Disorder Control in Data Stream Processing. Computing and Informatics
    31, 2012 (windows per tuple).  Arasu, Babu, Widom: The CQL Continuous Query Language. VLDB J.
    2006.
    """

    aggregates: Sequence[Aggregate]
    range: Duration | None = None
    slide: Duration | None = None
    group: tuple[str, ...] = ()
    roles: Roles = field(default_factory=Roles)
    session: Duration | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "aggregates", tuple(self.aggregates))
        object.__setattr__(self, "group", column_names(self.group))
        for name in ("range", "slide", "session"):
            length = getattr(self, name)
            if length is not None:
                object.__setattr__(self, name, micros(length, name=f"window.{name}", least=1))
        _check_kind(self.range, self.slide, self.session)
        if not self.per_row:
            _check_lengths(self.range or self.session, self.slide)  # type: ignore[arg-type]
        _refuse_twice([a.name for a in self.aggregates], "aggregates are called")
        _refuse_twice(self.group, "group columns are")
        _refuse_clash(self._added(), () if self.per_row else self.group)

    @property
    def per_row(self) -> bool:
        """Whether a result is of one row, and not of a group and a window."""
        return self.slide is None and self.session is None

    def _added(self) -> list[str]:
        """The columns of `ready` that are not of the input."""
        names = [a.name for a in self.aggregates]
        return names if self.per_row else ["window_start", "window_end", *names]

    def result_schema(self, schema: pa.Schema) -> pa.Schema:
        """The columns of `ready` for input of this schema."""
        found = [pa.field(a.name, a.result_type(schema)) for a in self.aggregates]
        if self.per_row:
            _refuse_clash(self._added(), schema.names)
            return pa.schema([*schema, *found])
        return pa.schema([pa.field("window_start", _STAMP), pa.field("window_end", _STAMP),
                          *(schema.field(name) for name in self.group), *found])

    def logic(self, store: Store) -> WindowLogic:
        """A logic with empty windows."""
        return WindowLogic(self, store)


def _check_kind(span: Duration | None, slide: Duration | None, session: Duration | None) -> None:
    if session is not None and (span is not None or slide is not None):
        raise ConfigError("a session is as long as its rows make it", step="window",
                          got="session and " + ("range" if span is not None else "slide"),
                          hint="leave one of them out")
    if session is None and span is None:
        raise ConfigError("needs the length of its windows", step="window",
                          expected="range, or session")


def _check_lengths(span: int, slide: int | None) -> None:
    if slide is not None and slide > span:
        raise ConfigError(
            "slide cannot be longer than range; rows between windows would be in none",
            step="window", expected=f"at most {format_duration(span)}", got=format_duration(slide))
    longest = LAST_TIME - FIRST_TIME
    if span > longest:
        raise ConfigError("a window is longer than the years 1 to 9999, which windows lie in",
                          step="window", expected=f"at most {format_duration(longest)}",
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
