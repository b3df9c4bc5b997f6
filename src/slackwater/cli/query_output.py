"""What `slackwater query` and `correlate` say: results as a table, JSON or a file, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer

from slackwater.cli.show import print_table
from slackwater.core.plain import plain, to_json
from slackwater.datasets.files import write_table
from slackwater.view.findings import Sheet

__all__ = ["FirstRows", "apart", "match_object", "match_row", "result_rows", "show_results"]

_SHOWN = 40
_REPORTED = 200  # rows in a report: for people, not for programs
_FIXED = ("match_id", "op", "events")


def show_results(name: str, batches: Iterable[pa.RecordBatch], *, kind: str, json: bool,
                 out: Path | None, time: str) -> None:
    """Print results as they come, or write them into a file; a table has the first ones."""
    kept: list[pa.RecordBatch] = []
    shown: list[dict[str, Any]] = []
    names: list[str] = []
    count = 0
    for batch in batches:
        names = batch.schema.names
        if out is not None:
            kept.append(batch)
        for row in result_rows(batch) if json or (out is None and count < _SHOWN) else ():
            if json:
                typer.echo(to_json(match_object(row) if kind == "event" else row))
            elif len(shown) < _SHOWN:
                shown.append(row)
        count += batch.num_rows
    if out is not None:
        known = [batch for batch in kept if batch.num_columns]
        write_table(pa.Table.from_batches(known), out)
    if json:
        return
    if out is not None:
        typer.echo(out)
        return
    if kind == "event":
        shown = [match_row(row, time) for row in shown]
        names = list(shown[0]) if shown else ["match"]
    print_table(name, names, [[row[n] for n in names] for row in shown])
    if count > len(shown):
        typer.echo(f"… and {count - len(shown):,} more rows; --json or --out gives all")


class FirstRows:
    """Result batches on their way, of which the first rows are kept for a report."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self._rows: list[dict[str, Any]] = []
        self._names: list[str] = []
        self._count = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self._names = batch.schema.names
            self._count += batch.num_rows
            self._rows += result_rows(batch.slice(0, max(_REPORTED - len(self._rows), 0)))
            yield batch

    def sheet(self, kind: str, time: str) -> Sheet:
        """The rows as a table."""
        rows, names = self._rows, self._names
        if kind == "event":
            rows = [match_row(row, time) for row in rows]
            names = list(rows[0]) if rows else ["match"]
        title = f"{self._count:,} results" + (
            f", the first {len(rows)}" if self._count > len(rows) else "")
        return Sheet(title, names, [[row[name] for name in names] for row in rows])


def result_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows with values that JSON knows (see `slackwater.core.plain`)."""
    for row in batch.to_pylist():
        yield {name: plain(value) for name, value in row.items()}


def match_object(row: dict[str, Any]) -> dict[str, Any]:
    """A match as JSON: what RETURN asks for has a place of its own, so that names cannot clash."""
    return {**{name: row[name] for name in _FIXED},
            "return": {name: value for name, value in row.items() if name not in _FIXED}}


def match_row(row: dict[str, Any], time: str) -> dict[str, Any]:
    """A match for people: its id, the times of its events by variable, what RETURN asks for.

    Examples
    --------
    >>> match_row({"match_id": "5f0a11c2e9", "op": "+", "id": 7,
    ...            "events": {"a": {"t": 1}, "b": [{"t": 2}, {"t": 5}]}}, "t")
    {'match': '+ 5f0a11c2', 'a': '1', 'b': '2 … 5 (2)', 'id': 7}
    """
    shown: dict[str, Any] = {"match": f"{row['op']} {row['match_id'][:8]}"}
    for variable, event in (row["events"] or {}).items():
        if isinstance(event, list):
            ends = [str(e.get(time)) for e in (event[0], event[-1])] if event else []
            shown[variable] = f"{' … '.join(dict.fromkeys(ends))} ({len(event)})"
        else:
            shown[variable] = "–" if event is None else str(event.get(time))
    for name, value in row.items():
        if name not in _FIXED:
            # RETURN may name a column like a variable; both are shown
            shown[name if name not in shown else f"{name} (returned)"] = value
    return shown


def apart(**outcomes: pa.Table) -> pa.Table:
    """Rows that took no part, with ``_status`` in front of their own columns."""
    parts = [table.add_column(0, "_status", pa.array([name] * table.num_rows, pa.string()))
             for name, table in outcomes.items() if table.num_columns]
    return pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})

