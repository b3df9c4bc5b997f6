"""Rows on their way through a synchroniser: arriving, held, released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.stage import how_late
from slackwater.core.state.buffer import Held, Rows
from slackwater.core.state.ipc import widened
from slackwater.core.steps import Arrivals

__all__ = ["Released", "clock_and_member", "held_widened", "late_reasons", "to_hold",
           "without_extras"]

Int64 = NDArray[np.int64]
_EXTRAS = [pa.field("clock", pa.int64()), pa.field("member", pa.int64())]


def to_hold(new: Arrivals, slot: Int64, clock: Int64, member: Int64, index: Int64) -> Rows:
    """Some arrivals as rows to hold, with the arrival clock and the member in two more columns.

    These go by position, the last two, so that they cannot clash with the user's.
    """
    rows = new.rows.take(pa.array(index))
    columns = [*rows.columns, pa.array(clock[index]), pa.array(member[index])]
    payload = pa.RecordBatch.from_arrays(columns, schema=pa.schema([*rows.schema, *_EXTRAS]))
    return Rows(slot[index], new.time[index], new.n[index], payload)


def clock_and_member(held: Held) -> tuple[Int64, Int64]:
    """The two more columns of held rows."""
    rows = held.payload(np.arange(len(held)))
    count = rows.num_columns
    return rows.column(count - 2).to_numpy(), rows.column(count - 1).to_numpy()


def held_widened(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Held rows with the columns of `schema`, and the two more behind them."""
    wide = widened(without_extras(rows), schema)
    return pa.RecordBatch.from_arrays([*wide.columns, *rows.columns[-2:]],
                                      schema=pa.schema([*schema, *_EXTRAS]))


def without_extras(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The user's columns."""
    return rows.select(list(range(rows.num_columns - 2)))


@dataclass(frozen=True)
class Released:
    """What a step released: rows in order, their times, when, and whether each had timed out.

    `by` is as in `Step`.
    """

    rows: pa.RecordBatch
    time: Int64
    when: Int64
    timed_out: NDArray[np.bool_]
    by: Int64


def late_reasons(source: pa.Array, late_by: Int64) -> pa.Array | None:
    """Why rows of these sources are late; None: there are none."""
    if not len(late_by):
        return None
    if pa.types.is_dictionary(source.type):
        source = source.dictionary_decode()
    names = pc.fill_null(source.cast(pa.string()), "null")
    return pc.binary_join_element_wise("source ", names, pc.binary_join_element_wise(
        " ", how_late(late_by), ""), "")
