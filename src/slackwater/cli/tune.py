"""`slackwater tune`: the policy and parameters to use on a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from slackwater.cli import options
from slackwater.cli.show import number, print_json, print_parts, progress
from slackwater.evaluate.run import NO_ARRIVALS, usable_events
from slackwater.evaluate.tune import SAMPLE, Tuned, describe_target, grid, trade_off_picture, tune
from slackwater.reorder.tide.policy import as_share
from slackwater.view.findings import Part, Sheet, write_findings

__all__ = ["command"]


def command(
    file: Annotated[str, typer.Argument(
        metavar="DATA", show_default=False,
        help="CSV, JSON lines or Parquet; or a simulated set: g-1 … g-12.")],
    loss: Annotated[str | None, typer.Option(
        "--loss", metavar="SHARE", show_default=False,
        help="The share of events that may be late: 0.1%. Finds the fastest policy.")] = None,
    latency: Annotated[str | None, typer.Option(
        "--latency", metavar="DURATION", show_default=False,
        help="The mean latency to stay under: 500ms. Finds the policy that loses least.")] = None,
    sample: Annotated[int, typer.Option(
        "--sample", metavar="EVENTS", help="Use this many events from the start.")] = SAMPLE,
    declare_sources: Annotated[bool, typer.Option(
        "--declare-sources", help="Tell Tide the sources beforehand.")] = False,
    every: Annotated[bool, typer.Option(
        "--all", help="Show every trial, not only the Pareto front.")] = False,
    time: options.Time = None,
    arrival: options.Arrival = None,
    source: options.Source = None,
    sequence: options.Sequence = None,
    by: options.By = None,
    unit: options.Unit = None,
    max_future_skew: options.FutureSkew = "5 minutes",
    max_delay: options.MaxDelay = None,
    json: options.Json = False,
    picture: options.Picture = None,
    report: options.Report = None,
) -> None:
    """Try every policy on a sample and say which one to use, with which parameters."""
    dataset = options.load(file, time=time, arrival=arrival, source=source, sequence=sequence,
                           by=by, unit=unit)
    events = usable_events(dataset, max_future_skew=max_future_skew, max_delay=max_delay)
    guessed = dataset.roles.arrival is None
    share = None if loss is None else as_share(loss, step="--loss")
    total = len(grid(events, loss=share)) + 1 if len(events) else 0
    with progress("tune", total, quiet=json) as step:
        found = tune(events, loss=loss, latency=latency, sample=sample,
                     declare_sources=declare_sources, each=step)
    if picture is not None:
        from slackwater.evaluate.pictures import save_as

        save_as(trade_off_picture(found), picture)
    if report is not None:
        write_findings(report, f"Policies tried on {found.dataset}", _parts(found, every, guessed),
                       [("late events against latency of every trial", trade_off_picture(found))])
    if json:
        print_json(found.to_dict())
        return
    print_parts(_parts(found, every, guessed))


def _parts(found: Tuned, every: bool, guessed: bool) -> Iterator[Part]:
    shown = sorted(found.trials, key=lambda t: t.latency_ms) if every else found.front
    title = (f"{found.dataset}: {number(found.events)} events, {len(found.trials)} trials, "
             + ("* on the Pareto front" if every else "the Pareto front"))
    if found.chosen not in shown:
        shown = sorted([*shown, found.chosen], key=lambda t: t.latency_ms)
    yield Sheet(title + "; chosen on the first half, shown on the second; latency in ms",
                ("", "policy", "late", "late %", "latency", "p50", "p95", "p99", "max",
                 "late % first half"),
                [("→" if t is found.chosen else "*" if t.pareto else "", str(t.policy),
                  t.metrics.not_compensated, 100 * t.loss, *t.metrics.latency_ms.values(),
                  100 * t.loss_seen) for t in shown])
    if guessed:
        yield NO_ARRIVALS
    if not found.met:
        yield f"No policy keeps {describe_target(found)} on this sample; the closest one:"
    if found.too_short is not None:
        yield f"Warning: {found.too_short}."
    yield f"Recommended: {found.reason}."
    yield f"policy = {found.chosen.policy}"
