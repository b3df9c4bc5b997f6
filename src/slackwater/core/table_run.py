"""A whole table through a kernel, with an account of every row.

Enters: a kernel and a table in arrival order.  Leaves: results batch by batch, the rows that took
no part, and an `Account`.  May import: account, kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from slackwater.core.account import Account
from slackwater.core.kernel import Kernel, Out
from slackwater.core.state.ipc import empty_rows

__all__ = ["TableRun", "promised_loss"]

_CHUNK = 1 << 18


class TableRun:
    """One run; `late`, `quarantined` and `account` are complete when `results` has ended.

    Examples
    --------
    >>> from slackwater.core.events import Roles
    >>> from slackwater.reorder import Reorder
    >>> rows = pa.table({"time": [1, 9, 20, 2]})
    >>> run = TableRun(Reorder("Static(buffer=1us)", Roles("time", unit="us")), rows)
    >>> sum(batch.num_rows for batch in run.results()), run.late.num_rows
    (3, 1)
    >>> print(run.account.line())
    4 rows: 3 ready, 1 late, 0 quarantined, 0 unusable; loss 25 %; 3 results
    """

    def __init__(self, kernel: Kernel, table: pa.Table) -> None:
        self._kernel, self._table = kernel, table
        self._apart: dict[str, list[pa.RecordBatch]] = {"late": [], "quarantined": []}
        self.account = Account(rows=table.num_rows, bound=promised_loss(kernel))
        self.notes: dict[str, Any] = {}

    def results(self) -> Iterator[pa.RecordBatch]:
        """Run, and yield what is ready; the last batch may be empty but has the columns."""
        logic = self._kernel.start()
        # without a single batch a kernel would not even know the columns
        none = [empty_rows(self._table.schema)]
        for batch in self._table.to_batches(max_chunksize=_CHUNK) or none:
            yield self._count(logic.push(batch))
        yield self._count(logic.finish())

    def _count(self, out: Out) -> pa.RecordBatch:
        for name, batches in self._apart.items():
            rows = getattr(out, name)
            self.account.add(name, rows)
            if rows.num_rows or not batches:
                batches.append(rows)
        self.notes.update(out.notes)
        self.account.filtered = self.notes.get("filtered", 0)
        if self.notes.get("bound") is not None:
            self.account.bound = float(self.notes["bound"])
        self.account.results += out.ready.num_rows
        return out.ready

    @property
    def late(self) -> pa.Table:
        """Rows that came behind the watermark."""
        return _together(self._apart["late"])

    @property
    def quarantined(self) -> pa.Table:
        """Rows without a usable time."""
        return _together(self._apart["quarantined"])


def _together(batches: list[pa.RecordBatch]) -> pa.Table:
    known = [batch for batch in batches if batch.num_columns]
    return pa.Table.from_batches(known) if known else pa.table({})


def promised_loss(kernel: Any) -> float | None:
    """The share of late rows that a kernel's policy promises to stay under; None: no promise."""
    policy = getattr(kernel, "policy", None)
    name = getattr(policy, "bound", None)
    return None if name is None else float(getattr(policy, name))
