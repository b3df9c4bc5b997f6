"""`slackwater query`: a query over a file."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Annotated, Any

import pyarrow as pa
import typer

from slackwater.cli import options
from slackwater.cli.show import print_table
from slackwater.core.errors import ConfigError
from slackwater.core.kernel import Kernel
from slackwater.datasets import Dataset
from slackwater.query import make_query, quality, query_kind
from slackwater.query.event_query import event_pattern
from slackwater.query.explain import explain_event

__all__ = ["command", "match_object", "query_options", "result_rows", "run_local"]

_CHUNK, _SHOWN = 1 << 18, 40


def command(
    text: Annotated[str, typer.Argument(
        metavar="QUERY", show_default=False,
        help="SELECT … FROM name [RANGE …, SLIDE …, DRATIO …] WHERE … GROUP BY …, "
             "or EVENT SEQ(…) WHERE … WITHIN … RETURN …; EXPLAIN EVENT … prints the plan.")],
    data: Annotated[str | None, typer.Option(
        "--data", metavar="FILE", show_default=False,
        help="CSV, JSON lines or Parquet; or a simulated set: g-1 … g-12. "
             "EXPLAIN needs none.")] = None,
    slack: Annotated[str | None, typer.Option(
        "--slack", metavar="DURATION", show_default=False,
        help="How long to wait for late rows, where the query has no DRATIO.")] = None,
    policy: Annotated[str | None, typer.Option(
        "--policy", metavar="NAME", show_default=False,
        help="A policy that says how long to wait, instead of --slack.")] = None,
    emit: Annotated[str | None, typer.Option(
        "--emit", metavar="final|eager", show_default=False,
        help="EVENT: matches once nothing can undo them (the default), or at once, taken back "
             "where a late row undoes them.")] = None,
    select: Annotated[str | None, typer.Option(
        "--select", metavar="STRATEGY", show_default=False,
        help="EVENT: skip_till_any (the default), skip_till_next or strict.")] = None,
    time: options.Time = None,
    arrival: options.Arrival = None,
    source: options.Source = None,
    sequence: options.Sequence = None,
    type_: Annotated[str | None, typer.Option(
        "--type", metavar="COLUMN", show_default=False, rich_help_panel="Columns",
        help="What kind of event, for EVENT queries; else: type.")] = None,
    by: options.By = None,
    unit: options.Unit = None,
    engine: options.Engines = options.EngineName.local,
    json: Annotated[bool, typer.Option(
        "--json", help="One JSON object a result row, and nothing else.")] = False,
) -> None:
    """Ask a file what a stream would have told. How good the answer is goes to standard error."""
    kind = query_kind(text)
    if kind == "event" and (pattern := event_pattern(text)).plan.tree.explain:
        plan = explain_event(pattern)
        typer.echo(json_text.dumps({"plan": plan.splitlines()}, ensure_ascii=False) if json
                   else plan)
        return
    if data is None:
        raise ConfigError("there is nothing to ask", step="query", expected="--data FILE",
                          hint="only EXPLAIN EVENT … does without")
    dataset = options.load(data, time=time, arrival=arrival, source=source, sequence=sequence,
                           by=by, unit=unit)
    if kind == "event":
        column = type_ or ("type" if "type" in dataset.table.column_names else None)
        dataset = replace(dataset, roles=replace(dataset.roles, type=column))
    kernel = make_query(text, dataset.table.schema, dataset.roles,
                        **query_options(kind, slack, policy, emit, select))
    notes: dict[str, Any] = {}
    tables = (run_local(kernel, dataset, notes) if engine is options.EngineName.local
              else _on_spark(kernel, dataset))
    shown: list[dict[str, Any]] = []
    names: list[str] = []
    count = 0
    for table in tables:
        names = table.schema.names
        for row in result_rows(table):
            count += 1
            if json:
                told = match_object(row) if kind == "event" else row
                typer.echo(json_text.dumps(told, ensure_ascii=False, allow_nan=False))
            elif len(shown) < _SHOWN:
                shown.append(row)
    if not json:
        print_table(dataset.name, names, [[row[n] for n in names] for row in shown])
        if count > len(shown):
            typer.echo(f"… and {count - len(shown)} more rows; --json prints all")
    if "late_share" in notes:
        notable = ", ".join(f"{k} {v}" for k, v in quality(notes).items())
        typer.echo(f"{count} results; {notable}", err=True)


def query_options(kind: str, slack: str | None, policy: str | None, emit: str | None = None,
                  select: str | None = None) -> dict[str, Any]:
    """How the input is put in order and matches are told, in the words of each kind of query."""
    if slack is not None and policy is not None:
        raise ConfigError("--slack and --policy both say how long to wait", step="query",
                          hint="leave one out")
    if kind == "select":
        for name, value in (("--emit", emit), ("--select", select)):
            if value is not None:
                raise ConfigError(f"{name} is about matches", step="query",
                                  expected="an EVENT query", got="SELECT")
        return {"slack": slack, "policy": policy}
    given = {"slack": slack if policy is None else policy, "emit": emit, "select": select}
    return {name: value for name, value in given.items() if value is not None}


def match_object(row: dict[str, Any]) -> dict[str, Any]:
    """A match as JSON: what RETURN asks for has a place of its own, so that names cannot clash."""
    fixed = ("match_id", "op", "events")
    return {**{name: row[name] for name in fixed},
            "return": {name: value for name, value in row.items() if name not in fixed}}


def run_local(kernel: Kernel, dataset: Dataset, notes: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """The results, batch by batch; `notes` become those of the end."""
    logic = kernel.start()
    for batch in dataset.table.to_batches(max_chunksize=_CHUNK):
        yield logic.push(batch).ready
    last = logic.finish()
    notes.update(last.notes)
    yield last.ready


def _on_spark(kernel: Kernel, dataset: Dataset) -> Iterator[pa.RecordBatch]:
    from slackwater.cli.engines import engine_named

    ready, _, _ = engine_named(options.EngineName.spark)(dataset.table, kernel)  # type: ignore[arg-type]
    yield from ready.to_batches()


def result_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows with values that JSON knows: times as ISO text, durations in seconds, NaN as null."""
    for row in batch.to_pylist():
        yield {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value
