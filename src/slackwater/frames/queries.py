"""Queries over frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slackwater.core.durations import Duration
from slackwater.core.errors import ConfigError
from slackwater.frames.answer import answered
from slackwater.frames.arrow import arrow_in
from slackwater.frames.roles import roles_of
from slackwater.frames.stages import run_frame
from slackwater.query import compile, parse, query_kind, streams_of
from slackwater.query.correlate.account import counted_pairs
from slackwater.reorder import Policy

__all__ = ["match", "query"]

_STREAM = ("time", "arrival", "source", "sequence")


def query(
    frame: Any, text: str, *, time: str | None = None, arrival: str | None = None,
    source: str | None = None, sequence: str | None = None, type: str | None = None,
    by: str | Sequence[str] = (), unit: str | None = None, slack: Duration | None = None,
    policy: Policy | str | None = None, **options: Any,
) -> Any:
    """Run a query of Slackwater's language over a frame as if it were a stream.

    Parameters
    ----------
    frame
        Anything that speaks Arrow; for a query over two streams a dictionary of two, by the names
        in FROM.
    text
        ``SELECT … FROM name [RANGE …] …``, ``EVENT SEQ(…) …``, or
        ``SELECT … FROM A a, B b WHERE |@a − @b| <= …``.
    time, arrival, source, sequence, type, unit
        Which columns are what; guessed where the names leave no doubt.
    by
        Key columns.
    slack, policy
        How long to wait for late rows: a duration, or a policy; estimated by default.
    options
        Those of `slackwater.query.SelectQuery`, `slackwater.pattern.Match` or
        `slackwater.query.run_correlate_query`.

    Returns
    -------
    object
        The results, of the kind that came in; ``late`` and ``quarantined`` have the rows that took
        no part, ``account`` the counts.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"time": [0, 2, 1, 9], "x": [1, 10, 100, 1000]})
    >>> out = query(rows, "SELECT time, SUM(x) AS total FROM s [RANGE 2 seconds]", unit="s",
    ...             slack="3s")
    >>> out.ready["total"].to_pylist()
    [1, 101, 110, 1000]
    """
    kind = query_kind(text)
    if kind == "correlate":
        return _two(frame, text, time=time, unit=unit, **options)
    if isinstance(frame, Mapping):
        raise ConfigError("the query reads one stream", step="query", expected="one frame",
                          got=f"{len(frame)} by name")
    given = arrow_in(frame, step="query")
    wanted = (*_STREAM, "type") if kind == "event" else _STREAM
    roles = roles_of(given.table, {"time": time, "arrival": arrival, "source": source,
                                   "sequence": sequence, "type": type}, step="query",
                     wanted=wanted, by=by, unit=unit)
    kernel = compile(text, given.table.schema, roles, slack=slack, policy=policy, **options)
    return run_frame(kernel, given, roles)


def match(
    frame: Any, pattern: str, *, time: str | None = None, type: str | None = None,
    arrival: str | None = None, source: str | None = None, sequence: str | None = None,
    by: str | Sequence[str] = (), unit: str | None = None,
    slack: Duration | Policy | None = None, **options: Any,
) -> Any:
    """Find a sequence pattern in a frame, in whatever order its rows arrived.

    Parameters
    ----------
    frame
        Anything that speaks Arrow.
    pattern
        ``EVENT SEQ(…) WHERE … WITHIN … RETURN …``.
    time, type, arrival, source, sequence, unit
        Which columns are what; guessed where the names leave no doubt.
    by
        Key columns, beside those that WHERE equates.
    slack
        How far back in time an event may come: a duration, or a policy that estimates it.
    options
        `emit`, `select`, `timed_out`, `max_matches`, `max_future_skew` (see
        `slackwater.pattern.Match`).

    Returns
    -------
    object
        One row per match, of the kind that came in, with ``late`` and ``quarantined`` rows.
    """
    given = arrow_in(frame, step="match")
    if query_kind(pattern) != "event":
        raise ConfigError("a pattern begins with EVENT", step="match", got=pattern[:40],
                          hint="slackwater.query takes SELECT")
    roles = roles_of(given.table, {"time": time, "arrival": arrival, "source": source,
                                   "sequence": sequence, "type": type}, step="match",
                     wanted=(*_STREAM, "type"), by=by, unit=unit)
    kernel = compile(pattern, given.table.schema, roles, slack=slack, **options)
    return run_frame(kernel, given, roles)


def _two(frames: Any, text: str, *, time: str | None, unit: str | None, **options: Any) -> Any:
    streams = streams_of(parse(text))
    if not isinstance(frames, Mapping) or not set(streams) <= set(frames):
        raise ConfigError("the query reads two streams", step="query",
                          expected="{" + ", ".join(f'"{name}": frame' for name in streams) + "}")
    sides = {name: arrow_in(frames[name], step="query") for name in streams}
    roles = []
    for side in sides.values():
        points = time is not None or "time_min" not in side.table.column_names
        roles.append(roles_of(side.table, {"time": time}, step="query", unit=unit,
                              wanted=("time",) if points else ("time_min", "time_max")))
    found, unusable, account = counted_pairs(
        text, [side.table for side in sides.values()], (roles[0], roles[1]), **options)
    return answered(sides[streams[0]].give_back, found, unusable.slice(0, 0), unusable, account)
