"""`slackwater check`: a pipeline file, without running it."""

from __future__ import annotations

from typing import Annotated

import typer

from slackwater.cli.show import print_json
from slackwater.pipeline import PipelineError, load
from slackwater.pipeline.draw import as_json, draw

__all__ = ["command"]


def command(
    file: Annotated[str, typer.Argument(
        metavar="FILE", show_default=False, help="A pipeline file (YAML).")],
    json: Annotated[bool, typer.Option(
        "--json", help="The plan, or the mistakes, as JSON, and nothing else.")] = False,
) -> None:
    """Check a pipeline file and draw its plan. Lists all mistakes at once; runs nothing."""
    try:
        pipeline = load(file)
    except PipelineError as error:
        if not json:
            raise
        print_json({"ok": False, "mistakes": [m.as_json() for m in error.mistakes]})
        raise typer.Exit(2) from None
    if json:
        print_json(as_json(pipeline))
        return
    typer.echo(draw(pipeline))
    for note in pipeline.notes:
        typer.echo(f"note: {note}", err=True)
