"""`slackwater warm`: compile now what a first command would wait for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli.show import progress
from slackwater.warm import archive, warm, workloads

__all__ = ["command"]


def command(
    pack: Annotated[Path | None, typer.Option(
        "--archive", metavar="FILE.tar.gz", show_default=False,
        help="Pack what was compiled, for executors: spark.archives.")] = None,
    processes: Annotated[int | None, typer.Option(
        "--processes", metavar="N", show_default=False, min=1,
        help="How many at a time; default: one per processor.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing.")] = False,
) -> None:
    """Compile all kernels once, so that no first command has to. Done again, it takes seconds."""
    with progress("warm", len(list(workloads())), quiet=quiet, lines=True) as step:
        folder = warm(step, processes=processes)
    if pack is not None:
        archive(pack)
    if not quiet:
        typer.echo(f"compiled kernels are in {folder}" + (f", packed in {pack}" if pack else ""))
