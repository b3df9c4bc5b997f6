"""Rows of partitions, those that were held and those that have come, laid out for the search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.query.recognise.plan import Plan
from slackwater.query.recognise.tree import Order
from slackwater.query.recognise.values import ints_of, ranks, reals_of
from slackwater.query.recognise.walks import by_slot, closed_ends, closing_rows

__all__ = ["Layout", "lay_out"]

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Rows in the order of the query, partition after partition.

    Parameters
    ----------
    order
        Which of the given rows stands where.
    time, n
        Their times and numbers, in that order.
    slot, lo, hi
        The partitions and where their rows stand.
    closed
        Up to where no row can come in between any more: with a column that breaks ties the rows of
        the newest time wait for others of that time.
    known_by
        The number of the row by which each row was known to stand where it stands.
    """

    order: Int64
    time: Int64
    n: Int64
    slot: Int64
    lo: Int64
    hi: Int64
    closed: Int64
    known_by: Int64


def lay_out(plan: Plan, rows: pa.RecordBatch, slot: Int64, time: Int64, n: Int64, last: Int64,
            theta: Int64, ended: bool) -> Layout:
    """Put rows in order; `last` and `theta` say by slot the newest time and what has passed."""
    keys: list[Int64] = [n]
    for tie in reversed(plan.ties):
        keys += _tie_keys(tie, rows)
    if plan.ties or (len(n) > 1 and ((time[1:] < time[:-1]) | (n[1:] < n[:-1])).any()):
        order = np.lexsort((*keys, time, slot))
    elif len(slot) and (slot[1:] >= slot[:-1]).all():
        order = np.arange(len(slot))
    else:
        order = by_slot(slot, len(last))
    time, n, slot = time[order], n[order], slot[order]
    starts = np.flatnonzero(np.append(True, slot[1:] != slot[:-1])) if len(slot) else np.zeros(
        0, np.int64)
    ends = np.append(starts[1:], len(slot)) if len(slot) else starts
    whose = slot[starts]
    if not plan.ties:
        return Layout(order, time, n, whose, starts, ends, ends, n)
    upto = np.maximum(last[whose], theta[whose])
    closed = ends if ended else closed_ends(starts, ends, time, upto)
    return Layout(order, time, n, whose, starts, ends, closed, closing_rows(slot, time, n))


def _tie_keys(tie: Order, rows: pa.RecordBatch) -> list[Int64]:
    """Keys for a sort, the less important first: the value, then whether it is NULL."""
    column = rows.column(tie.column.name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        [(values, known)] = ranks([column])
    elif pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        values, known = reals_of(pc.cast(column, pa.float64(), safe=False))  # type: ignore[assignment]
    elif pa.types.is_integer(column.type):
        values, known = ints_of(column.cast(pa.int64(), safe=False))
    else:
        values, known = ints_of(column)
    first = tie.nulls_first if tie.nulls_first is not None else tie.descending
    values = np.where(known, -values if tie.descending else values, 0)
    return [values, (known if first else ~known).astype(np.int64)]
