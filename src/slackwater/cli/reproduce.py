"""`slackwater reproduce`: the papers' experiments, by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli import options
from slackwater.cli.show import print_json, progress
from slackwater.core.errors import ConfigError, DataError, did_you_mean
from slackwater.datasets.recordings import FOLDER
from slackwater.evaluate.reproduce import experiment_names, reproduce

__all__ = ["command"]


def command(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="[NAME…|all]", help="Experiments; none: list them.", show_default=False)] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the files go.",
                                      )] = Path("reproduced"),
    quick: Annotated[bool, typer.Option("--quick", help="Run small, to see that it works.",
                                        )] = False,
    data: Annotated[Path | None, typer.Option(
        "--data", metavar="FOLDER", envvar=FOLDER, show_default=False,
        help="Folder of the recordings D-1…, S-7… of paper 3.")] = None,
    json: options.Json = False,
) -> None:
    """Repeat the papers' experiments: for each, its data as CSV and its picture as PNG and PDF."""
    known = experiment_names()
    if not names:
        print_json(known) if json else typer.echo("\n".join(known))
        return
    wanted = known if names == ["all"] else names
    for name in wanted:
        if name not in known:
            raise ConfigError(f"there is no experiment {name!r}", step="reproduce",
                              expected=", ".join(known), hint=did_you_mean(name, known))
    if data is not None:
        if not data.is_dir():
            raise ConfigError("is not a folder", step="--data", got=str(data))
        os.environ[FOLDER] = str(data)
    written: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    with progress("reproduce", len(wanted), quiet=json) as step:
        for name in wanted:
            try:
                written[name] = [str(p) for p in reproduce(name, out, quick=quick)]
            except DataError as error:
                left_out[name] = str(error)
            step(name)
    if json:
        print_json({"written": written, "left_out": left_out})
    else:
        for files in written.values():
            typer.echo("\n".join(files))
    for name, why in left_out.items():
        typer.echo(f"left out {name}: {why}", err=True)
    if left_out:
        raise typer.Exit(1)
