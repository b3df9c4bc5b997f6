"""`slackwater query`: a query over files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import typer

from slackwater.cli import options
from slackwater.cli.query_input import interval_dataset, named_files, query_text, stream_dataset
from slackwater.cli.query_output import FirstRows, apart, show_results
from slackwater.cli.show import computed, print_account, working
from slackwater.core.account import Account
from slackwater.core.errors import ConfigError
from slackwater.core.plain import to_json
from slackwater.core.state.ipc import empty_rows
from slackwater.core.table_run import TableRun, promised_loss
from slackwater.datasets import Dataset
from slackwater.datasets.files import write_table
from slackwater.query import compile, explain, parse, query_kind, streams_of
from slackwater.query.correlate.account import counted_pairs
from slackwater.view.findings import write_findings

__all__ = ["command", "query_options"]


def command(
    text: Annotated[str | None, typer.Argument(
        metavar="[QUERY]", show_default=False,
        help="SELECT … FROM name [RANGE …, SLIDE …, DRATIO …] WHERE … GROUP BY …, "
             "EVENT SEQ(…) WHERE … WITHIN … RETURN …, or "
             "SELECT … FROM A a, B b WHERE |@a − @b| <= …; EXPLAIN in front prints the plan.",
    )] = None,
    files: Annotated[list[str] | None, typer.Argument(
        metavar="[[NAME=]FILE]...", show_default=False,
        help="What it is run over, behind the query or with --data.")] = None,
    file: Annotated[str | None, typer.Option(
        "--file", metavar="FILE", show_default=False,
        help="Read the query from a file; -: from standard input.")] = None,
    data: Annotated[list[str] | None, typer.Option(
        "--data", metavar="[NAME=]FILE", show_default=False,
        help="CSV, JSON lines or Parquet (.gz, .zst), a folder of them, - for standard input, or a "
             "simulated set: g-1 … g-12. Once for each stream of the query. EXPLAIN needs none.",
    )] = None,
    slack: Annotated[str | None, typer.Option(
        "--slack", metavar="DURATION", show_default=False,
        help="How long to wait for late rows, if the query has no DRATIO; otherwise estimated.",
    )] = None,
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
        help="What kind of event, for EVENT queries; default: type.")] = None,
    time_min: options.TimeMin = None,
    time_max: options.TimeMax = None,
    by: options.By = None,
    unit: options.Unit = None,
    engine: options.Engines = options.EngineName.local,
    out: Annotated[Path | None, typer.Option(
        "--out", metavar="FILE", show_default=False, help="Write the results.")] = None,
    late_out: options.LateOut = None,
    json: Annotated[bool, typer.Option(
        "--json", help="One JSON object per result row, and nothing else.")] = False,
    report: options.Report = None,
) -> None:
    """Run a query over a file as if it were a stream. Standard error accounts for every row."""
    data = [*(files or ()), *(data or ())]
    if file == "-" and "-" in data:
        raise ConfigError("standard input cannot be both the query and its rows", step="query",
                          hint="write the query into a file")
    asked = query_text(text, file)
    kind = query_kind(asked)
    options.check_outputs((out, late_out), [part for given in data
                                            for part in (given, given.partition("=")[2]) if part])
    if parse(asked).explain:
        plan = explain(asked, **query_options(kind, slack, policy, emit, select))
        typer.echo(to_json({"plan": plan.splitlines()}) if json else plan)
        return
    if not data:
        raise ConfigError("there are no rows to query", step="query",
                          expected="a FILE behind the query", hint="only EXPLAIN … does without")
    if kind == "correlate":
        query_options(kind, slack, policy, emit, select)
        streams = streams_of(parse(asked))
        with working("query", quiet=json):
            sides = {stream: interval_dataset(where, time=time, time_min=time_min,
                                              time_max=time_max, arrival=arrival, unit=unit)
                     for stream, where in named_files(data, streams).items()}
            answer = _pairs(asked, [sides[stream] for stream in streams])
    else:
        if len(data) > 1:
            raise ConfigError("the query reads one stream", step="--data", expected="one file",
                              got=", ".join(data), hint="put the files into one folder")
        with working("query", quiet=json):
            dataset = stream_dataset(data[0], kind, type_=type_, time=time, arrival=arrival,
                                     source=source, sequence=sequence, by=by, unit=unit)
            kernel = compile(asked, dataset.table.schema, dataset.roles,
                             **query_options(kind, slack, policy, emit, select))
            time = dataset.roles.time
            answer = (_here if engine is options.EngineName.local else _on_spark)(kernel, dataset)
    results = computed("query", answer.results, quiet=json)
    first = FirstRows(results)
    show_results(answer.name, first if report is not None else results, kind=kind, json=json,
                 out=out, time=time or "time")
    if late_out is not None:
        write_table(answer.rest(), late_out)
    if report is not None:
        write_findings(report, f"Query over {answer.name}", [
            asked, first.sheet(kind, time or "time"), *answer.account.remarks(),
            answer.account.line()])
    print_account(answer.account)


class _Answer(NamedTuple):
    """Results as they come; once they have, the account, and the rows that took no part."""

    name: str
    results: Iterable[pa.RecordBatch]
    account: Account
    rest: Callable[[], pa.Table]


def _here(kernel: Any, dataset: Dataset) -> _Answer:
    run = TableRun(kernel, dataset.table)
    return _Answer(dataset.name, run.results(), run.account,
                   lambda: apart(late=run.late, quarantined=run.quarantined))


def _on_spark(kernel: Any, dataset: Dataset) -> _Answer:
    from slackwater.cli.engines import engine_named

    ready, late, quarantined = engine_named(options.EngineName.spark)(dataset.table, kernel)
    account = Account(rows=len(dataset), results=ready.num_rows, bound=promised_loss(kernel))
    account.add("late", late)
    account.add("quarantined", quarantined)
    batches = ready.to_batches() or [empty_rows(ready.schema)]
    return _Answer(dataset.name, batches, account,
                   lambda: apart(late=late, quarantined=quarantined))


def _pairs(text: str, sides: list[Dataset]) -> _Answer:
    one, two = sides
    found, unusable, account = counted_pairs(text, (one.table, two.table), (one.roles, two.roles),
                                             max_pairs=options.MOST_PAIRS)
    return _Answer(f"{one.name}, {two.name}", found.to_batches(), account,
                   lambda: apart(unusable=unusable))


def _refuse(why: str, got: str, hint: str, **given: str | None) -> None:
    for name, value in given.items():
        if value is not None:
            raise ConfigError(f"--{name} {why}", step="query", got=got, hint=hint)


def query_options(kind: str, slack: str | None, policy: str | None, emit: str | None = None,
                  select: str | None = None) -> dict[str, Any]:
    """How the input is put in order and matches are emitted, in the words of each kind of query."""
    if slack is not None and policy is not None:
        raise ConfigError("--slack and --policy both say how long to wait", step="query",
                          hint="leave one out")
    if kind == "correlate":
        _refuse("is about one stream", "a query over two", "leave it out: files are read to their "
                "end before their rows are paired", slack=slack, policy=policy, emit=emit,
                select=select)
    if kind != "event":
        _refuse("is about matches: it needs an EVENT query", "SELECT", "leave it out", emit=emit,
                select=select)
    given = {"slack": slack, "policy": policy, "emit": emit, "select": select}
    return {name: value for name, value in given.items() if value is not None}

