"""`slackwater evaluate`: policies × files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import typer

from slackwater.cli import options
from slackwater.cli.engines import engine_named
from slackwater.cli.show import number, print_json, print_parts, progress
from slackwater.core.errors import ConfigError
from slackwater.evaluate import Metrics, evaluate
from slackwater.evaluate.run import NO_ARRIVALS, Events, usable_events
from slackwater.evaluate.table import PAPER, label
from slackwater.reorder import Policy, Tide, as_policy
from slackwater.reorder.policies.named import split_policies
from slackwater.reorder.tide.policy import as_share
from slackwater.view.findings import Part, Sheet, write_findings

__all__ = ["command"]


def command(
    files: options.Files,
    policy: Annotated[str, typer.Option(
        "--policy", metavar="NAME,…",
        help="Policies by name or the paper's acronym, with parameters if need be: "
             "sba(buffer=2s),MeanPlusRange.")] = ",".join(PAPER),
    time: options.Time = None,
    arrival: options.Arrival = None,
    source: options.Source = None,
    sequence: options.Sequence = None,
    by: options.By = None,
    unit: options.Unit = None,
    max_future_skew: options.FutureSkew = "5 minutes",
    max_delay: options.MaxDelay = None,
    declare_sources: Annotated[bool, typer.Option(
        "--declare-sources", help="Tell Tide the file's sources beforehand.")] = False,
    loss: Annotated[str | None, typer.Option(
        "--loss", metavar="SHARE", show_default=False,
        help="The share of events that may be late: 0.1%. Sets it for the policies that take one, "
             "and adds the best constant buffer in hindsight.")] = None,
    literal: Annotated[bool, typer.Option(
        "--literal", help="Release at arrivals only, as in the papers: time stands still between "
                          "them.")] = False,
    engine: options.Engines = options.EngineName.local,
    json: options.Json = False,
    picture: options.Picture = None,
    report: options.Report = None,
) -> None:
    """Try buffer policies on files, as live streams: what each loses, and how long rows wait."""
    share = None if loss is None else as_share(loss, step="--loss")
    policies = split_policies(policy)
    if not policies:
        raise ConfigError("names no policy", step="--policy", expected=",".join(PAPER))
    for name in policies:
        as_policy(name)  # a misspelt policy is found before the first file is read
    # in this process the run that traces the buffer times is the run
    runner = None if engine is options.EngineName.local else engine_named(engine)
    found: list[Metrics] = []
    guessed: list[bool] = []  # by file: it does not say when rows arrived
    with progress("evaluate", len(files) * len(policies), quiet=json) as step:
        for file in files:
            dataset = options.load(file, time=time, arrival=arrival, source=source,
                                   sequence=sequence, by=by, unit=unit)
            events = usable_events(dataset, max_future_skew=max_future_skew, max_delay=max_delay)
            guessed.append(dataset.roles.arrival is None)
            for at, name in enumerate(policies):
                chosen = _declared(name, events) if declare_sources else as_policy(name)
                metrics = evaluate(events, [chosen], engine=runner, literal=literal, loss=share)
                found += metrics[:-1] if at == 0 else []
                found.append(replace(metrics[-1], policy=name))
                step(f"{events.name} {name}")
    if picture is not None:
        from slackwater.evaluate.pictures import save_as
        from slackwater.evaluate.scatter import scatter_picture

        save_as(scatter_picture(found), picture)
    each = len(found) // len(files)
    parts = [part for at, guess in enumerate(guessed)
             for part in _parts(found[at * each:(at + 1) * each], share, guess)]
    if report is not None:
        from slackwater.evaluate.scatter import scatter_picture

        write_findings(report, "Policies compared", parts,
                       [("overfitting against late events of each policy", scatter_picture(found))])
    if json:
        print_json([m.to_dict() for m in found])
        return
    print_parts(parts)


def _declared(name: str, events: Events) -> Policy:
    policy = as_policy(name)
    return replace(policy, sources=events.sources) if isinstance(policy, Tide) else policy


def _parts(rows: list[Metrics], loss: float | None, guessed: bool) -> Iterator[Part]:
    first = rows[0]
    title = (f"{first.dataset}: {number(first.events)} events, {number(first.out_of_order)} out of "
             f"order, minimum buffer {number(first.min_buffer_ms)} ms; times in ms")
    heads = ["policy", "late", "late %", "wait", "wait p99", "latency", "p50", "p95", "p99", "max",
             "buffer", "overfit %"]
    if loss is not None:
        heads.insert(4, "÷ best")
        title += f", at most {100 * loss:g} % late asked for"
    yield Sheet(title, heads, [_cells(m, loss is not None) for m in rows])
    yield "late %: of all usable events; wait: release − arrival; latency: release − time"
    if guessed:
        yield NO_ARRIVALS
    if first.quarantined:
        yield f"{first.quarantined} rows without a usable time were left out (quarantined)"


def _cells(m: Metrics, ratio: bool) -> list[object]:
    cells: list[object] = [label(m.policy), m.not_compensated, m.late_pct, m.wait_ms["mean"],
                           m.wait_ms["p99"], *m.latency_ms.values(), m.mean_buffer_ms,
                           m.overfitting_pct]
    if ratio:
        cells.insert(4, m.wait_ratio)
    return cells
