"""`slackwater advise`: what a Spark job's watermark loses, and what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli import options
from slackwater.cli.show import print_json, print_table, working
from slackwater.core.durations import micros
from slackwater.core.errors import ConfigError
from slackwater.evaluate.advise import Advice, advise, spark_duration
from slackwater.evaluate.progress import Progress, read_progress
from slackwater.reorder.tide.policy import as_share

__all__ = ["command"]


def command(
    file: Annotated[str | None, typer.Argument(
        metavar="[SAMPLE]", show_default=False,
        help="Rows with their time and arrival: CSV, JSON lines, Parquet, a folder of them (as "
             "slackwater.spark.tap writes), or a simulated set: g-1 … g-12.")] = None,
    progress: Annotated[Path | None, typer.Option(
        "--progress", metavar="FILE", show_default=False,
        help="Instead of a sample: progress JSON of a running query, or a Spark event log."
    )] = None,
    delay: Annotated[str | None, typer.Option(
        "--delay", metavar="DURATION", show_default=False,
        help="The job's own withWatermark delay.")] = None,
    loss: Annotated[str | None, typer.Option(
        "--loss", metavar="SHARE", show_default=False,
        help="The share of rows that may be lost; default 0.1%.")] = None,
    latency: Annotated[str | None, typer.Option(
        "--latency", metavar="DURATION", show_default=False,
        help="Instead: the mean time from an event to its result.")] = None,
    trigger: Annotated[str, typer.Option(
        "--trigger", metavar="DURATION", help="The job's trigger interval.")] = "10s",
    batches: Annotated[int | None, typer.Option(
        "--batches", metavar="N", show_default=False,
        help="Instead: cut the sample into this many micro-batches of equal size.")] = None,
    time: options.Time = None,
    arrival: options.Arrival = None,
    source: options.Source = None,
    unit: options.Unit = None,
    json: options.Json = False,
) -> None:
    """Say what a fixed watermark loses now, and which delay or policy would meet a target."""
    if (file is None) == (progress is None):
        raise ConfigError("asks for one input", step="advise",
                          expected="SAMPLE, or --progress FILE",
                          got="both" if file is not None else "neither")
    if loss is not None and latency is not None:
        raise ConfigError("asks for one target", step="advise", expected="--loss or --latency",
                          got="both")
    if progress is not None:
        _from_progress(read_progress(progress), loss, latency, json)
        return
    with working("advise", quiet=json):
        dataset = options.load(str(file), time=time, arrival=arrival, source=source, sequence=None,
                               by=None, unit=unit)
        found = advise(dataset, delay=delay, loss=loss, latency=latency, trigger=trigger,
                       batches=batches)
    if json:
        print_json(found.to_dict())
    else:
        _print(found)


def _print(found: Advice) -> None:
    print_table(f"{found.dataset}: {found.rows:,} rows, {found.cuts}; latency in ms",
                ("", "late", "late %", "mean", "p50", "p99"),
                [(c.what, c.late, 100 * c.loss, *c.latency_ms.values()) for c in found.choices])
    for sentence in found.words():
        typer.echo(sentence)
    typer.echo(f"\n{found.diff()}")


def _from_progress(found: Progress, loss: str | None, latency: str | None, json: bool) -> None:
    share = as_share("0.1%" if loss is None else loss, step="--loss")
    told = []
    for query in found.queries.values():
        wanted = query.least_delay(share)
        if latency is not None:
            if query.lag_ms is None or query.delay_ms is None:
                raise ConfigError("the query has no watermark to shift", step="--latency",
                                  got=query.name)
            wanted = max(0, round(query.delay_ms + micros(latency, name="latency") / 1000
                                  - query.lag_ms))
        at_most = sum(rows for need, rows in query.needs() if need > wanted)
        told.append({**query.to_dict(), "advised_delay_ms": wanted,
                     "loss_at_most": round(at_most / query.rows, 8) if query.rows else 0.0})
        if not json:
            typer.echo(query.line())
            if query.delay_ms is not None:
                typer.echo(f'- .withWatermark("…", "{spark_duration(query.delay_ms)}")')
                typer.echo(f'+ .withWatermark("…", "{spark_duration(wanted)}")   # drops at most '
                           f"{100 * told[-1]['loss_at_most']:.4g} % of these rows")
    if json:
        print_json(told)
        return
    typer.echo("For a policy, record a sample with slackwater.spark.tap and advise on that.")
