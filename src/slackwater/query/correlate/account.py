"""A query over two tables, with an account of every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from slackwater.core.account import Account
from slackwater.core.events import Roles
from slackwater.correlate.rows import split_by
from slackwater.correlate.tables import unusable_rows
from slackwater.query.correlate.parse import parse_correlate
from slackwater.query.correlate.tables import correlate_query, run_correlate_query

__all__ = ["CountedPairs", "counted_pairs"]


class CountedPairs(NamedTuple):
    """The results, the rows that no pair can have (with ``_reason``), and the counts."""

    results: pa.Table
    unusable: pa.Table
    account: Account


def counted_pairs(text: str, tables: Sequence[pa.Table], roles: tuple[Roles, Roles],
                  **more: Any) -> CountedPairs:
    """Run a query over two tables, in the order in which its FROM names them.

    Further arguments are those of `slackwater.correlate.correlate_tables`.
    """
    one, two = tables
    plan = correlate_query(text, one.schema, two.schema)
    unusable = pa.concat_tables(
        [unusable_rows(table, role, key) for table, role, key in zip(
            tables, roles, split_by(plan.options.get("by", ())), strict=True)],
        promote_options="permissive")
    notes: dict[str, int] = {}
    names = [stream.name for stream in parse_correlate(text).streams]
    found = run_correlate_query(text, dict(zip(names, tables, strict=True)), roles, notes=notes,
                                **more)
    account = Account(rows=one.num_rows + two.num_rows, results=found.num_rows)
    account.add("unusable", unusable)
    # a row that is unusable counts as that, whether or not WHERE would have left it out
    account.filtered = (account.rows - notes["left"] - notes["right"]
                        - (unusable.num_rows - notes["left_unusable"] - notes["right_unusable"]))
    return CountedPairs(found, unusable, account)
