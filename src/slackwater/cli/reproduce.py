"""`slackwater reproduce`: the papers' figures and tables, by name or all of them, and the page."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli import options
from slackwater.cli.show import print_json, working
from slackwater.core.errors import ConfigError, DataError
from slackwater.datasets.recordings import FOLDER
from slackwater.papers.catalogue import entry, experiment_names, run
from slackwater.papers.report import Row, page

__all__ = ["command"]


def command(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="[NAME…]", help="Experiments; none: list them.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    report: Annotated[bool, typer.Option(
        "--report", help="Also write the page: FOLDER/report.md.")] = False,
    page_file: Annotated[Path | None, typer.Option(
        "--page", metavar="FILE", show_default=False,
        help="Write the page there, without pictures, for a documentation.")] = None,
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
    if not names and not every:
        print_json(experiment_names()) if json else typer.echo("\n".join(experiment_names()))
        return
    wanted = experiment_names() if every or names == ["all"] else list(names or ())
    for name in wanted:
        entry(name)
    if data is not None:
        if not data.is_dir():
            raise ConfigError("is not a folder", step="--data", got=str(data))
        os.environ[FOLDER] = str(data)
    rows: dict[str, Row] = {}
    for at, name in enumerate(wanted, 1):
        with working(f"[{at:2}/{len(wanted)}] {name}", quiet=json):
            rows[name] = _one(name, out, quick)
        if not json:
            # a line per experiment, so that a log shows progress as well as a terminal does
            typer.echo(f"[{at:2}/{len(wanted)}] {name:18} {rows[name].seconds:6.1f} s  "
                       f"{rows[name].verdict.partition(' (')[0]}", err=True)
            sys.stderr.flush()
    written = {n: [str(p) for p in r.outcome.files] for n, r in rows.items() if r.outcome}
    if report:
        path = out / "report.md"
        path.write_text(page(rows, pictures=Path(".")), encoding="utf-8")
        written["report"] = [str(path)]
    if page_file is not None:
        page_file.parent.mkdir(parents=True, exist_ok=True)
        page_file.write_text(page(rows), encoding="utf-8")
        written["page"] = [str(page_file)]
    left_out = {n: r.reason for n, r in rows.items() if r.outcome is None}
    if json:
        print_json({"written": written, "left_out": left_out,
                    "verdicts": {n: r.verdict for n, r in rows.items()}})
    else:
        for files in written.values():
            typer.echo("\n".join(files))
    for name, why in left_out.items():
        typer.echo(f"left out {name}: {why}", err=True)
    if left_out and not (report or page_file):
        raise typer.Exit(1)


def _one(name: str, out: Path, quick: bool) -> Row:
    begin = time.perf_counter()
    try:
        outcome, reason = run(name, out, quick=quick), ""
    except DataError as error:
        outcome, reason = None, error.problem
    return Row(entry(name), outcome, time.perf_counter() - begin, reason)
