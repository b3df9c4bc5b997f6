"""What the runner has to know about a kernel to carry it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slackwater.core.events import RESERVED, event_times
from slackwater.core.kernel import Out
from slackwater.spark.packing import ROW, canonical_schema

__all__ = ["Carried", "Input", "output_schema", "statuses"]

Spread = Callable[[pa.RecordBatch], tuple[pa.RecordBatch, Any]]


@dataclass(frozen=True)
class Input:
    """One input of a kernel.

    Parameters
    ----------
    arrival, unit
        The arrival column and the unit of integer times: rows enter the kernel in its order. None:
        in the order in which they are given.
    shard_by
        Columns that keep a key's rows together; empty: all rows in one shard.
    side
        What ``push`` is told of where the rows come from; None for kernels with one input.
    spread
        Instead of `shard_by`: gives a batch's rows, some of them perhaps several times, and the
        number of the place that each must go to.
    """

    arrival: str | None
    unit: str | None
    shard_by: tuple[str, ...] = ()
    side: str | None = None
    spread: Spread | None = None

    def greatest_arrival(self, rows: pa.RecordBatch) -> int | None:
        """The greatest readable arrival of rows: how far this partition of the input has come."""
        assert self.arrival is not None
        stamps, readable = event_times(rows.column(self.arrival), unit=self.unit, name=self.arrival)
        return int(stamps[readable].max()) if readable.any() else None


@dataclass(frozen=True)
class Carried:
    """A kernel and how it is fed.

    Parameters
    ----------
    kernel
        The configuration.
    inputs
        One, or the two sides.
    quiet
        By how much a silent key's time follows that of the whole input, in microseconds; None: a
        key's rows wait for its next row.
    step
        The operator's name in messages.
    """

    kernel: Any
    inputs: tuple[Input, ...]
    quiet: int | None
    step: str

    def push(self, logic: Any, at: int, batch: pa.RecordBatch) -> Out:
        """Hand rows of the input with number `at` to a logic."""
        side = self.inputs[at].side
        out: Out = logic.push(batch) if side is None else logic.push(batch, side)
        return out


def output_schema(what: Carried, schemas: list[pa.Schema]) -> pa.Schema:
    """The columns of all of a kernel's rows, told by a run over no rows.

    The columns of its results, then ``_status``, ``_reason`` and ``_released``.  Where results are
    not input rows (aggregates, matches, pairs), late and quarantined rows come whole in ``_row``
    (with two inputs ``_left_row`` and ``_right_row``).
    """
    logic = what.kernel.start()
    outs = [what.push(logic, at, pa.RecordBatch.from_pylist([], schema))
            for at, schema in enumerate(schemas)]
    results = _plain(outs[-1].ready.schema)
    added = [pa.field("_status", pa.string()), pa.field("_reason", pa.string()),
             pa.field("_released", pa.timestamp("us", "UTC"))]
    for at, out in enumerate(outs):
        rows = _plain(out.late.schema)
        if results != rows:
            added.append(pa.field(row_column(what, at), pa.struct(list(rows))))
    return canonical_schema(pa.schema([*results, *added]))


def row_column(what: Carried, at: int) -> str:
    """The column in which late rows of an input come whole."""
    side = what.inputs[at].side
    return ROW if side is None else f"_{side}{ROW}"


def _plain(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in RESERVED])


def statuses(out: Out) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The batches of an Out that have rows, with their status."""
    for status in ("ready", "late", "quarantined"):
        batch = getattr(out, status)
        if batch.num_rows:
            yield status, batch

