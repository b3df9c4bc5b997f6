"""`slackwater report`: a run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli.run_log_option import RunName, log_of

__all__ = ["command"]


def command(
    run: RunName,
    out: Annotated[Path, typer.Option(
        "--out", "-o", metavar="FILE", help="Where the page is written.")] = Path("run.html"),
) -> None:
    """Write what a run did, finished or not, as one HTML file that loads nothing from elsewhere."""
    from slackwater.view import RunView
    from slackwater.view.page import inline_page
    from slackwater.view.read_log import LogReader

    view = RunView()
    reader = LogReader(log_of(run), view.take)
    reader.read()
    reader.check()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(inline_page(view.model()), encoding="utf-8")
    typer.echo(f"{out}: {view.pipeline}, {view.state}")
