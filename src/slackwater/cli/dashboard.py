"""`slackwater dashboard`: a live page of a run, from its log."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from slackwater.cli.run_log_option import RunName, log_of

__all__ = ["command"]


def command(
    run: RunName,
    address: Annotated[str, typer.Option(
        "--address", metavar="HOST:PORT", help="Where the page is served; port 0: any free one."
    )] = "127.0.0.1:0",
    no_token: Annotated[bool, typer.Option(
        "--no-token", help="Let in anyone who can reach the address.")] = False,
    allow_host: Annotated[list[str] | None, typer.Option(
        "--allow-host", metavar="NAME", show_default=False,
        help="A host name under which the page may be opened, besides localhost.")] = None,
) -> None:
    """Show a run as a page that keeps up with it, from its log; Ctrl-C ends it."""
    from slackwater.view import RunView
    from slackwater.view.access import Access
    from slackwater.view.read_log import LogReader, follow
    from slackwater.view.serve import address_of, serve_view

    log, view = log_of(run), RunView()
    reader = LogReader(log, view.take)
    reader.read()
    if reader.skipped:
        reader.check()
    names = frozenset(name.lower() for name in allow_host or ())
    access = Access(token=None, names=names) if no_token else Access(names=names)
    stop = threading.Event()
    before = {which: signal.signal(which, lambda *_: stop.set())
              for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        with follow(reader), serve_view(view, *address_of(address), access=access) as url:
            typer.echo(f"{log}: {url}")
            typer.echo("Ctrl-C ends it", err=True)
            stop.wait()
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
