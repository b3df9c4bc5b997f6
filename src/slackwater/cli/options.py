"""Arguments that several commands take, and how they become datasets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.datasets import SIMULATED, Dataset, read_dataset, simulated
from slackwater.datasets.files import file_format

__all__ = ["MOST_PAIRS", "Arrival", "By", "EngineName", "Engines", "Files", "FutureSkew", "Json",
           "LateOut", "MaxDelay", "Picture", "Report", "Sequence", "Source", "Time", "TimeMax",
           "TimeMin", "Unit", "check_outputs", "load"]

_COLUMNS = "Columns"


class EngineName(StrEnum):
    """Where the rows go through the kernel."""

    local = "local"
    spark = "spark"


Files = Annotated[list[str], typer.Argument(
    metavar="FILE…", help="CSV, JSON lines or Parquet (.gz, .zst), a folder of them, - for "
                          "standard input; or a simulated set: g-1 … g-12.",
    show_default=False)]
Time = Annotated[str | None, typer.Option(
    "--time", metavar="COLUMN", rich_help_panel=_COLUMNS, show_default=False,
    help="When it happened. Recordings of paper 3 are recognised by their header; default: time.")]
Arrival = Annotated[str | None, typer.Option(
    "--arrival", metavar="COLUMN", rich_help_panel=_COLUMNS, show_default=False,
    help="When it was received; default: arrival, or the order of the rows.")]
Source = Annotated[str | None, typer.Option(
    "--source", metavar="COLUMN", rich_help_panel=_COLUMNS, show_default=False,
    help="Which producer sent it; default: source.")]
Sequence = Annotated[str | None, typer.Option(
    "--sequence", metavar="COLUMN", rich_help_panel=_COLUMNS, show_default=False,
    help="The producer's running number; default: sequence.")]
By = Annotated[list[str] | None, typer.Option(
    "--by", metavar="COLUMN,…", rich_help_panel=_COLUMNS, show_default=False,
    help="Key columns: each combination of values is a stream of its own.")]
Unit = Annotated[str | None, typer.Option(
    "--unit", metavar="s|ms|us|ns", rich_help_panel=_COLUMNS, show_default=False,
    help="Unit of integer times; otherwise inferred from their size.")]
FutureSkew = Annotated[str, typer.Option(
    "--max-future-skew", metavar="DURATION", rich_help_panel=_COLUMNS,
    help="Rows stamped further ahead of their arrival are quarantined.")]
MaxDelay = Annotated[str | None, typer.Option(
    "--max-delay", metavar="DURATION", rich_help_panel=_COLUMNS, show_default=False,
    help="Rows stamped further behind their arrival are quarantined; otherwise they are late.")]
TimeMin = Annotated[str | None, typer.Option(
    "--time-min", metavar="COLUMN", rich_help_panel=_COLUMNS, show_default=False,
    help="For correlations: the earliest time; default: time_min.")]
TimeMax = Annotated[str | None, typer.Option(
    "--time-max", metavar="COLUMN", rich_help_panel=_COLUMNS, show_default=False,
    help="For correlations: the latest time; default: time_max.")]
LateOut = Annotated[Path | None, typer.Option(
    "--late-out", metavar="FILE", show_default=False,
    help="Write the rows that took no part (late, quarantined, unusable), with the reason.")]
MOST_PAIRS = 20_000_000
"""More pairs than this are hardly meant; `correlate --max-pairs` says otherwise."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Picture = Annotated[Path | None, typer.Option(
    "--picture", metavar="PICTURE", show_default=False,
    help="Save a picture: .png, .pdf or .svg.")]
Report = Annotated[Path | None, typer.Option(
    "--report", metavar="FILE", show_default=False,
    help="Write what was found as one HTML file that loads nothing from elsewhere.")]
Engines = Annotated[EngineName, typer.Option(
    "--engine", help="In this process, or on Spark.")]


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[str]) -> None:
    """Refuse files of no known format, and those that would take the place of what is read."""
    read = [Path(name) for name in inputs]
    taken: list[Path] = []
    for out in outputs:
        if out is None:
            continue
        file_format(out)
        place = out.resolve()
        if any(place == file.resolve() or (file.is_dir() and place.parent == file.resolve())
               for file in read):
            raise ConfigError(f"{out} is among the files that are read", step="output",
                              hint="write into another file, in another folder")
        if place in taken:
            raise ConfigError(f"two outputs would be written into {out}", step="output",
                              hint="give each a file of its own")
        taken.append(place)


def load(file: str, *, time: str | None, arrival: str | None, source: str | None,
         sequence: str | None, by: list[str] | None, unit: str | None) -> Dataset:
    """Read a file, or generate the simulated set of that name."""
    key = [name for part in by or [] for name in part.split(",") if name]
    if file.lower() in SIMULATED and not Path(file).exists():
        dataset = simulated(file)
        own = dataset.roles
        roles = Roles(time or own.time, arrival or own.arrival, source or own.source,
                      sequence or own.sequence, key=tuple(key))
        roles.check(dataset.table.column_names, step=file)
        return replace(dataset, roles=roles)
    return read_dataset(file, time=time, arrival=arrival, source=source, sequence=sequence,
                        key=key, unit=unit)
