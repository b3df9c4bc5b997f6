"""The command `slackwater`: one small file a command, each a thin shell over the library.

Enters: arguments and files.  Leaves: tables and pictures for people, JSON for machines (``--json``,
then standard output has nothing else), files.  May import: everything.

Exit codes: 0 done; 1 done in part (an experiment that could not be run); 2 a mistake in the
arguments or the input, with a message on standard error that says what to do.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from slackwater import __version__
from slackwater.cli import (
    check,
    correlate,
    evaluate,
    gateway,
    generate,
    profile,
    query,
    reorder,
    reproduce,
    run,
    synchronise,
    tune,
)
from slackwater.core.errors import SlackwaterError

__all__ = ["app", "main"]

app = typer.Typer(
    name="slackwater", no_args_is_help=True, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Event streams that arrive late and out of order: measure them, put them right.")
app.command("profile")(profile.command)
app.command("evaluate")(evaluate.command)
app.command("generate")(generate.command)
app.command("reorder")(reorder.command)
app.command("synchronise")(synchronise.command)
app.command("query")(query.command)
app.command("correlate")(correlate.command)
app.command("tune")(tune.command)
app.command("reproduce")(reproduce.command)
app.command("check")(check.command)
app.command("run")(run.command)
app.add_typer(gateway.app, name="gateway")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"slackwater {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                          help="Print the version and leave.")] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; a user's mistake ends in a message, not in a traceback."""
    try:
        app()
    except SlackwaterError as error:
        typer.echo(f"slackwater: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        if error.filename is None:
            raise
        typer.echo(f"slackwater: {error.filename}: {error.strerror}", err=True)
        sys.exit(2)
