"""The command line as a whole: its options, and the group of its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from slackwater import __version__
from slackwater.cli.commands import Commands

__all__ = ["app"]

app = typer.Typer(
    name="slackwater", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Event streams that arrive late and out of order: measure them, put them right.")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"slackwater {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                          help="Print the version and exit.")] = False,
) -> None:
    pass
