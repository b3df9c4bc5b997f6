"""Reorder, synchronise and correlate frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from slackwater.core.account import Account
from slackwater.core.durations import Duration
from slackwater.core.events import Roles
from slackwater.core.table_run import TableRun
from slackwater.correlate.rows import split_by
from slackwater.correlate.tables import correlate_tables, unusable_rows
from slackwater.datasets import in_arrival_order
from slackwater.frames.answer import answered
from slackwater.frames.arrow import ArrowIn, arrow_in
from slackwater.frames.roles import roles_of
from slackwater.reorder import Policy, Reorder
from slackwater.synchronise import method_named

__all__ = ["correlate", "reorder", "run_frame", "synchronise"]

_STREAM = ("time", "arrival", "source", "sequence")
_ADDED = ("_reason", "_released")


def reorder(
    frame: Any, policy: Policy | str | None = None, *, time: str | None = None,
    arrival: str | None = None, source: str | None = None, sequence: str | None = None,
    by: str | Sequence[str] = (), unit: str | None = None, **options: Any,
) -> Any:
    """Put the rows of a frame in time order, as a stream of them would have been.

    Parameters
    ----------
    frame
        Anything that speaks Arrow.
    policy
        How long to wait: a policy or its name, by default `Tide` where there is a source, else
        `MeanPlusRange`.
    time, arrival, source, sequence, unit
        Which columns are what; guessed where the names leave no doubt.
    by
        Key columns: each combination of values is a stream of its own.
    options
        Further ones of `slackwater.reorder.Reorder`: `scope`, `max_future_skew`, `max_delay`, ….

    Returns
    -------
    object
        The rows in order, of the kind that came in; ``late`` and ``quarantined`` have the others,
        with ``_reason``, and ``account`` the counts.

    Examples
    --------
    >>> rows = pa.table({"time": [1, 3, 2, 9], "arrival": [1, 3, 4, 10]})
    >>> out = reorder(rows, "Static(buffer=5s)", unit="s")
    >>> out.ready["time"].to_pylist(), out.late.num_rows
    ([1, 2, 3, 9], 0)
    """
    given = arrow_in(frame, step="reorder")
    roles = roles_of(given.table, {"time": time, "arrival": arrival, "source": source,
                                   "sequence": sequence}, step="reorder", wanted=_STREAM, by=by,
                     unit=unit)
    return run_frame(Reorder(policy, roles, **options), given, roles)


def synchronise(
    frame: Any, *, source: str | None = None, time: str | None = None, arrival: str | None = None,
    by: str | Sequence[str] = (), unit: str | None = None, method: str = "frontier",
    **options: Any,
) -> Any:
    """Bring many sources, each in order in itself, into one order.

    Parameters
    ----------
    frame
        Anything that speaks Arrow.
    source, time, arrival, unit
        Which columns are what; guessed where the names leave no doubt.
    by
        Key columns: each combination of values is synchronised by itself.
    method
        The structure that holds the events (see `slackwater.synchronise`).
    options
        `sources`, `max_delay`, `max_failures`, `blame`, `max_future_skew`.

    Returns
    -------
    object
        As of `reorder`.
    """
    given = arrow_in(frame, step="synchronise")
    roles = roles_of(given.table, {"time": time, "arrival": arrival, "source": source},
                     step="synchronise", wanted=("time", "arrival", "source"), by=by, unit=unit)
    return run_frame(method_named(method)(roles, **options), given, roles)


def run_frame(kernel: Any, given: ArrowIn, roles: Roles) -> Any:
    """A frame through a kernel."""
    run = TableRun(kernel, in_arrival_order(given.table, roles))
    batches = [batch for batch in run.results() if batch.num_columns]
    ready = pa.Table.from_batches(batches) if batches else pa.table({})
    ready = ready.drop_columns([name for name in _ADDED if name in ready.column_names])
    return answered(given.give_back, ready, run.late, run.quarantined, run.account)


def correlate(
    left: Any, right: Any, *, within: Duration | None = None, deadline: Duration | None = None,
    delay: Duration | None = None, confidence: float = 0.8,
    by: Sequence[str | tuple[str, str]] | str = (), time: str | None = None,
    time_min: str | None = None, time_max: str | None = None, unit: str | None = None,
    **options: Any,
) -> Any:
    """Pair the rows of two frames whose times satisfy a condition with some confidence.

    Parameters
    ----------
    left, right
        Anything that speaks Arrow.
    within, deadline, delay
        One of the three: |left − right| ≤ d, left + d ≥ right, left + d ≤ right.
    confidence
        The probability with which it must hold.
    by
        Columns that must be equal: names, or (left name, right name).
    time
        The time, where it is a point; else `time_min` and `time_max` are its ends.
    time_min, time_max, unit
        Which columns are what; guessed where the names leave no doubt.
    options
        Further ones of `slackwater.correlate.correlate_tables`.

    Returns
    -------
    object
        The pairs, of the left's kind; ``quarantined`` has the rows without a usable time or key.

    Examples
    --------
    >>> doors = pa.table({"door": ["front"], "time": [10]})
    >>> lamps = pa.table({"lamp": ["hall", "attic"], "time": [12, 90]})
    >>> correlate(doors, lamps, within="5s", unit="s").ready["lamp"].to_pylist()
    ['hall']
    """
    sides = [arrow_in(frame, step="correlate") for frame in (left, right)]
    wanted = ("time",) if time is not None else ("time_min", "time_max")
    roles = []
    for side in sides:
        ends = {"time": time, "time_min": time_min, "time_max": time_max}
        names = {name.lower() for name in side.table.column_names}
        points = time_min is None and time_max is None and "time_min" not in names
        roles.append(roles_of(side.table, ends, step="correlate", unit=unit,
                              wanted=("time",) if points else wanted))
    pairs = correlate_tables(sides[0].table, sides[1].table, within=within, deadline=deadline,
                             delay=delay, confidence=confidence, by=by,  # type: ignore[arg-type]
                             roles=(roles[0], roles[1]), **options)
    unusable = pa.concat_tables(
        [unusable_rows(side.table, role, key) for side, role, key in zip(
            sides, roles, split_by(by), strict=True)],  # type: ignore[arg-type]
        promote_options="permissive")
    account = Account(rows=sum(side.table.num_rows for side in sides), results=pairs.num_rows)
    account.add("unusable", unusable)
    return answered(sides[0].give_back, pairs, unusable.slice(0, 0), unusable, account)
