"""What the runner has to know about a kernel to run it: how it is fed, and how it is sharded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError
from slackwater.core.events import RESERVED, event_times
from slackwater.core.kernel import Out
from slackwater.core.state.ipc import empty_rows
from slackwater.correlate import Correlate, bucketed
from slackwater.correlate.buckets import BUCKET, OWNER, widths
from slackwater.correlate.rows import split_by
from slackwater.dedupe import Dedupe
from slackwater.pattern.match import Match
from slackwater.query import SelectQuery
from slackwater.query.correlate.query import PairQuery
from slackwater.query.recognise import RecogniseQuery
from slackwater.reorder import Policy, Reorder
from slackwater.spark.runner.packing import ROW, canonical_schema
from slackwater.synchronise.config import Synchroniser

__all__ = ["Input", "OperatorSpec", "operator_spec", "output_schema", "row_column", "statuses"]

Spread = Callable[[pa.RecordBatch], tuple[pa.RecordBatch, Any]]

_COPIES = 4  # a bucket is so many times as wide as a right row's reach: about 1/4 copy a row more
_LEAST = 1_000_000


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
class OperatorSpec:
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

    @property
    def promise(self) -> int | None:
        """What silence promises, if nothing follows: windows and patterns close in silence."""
        return None if isinstance(self.kernel, (Dedupe, Reorder, Synchroniser)) else self.quiet

    @property
    def loss_bound(self) -> float | None:
        """The share of late rows that its policy promises to stay under, if it has one."""
        order = getattr(self.kernel, "chain", self.kernel)
        order = getattr(order, "reorder", order)
        policy = order.policy if isinstance(order, Reorder) else None
        named = policy.bound if isinstance(policy, Policy) else None
        return None if named is None else float(getattr(policy, named))


def operator_spec(kernel: Any, schema: pa.Schema, quiet: int | None, step: str, *,
                  together: bool = False) -> OperatorSpec:
    """How a kernel is fed; `schema` has the columns of its first input.

    With `together` all of its rows are in one shard, whatever their keys.
    """
    if isinstance(kernel, (Correlate, PairQuery)):
        return _two_sides(kernel, step, together)
    if isinstance(kernel, Match):
        keys = kernel.roles.key
        equated = kernel.pattern.bind(schema, kernel.roles).partition
        shard_by, roles = (*keys, *(c for c in equated if c not in keys)), kernel.roles
    elif isinstance(kernel, (Reorder, SelectQuery, RecogniseQuery)):
        order = kernel if isinstance(kernel, Reorder) else kernel.chain.reorder
        roles = order.roles
        shard_by = roles.key if order.scope is None else order.scope
    elif isinstance(kernel, (Dedupe, Synchroniser)):
        roles, shard_by = kernel.roles, kernel.roles.key
    else:
        raise ConfigError(f"{type(kernel).__name__} does not run on Spark", step=step)
    return OperatorSpec(kernel, (Input(roles.arrival, roles.unit, tuple(shard_by)),), quiet, step)


def _two_sides(kernel: Correlate | PairQuery, step: str, together: bool) -> OperatorSpec:
    """By key, or without one by overlapping buckets of time, in which each pair is found once."""
    pairing = kernel if isinstance(kernel, Correlate) else kernel.correlate
    roles = pairing.roles
    roles = roles if isinstance(roles, tuple) else (roles, roles)
    sides = ("left", "right")
    if pairing.by or together:
        keys = ((), ()) if together else split_by(pairing.by)
        inputs = tuple(Input(r.arrival, r.unit, tuple(keys[i]), side)
                       for i, (r, side) in enumerate(zip(roles, sides, strict=True)))
        return OperatorSpec(kernel, inputs, None, step)
    width = max(_COPIES * sum(widths(pairing)), _LEAST)
    inputs = tuple(Input(r.arrival, r.unit, (), side, _Buckets(pairing, side, width))
                   for r, side in zip(roles, sides, strict=True))
    spread = replace(pairing, by=(BUCKET,), owner=OWNER)
    whole: Any = spread if isinstance(kernel, Correlate) else replace(kernel, correlate=spread)
    return OperatorSpec(whole, inputs, None, step)


@dataclass(frozen=True)
class _Buckets:
    """Sends copies of rows to the buckets of time where their partners may be."""

    config: Correlate
    side: str
    width: int

    def __call__(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, NDArray[np.integer]]:
        rows = bucketed(batch, self.side, self.config, self.width)
        return rows, rows.column(BUCKET).to_numpy()


def output_schema(what: OperatorSpec, schemas: list[pa.Schema]) -> pa.Schema:
    """The columns of all of a kernel's rows, told by a run over no rows.

    The columns of its results, then ``_status``, ``_reason`` and ``_released``.  Where results are
    not input rows (aggregates, matches, pairs), late and quarantined rows come whole in ``_row``
    (with two inputs ``_left_row`` and ``_right_row``).
    """
    logic = what.kernel.start()
    outs = [what.push(logic, at, empty_rows(schema))
            for at, schema in enumerate(schemas)]
    results = _plain(outs[-1].ready.schema)
    added = [pa.field("_status", pa.string()), pa.field("_reason", pa.string()),
             pa.field("_released", pa.timestamp("us", "UTC"))]
    for at, out in enumerate(outs):
        rows = _plain(out.late.schema)
        if results != rows:
            added.append(pa.field(row_column(what, at), pa.struct(list(rows))))
    return canonical_schema(pa.schema([*results, *added]))


def row_column(what: OperatorSpec, at: int) -> str:
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
