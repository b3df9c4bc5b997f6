"""Queries over two streams, planned and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from slackwater.core.errors import did_you_mean
from slackwater.core.events import Roles
from slackwater.correlate import correlate_tables
from slackwater.correlate.tables import INTERVAL
from slackwater.query.correlate.names import PAIR
from slackwater.query.correlate.parse import parse_correlate
from slackwater.query.correlate.plan import CorrelatePlan, plan_correlate
from slackwater.query.errors import QueryError

__all__ = ["correlate_query", "run_correlate_query"]


def correlate_query(text: str, left: pa.Schema, right: pa.Schema) -> CorrelatePlan:
    """Plan ``SELECT … FROM A a, B b WHERE |@a − @b| <= 5 seconds CONFIDENCE 80% AND …``.

    ``@a`` is the time of a row of the stream a, known as an interval.  The timing condition is
    ``|@a − @b| <= d`` (within), ``@a + d >= @b`` (a deadline: b at most d after a) or
    ``@a + d <= @b`` (a delay: b at least d after a), whichever way round it is written; without
    CONFIDENCE it must hold with 80 %.  WITHIN at the query's end bounds a deadline or a delay: rows
    whose latest times are further apart do not pair.

    Equalities between columns of both streams become keys, conditions on one stream filter its rows
    beforehand, all others filter the pairs.  PROBABILITY is the pair's.

    Examples
    --------
    >>> text = ("SELECT a.id, PROBABILITY FROM Doors a, Lamps b "
    ...         "WHERE @a + 2 seconds >= @b AND a.room = b.place AND b.on WITHIN 1 minute")
    >>> plan = correlate_query(text, pa.schema([("id", pa.int64()), ("room", pa.string())]),
    ...                        pa.schema([("place", pa.string()), ("on", pa.bool_())]))
    >>> plan.options  # doctest: +NORMALIZE_WHITESPACE
    {'deadline': 2000000, 'confidence': 0.8, 'by': (('room', 'place'),), 'horizon': 60000000,
     'probability': True}
    """
    return plan_correlate(parse_correlate(text), left, right)


def run_correlate_query(
    text: str,
    tables: Mapping[str, pa.Table],
    roles: Roles | tuple[Roles, Roles] = INTERVAL,
    **more: Any,
) -> pa.Table:
    """Run a query over two tables, which its FROM names.

    Parameters
    ----------
    text
        The query (see `correlate_query`).
    tables
        The tables by name, their rows in any order.
    roles
        Which columns are `time_min` and `time_max` (or `time` for points), for both or each side.
    more
        Further arguments of `correlate_tables`, as `distribution` or `threads`.

    Returns
    -------
    pyarrow.Table
        The selected columns, by the left row's latest time.

    Examples
    --------
    >>> doors = pa.table({"door": ["front"], "time_min": [0], "time_max": [40]})
    >>> lamps = pa.table({"lamp": ["hall", "attic"], "time_min": [70, 200], "time_max": [90, 220]})
    >>> run_correlate_query(
    ...     "SELECT door, lamp, PROBABILITY AS p FROM Doors d, Lamps l WHERE |@d − @l| <= 80 ms",
    ...     {"Doors": doors, "Lamps": lamps},
    ...     Roles(time_min="time_min", time_max="time_max", unit="ms")).to_pylist()
    [{'door': 'front', 'lamp': 'hall', 'p': 0.9375}]
    """
    tree = parse_correlate(text)
    sides = []
    for stream in tree.streams:
        if stream.name not in tables:
            raise QueryError(f"there is no table {stream.name!r}", text, stream.at,
                             expected=f"one of {', '.join(tables)}", mistake="unknown-table",
                             hint=did_you_mean(stream.name, list(tables)))
        sides.append(tables[stream.name])
    plan = plan_correlate(tree, sides[0].schema, sides[1].schema)
    # a query may need no column at all, but pairs without one could not be counted
    columns = plan.columns or ["probability"]
    pairs = correlate_tables(plan.keep(sides[0], 0), plan.keep(sides[1], 1), roles=roles,
                             columns=columns, **plan.options, **more)
    return pa.Table.from_batches([plan.results(plan.keep(pairs, PAIR))])
