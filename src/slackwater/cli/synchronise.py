"""`slackwater synchronise`: a file with several sources in, one stream in time order out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from slackwater.cli import options
from slackwater.cli.show import print_account, print_json, print_table, working
from slackwater.core.account import Account
from slackwater.core.errors import ConfigError
from slackwater.datasets.files import beside, write_table
from slackwater.synchronise import METHODS, method_named

__all__ = ["command"]


Method = StrEnum("Method", {name: name for name in METHODS})  # type: ignore[misc]
"""The structure that holds the events."""


class Blame(StrEnum):
    """Whose failure a timed-out event is."""

    missing = "missing"
    producer = "producer"


def command(
    file: Annotated[str, typer.Argument(
        metavar="FILE", help="CSV, JSON lines or Parquet; or a simulated set: g-1 … g-12.",
        show_default=False)],
    out: Annotated[Path, typer.Option(
        "--out", metavar="FILE", show_default=False,
        help="For the ready rows; late and quarantined ones go beside it: OUT.late.csv, "
             "OUT.quarantined.csv.")],
    method: Annotated[Method, typer.Option(
        "--method", help="frontier for work; the paper's tree, merged, redblack, linked and "
                         "indexed for study: they release the same events in the same order.",
    )] = Method("frontier"),  # noqa: B008 - typer reads it here
    max_delay: Annotated[str, typer.Option(
        "--max-delay", metavar="DURATION|none",
        help="MD: an event held longer than this after its arrival leaves at the next step.",
    )] = "10s",
    max_failures: Annotated[str, typer.Option(
        "--max-failures", metavar="N|none",
        help="MS: a source waited for in vain so many times is disabled until it sends again.",
    )] = "3",
    blame: Annotated[Blame, typer.Option(
        "--blame", help="Whose failure a timed-out event is: that of each source that it was "
                        "waiting for, or of the one that produced it.")] = Blame.missing,
    sources: Annotated[str | None, typer.Option(
        "--sources", metavar="NAME,…", show_default=False,
        help="Sources to wait for from the start; else each once it has appeared.")] = None,
    time: options.Time = None,
    arrival: options.Arrival = None,
    source: options.Source = None,
    by: options.By = None,
    unit: options.Unit = None,
    max_future_skew: options.FutureSkew = "5 minutes",
    json: options.Json = False,
) -> None:
    """Merge several sources into time order. Every row ends up in exactly one of three files."""
    names = ("ready", "late", "quarantined")
    paths = {name: out if name == "ready" else beside(out, name) for name in names}
    options.check_outputs(paths.values(), (file,))
    with working("synchronise", quiet=json) as now:
        dataset = options.load(file, time=time, arrival=arrival, source=source, sequence=None,
                               by=by, unit=unit)
        kernel = method_named(method.value)(
            dataset.roles, sources=None if sources is None else tuple(sources.split(",")),
            max_delay=None if max_delay == "none" else max_delay,
            max_failures=_count(max_failures), blame=blame.value, max_future_skew=max_future_skew)
        now(f"{len(dataset):,} rows")
        logic = kernel.start()
        outs = [*(logic.push(b) for b in dataset.table.combine_chunks().to_batches(1 << 20)),
                logic.finish()]
    counts: dict[str, Any] = {}
    account = Account(rows=len(dataset))
    for name in names:
        part = pa.Table.from_batches([getattr(o, name) for o in outs])
        write_table(part, paths[name])
        counts[name] = part.num_rows
        if name == "ready":
            account.results = part.num_rows
        else:
            account.add(name, part)
    health = logic.health()
    if json:
        print_json({"dataset": dataset.name, "method": type(kernel).__name__, "rows": len(dataset),
                    **counts, "sources": health,
                    "files": {name: str(path) for name, path in paths.items()}})
        print_account(account)
        return
    print_table(f"{dataset.name}, {type(kernel).__name__}", ("rows in", *names),
                [[len(dataset), *counts.values()]])
    if health:
        columns = list(health[0])
        print_table("sources", columns, [[str(h[c]) for c in columns] for h in health])
    for path in paths.values():
        typer.echo(path)
    print_account(account)


def _count(text: str) -> int | None:
    if text == "none":
        return None
    if not text.isdigit():
        raise ConfigError("is not a number of failures", step="--max-failures", got=text,
                          expected="a whole number ≥ 1, or none")
    return int(text)
