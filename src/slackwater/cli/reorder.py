"""`slackwater reorder`: a file in, three files out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from slackwater.cli import options
from slackwater.cli.engines import engine_named
from slackwater.cli.show import print_account, print_json, print_table, working
from slackwater.core.account import Account
from slackwater.core.events import Roles, event_times
from slackwater.core.table_run import promised_loss
from slackwater.datasets.files import beside, write_table
from slackwater.evaluate.metrics import quantiles
from slackwater.reorder import Reorder

__all__ = ["command"]


def command(
    file: Annotated[str, typer.Argument(
        metavar="FILE", help="CSV, JSON lines or Parquet; or a simulated set: g-1 … g-12.",
        show_default=False)],
    out: Annotated[Path, typer.Option(
        "--out", metavar="FILE", show_default=False,
        help="For the ready rows; late and quarantined ones go beside it: OUT.late.csv, "
             "OUT.quarantined.csv.")],
    policy: Annotated[str | None, typer.Option(
        "--policy", metavar="NAME", show_default=False,
        help="A policy by name, with parameters if need be; else Tide if there are sources, "
             "MeanPlusRange if not.",
    )] = None,
    time: options.Time = None,
    arrival: options.Arrival = None,
    source: options.Source = None,
    sequence: options.Sequence = None,
    by: options.By = None,
    unit: options.Unit = None,
    max_future_skew: options.FutureSkew = "5 minutes",
    max_delay: options.MaxDelay = None,
    engine: options.Engines = options.EngineName.local,
    json: options.Json = False,
) -> None:
    """Put the rows of a file in time order. Every row ends up in exactly one of three files."""
    names = ("ready", "late", "quarantined")
    paths = {name: out if name == "ready" else beside(out, name) for name in names}
    options.check_outputs(paths.values(), (file,))
    with working("reorder", quiet=json) as now:
        dataset = options.load(file, time=time, arrival=arrival, source=source, sequence=sequence,
                               by=by, unit=unit)
        kernel = Reorder(policy, dataset.roles, max_future_skew=max_future_skew,
                         max_delay=max_delay)
        now(f"{len(dataset):,} rows")
        parts = dict(zip(names, engine_named(engine)(dataset.table, kernel), strict=True))
        now("writing")
        for name, part in parts.items():
            write_table(part, paths[name])
    account = Account(rows=len(dataset), results=parts["ready"].num_rows,
                      bound=promised_loss(kernel))
    for name, part in parts.items():
        if name != "ready":
            account.add(name, part)
    latency = _latency([parts["ready"], parts["late"]], dataset.roles)
    summary = {
        "dataset": dataset.name, "policy": str(kernel.policy), "rows": len(dataset),
        **{name: part.num_rows for name, part in parts.items()},
        "latency_ms": quantiles(latency, mean=True, p50=50, p95=95, p99=99, max=100),
        "files": {name: str(path) for name, path in paths.items()},
    }
    if json:
        print_json(summary)
        print_account(account)
        return
    print_table(f"{dataset.name}, {kernel.policy}", ("rows in", *names),
                [[summary["rows"], *(summary[name] for name in names)]])
    print_table("latency (ms)", list(summary["latency_ms"]), [list(summary["latency_ms"].values())])
    for path in paths.values():
        typer.echo(path)
    print_account(account)


def _latency(parts: list[pa.Table], roles: Roles) -> np.ndarray:
    waits = []
    for part in parts:
        time, readable = event_times(part[roles.time], unit=roles.unit, name=roles.time)
        released = part["_released"].cast(pa.int64()).to_numpy()
        waits.append((released - time)[readable] / 1000)
    return np.concatenate(waits)
