"""`slackwater gateway readers`: who reads a gateway's log, and forgetting those who are gone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slackwater.core.errors import ConfigError
from slackwater.core.plain import to_json

__all__ = ["command"]


def command(
    context: typer.Context,
    log: Annotated[Path | None, typer.Option(
        "--log", metavar="DIR", show_default=False, help="The log folder.")] = None,
    remove: Annotated[list[str] | None, typer.Option(
        "--remove", metavar="NAME", show_default=False,
        help="Forget this reader: what it has not read is no longer kept for it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array, nothing else.")] = False,
) -> None:
    """Show the readers that the log waits for, or forget some."""
    from slackwater.gateway.readers import forget, list_readers

    folder = log or context.obj
    if folder is None:
        raise ConfigError("which log?", step="gateway readers", hint="--log DIR")
    for name in remove or []:
        forget(folder, name)
    found = list_readers(folder)
    if as_json:
        typer.echo(to_json([reader.to_json() for reader in found]))
        return
    if not found:
        typer.echo("this log has no readers")
    for reader in found:
        state = "reading" if reader.held else f"away for {reader.away:.0f} s"
        typer.echo(f"{reader.name:30} next record {reader.record:>12}  "
                   f"{reader.behind:>14} bytes behind  {state}")
