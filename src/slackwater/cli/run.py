"""`slackwater run`: a pipeline file on Spark."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from slackwater.cli.show import print_json, print_table, working
from slackwater.core.errors import ConfigError, SlackwaterError
from slackwater.pipeline import Pipeline, load
from slackwater.pipeline.metrics import Numbers

__all__ = ["command", "counters"]


def command(
    file: Annotated[str, typer.Argument(
        metavar="FILE", show_default=False, help="A pipeline file (YAML).")],
    until_done: Annotated[bool, typer.Option(
        "--until-done", help="Process what the sources have now, release everything held, then end."
    )] = False,
    keep_held: Annotated[bool, typer.Option(
        "--keep-held", help="With --until-done: keep what is held, for a later run.")] = False,
    master: Annotated[str | None, typer.Option(
        "--master", metavar="URL", show_default=False,
        help="Spark's master: local[4], spark://host:7077, …; default: this machine.")] = None,
    remote: Annotated[str | None, typer.Option(
        "--remote", metavar="URL", show_default=False,
        help="A Spark Connect server: sc://host:15002.")] = None,
    fresh: Annotated[bool, typer.Option(
        "--fresh", help="Put the old checkpoint aside and start from the beginning.")] = False,
    dashboard: Annotated[bool, typer.Option(
        "--dashboard", help="Show the run as a page on this machine; its address, with a token, is "
                            "printed.")] = False,
    dashboard_address: Annotated[str | None, typer.Option(
        "--dashboard-address", metavar="HOST:PORT", show_default=False,
        help="Serve the page there; default: loopback, any free port.")] = None,
    json: Annotated[bool, typer.Option(
        "--json", help="The numbers at the end as JSON, and nothing else.")] = False,
) -> None:
    """Run a pipeline until it is stopped (Ctrl-C, SIGTERM), or until its input is done."""
    pipeline = load(file)
    runner = _spark()
    stop = threading.Event()
    log = _log_file(pipeline)
    shown = dashboard_address or ("" if dashboard else None)
    try:
        session = runner.open_for(pipeline, master=master, remote=remote, log=log)
        try:
            with (_stopped_by_signals(stop), _page(shown) as view,
                  working(pipeline.name, quiet=json) as now):
                numbers = runner.run_pipeline(
                    pipeline, session, until_done=until_done, keep_held=keep_held, fresh=fresh,
                    stop=stop, listeners=() if view is None else (view.take,),
                    started=lambda told: _started(pipeline, told, until_done),
                    each=lambda numbers: now(counters(numbers)),
                    warn=lambda words: typer.echo(f"slackwater: warning: {words}", err=True))
        finally:
            session.stop()
    except SlackwaterError as error:
        typer.echo(f"slackwater: {pipeline.secrets.redact(str(error))}", err=True)
        if remote is None and isinstance(error, runner.RunError):
            typer.echo(f"  Spark's own words: {log}", err=True)
        raise typer.Exit(1 if isinstance(error, runner.RunError) else 2) from None
    summary = numbers.summary()
    if json:
        print_json({"pipeline": pipeline.name, "streams": summary,
                    "dead_letters": numbers.dead_letters})
    else:
        names = ("in", "ready", "late", "quarantined")
        print_table(pipeline.name, ["stream", *names],
                    [[name, *(row[n] for n in names)] for name, row in summary.items()])


def counters(numbers: Numbers) -> str:
    """The rows of each step so far, in one line: ready, and late or quarantined if there are."""
    parts = []
    for name, row in numbers.summary().items():
        if name not in numbers.pipeline.steps:
            continue
        more = "".join(f", {row[what]:,} {what}" for what in ("late", "quarantined") if row[what])
        parts.append(f"{name} {row['ready']:,}{more}")
    return "; ".join(parts)


def _spark() -> Any:
    try:
        from slackwater.spark import run
    except ImportError as error:
        raise ConfigError("Spark is not installed", step="run", got=str(error),
                          hint="pip install 'slackwater[spark]'") from None
    return run


def _log_file(pipeline: Pipeline) -> Path:
    """Beside the checkpoint, where someone who looks for a reason finds it."""
    if "://" in pipeline.checkpoint:
        return Path(tempfile.mkdtemp(prefix=f"slackwater-{pipeline.name}-")) / "spark.log"
    log = Path(pipeline.checkpoint).with_name(f"{Path(pipeline.checkpoint).name}.spark.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    return log


def _started(pipeline: Pipeline, told: list[str], until_done: bool) -> None:
    queries = ", ".join(query.name for query in pipeline.queries)
    where = pipeline.metrics
    port = "" if where.port is None else f"; metrics: http://{where.host}:{where.port}/metrics"
    end = "" if until_done else "; Ctrl-C stops it"
    typer.echo(f"{pipeline.name} runs: {queries}{port}{end}", err=True)
    for line in told:
        typer.echo(f"  {pipeline.secrets.redact(line)}", err=True)


@contextmanager
def _page(address: str | None) -> Iterator[Any]:
    """While a run lasts: its page, if one is asked for, and the view that it draws."""
    if address is None:
        yield None
        return
    from slackwater.view import RunView
    from slackwater.view.serve import address_of, serve_view

    view = RunView()
    with serve_view(view, *address_of(address)) as url:
        typer.echo(f"dashboard: {url}", err=True)
        yield view


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    def asked(number: int, frame: object) -> None:
        stop.set()

    before = {which: signal.signal(which, asked) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
