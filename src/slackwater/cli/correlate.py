"""`slackwater correlate`: two files in, pairs of rows out."""

from __future__ import annotations

import json as text
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from slackwater.cli import options
from slackwater.cli.show import print_table
from slackwater.core.errors import UnknownColumn
from slackwater.correlate import ALGORITHMS, Correlate, correlate_tables
from slackwater.correlate.rows import read_intervals
from slackwater.datasets import Dataset, read_dataset
from slackwater.datasets.files import file_format, write_table

__all__ = ["command"]

_SHOWN = 10


def command(
    left: Annotated[str, typer.Argument(metavar="LEFT", show_default=False,
                                        help="CSV, JSON lines or Parquet.")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", show_default=False,
                                         help="CSV, JSON lines or Parquet.")],
    within: Annotated[str | None, typer.Option(
        "--within", metavar="DURATION", show_default=False, help="|left − right| ≤ d.")] = None,
    deadline: Annotated[str | None, typer.Option(
        "--deadline", metavar="DURATION", show_default=False,
        help="left + d ≥ right: the right event at most d after the left one.")] = None,
    delay: Annotated[str | None, typer.Option(
        "--delay", metavar="DURATION", show_default=False,
        help="left + d ≤ right: the right event at least d after the left one.")] = None,
    confidence: Annotated[float, typer.Option(
        "--confidence", metavar="0…1", help="How probable it must be.")] = 0.8,
    time_min: Annotated[str, typer.Option(
        "--time-min", metavar="COLUMN", rich_help_panel="Columns",
        help="Earliest time.")] = "time_min",
    time_max: Annotated[str, typer.Option(
        "--time-max", metavar="COLUMN", rich_help_panel="Columns",
        help="Latest time.")] = "time_max",
    arrival: options.Arrival = None,
    by: Annotated[list[str] | None, typer.Option(
        "--by", metavar="COLUMN,…", rich_help_panel="Columns", show_default=False,
        help="Columns that must be equal; LEFT=RIGHT where the names differ.")] = None,
    unit: options.Unit = None,
    distribution: Annotated[str, typer.Option(
        "--distribution", metavar="NAME[,NAME]",
        help="uniform, normal, triangular or point; of left and right if there are two.",
    )] = "uniform",
    max_delay: Annotated[str | None, typer.Option(
        "--max-delay", metavar="DURATION", show_default=False,
        help="Leave out rows that arrived longer than this after their latest time.")] = None,
    horizon: Annotated[str | None, typer.Option(
        "--horizon", metavar="DURATION", show_default=False,
        help="With --deadline or --delay: how far apart rows may be at all.")] = None,
    algorithm: Annotated[str, typer.Option(
        "--algorithm", metavar="NAME", help=", ".join(ALGORITHMS))] = "lazy",
    probability: Annotated[bool, typer.Option(
        "--probability", help="Compute it for all pairs, also where the bounds decide.")] = False,
    out: Annotated[Path | None, typer.Option(
        "--out", metavar="FILE", show_default=False, help="Write the pairs.")] = None,
    json: Annotated[bool, typer.Option(
        "--json", help="Print one JSON object a pair: left, right, probability.")] = False,
) -> None:
    """Pair the rows of two files whose times, known only as intervals, satisfy a condition."""
    if out is not None:
        file_format(out)
    sides = [_load(file, time_min, time_max, arrival, unit) for file in (left, right)]
    shapes = distribution.split(",")
    setting: dict[str, Any] = {
        "within": within, "deadline": deadline, "delay": delay, "confidence": confidence,
        "by": _keys(by), "roles": (sides[0].roles, sides[1].roles), "horizon": horizon,
        "distribution": tuple(shapes) if len(shapes) > 1 else shapes[0], "algorithm": algorithm,
        "probability": probability}
    if max_delay is None:
        pairs, late = correlate_tables(sides[0].table, sides[1].table, **setting), 0
    else:
        pairs, late = _as_streams(sides, max_delay, setting)
    if out is not None:
        write_table(pairs, out)
    if json:
        for pair in _objects(pairs, sides):
            typer.echo(text.dumps(pair, ensure_ascii=False, allow_nan=False))
        return
    print_table(f"{sides[0].name}, {sides[1].name}", ("left", "right", "late", "pairs"),
                [[len(sides[0]), len(sides[1]), late, pairs.num_rows]])
    if out is not None:
        typer.echo(out)
    elif pairs.num_rows:
        print_table(f"the first {_SHOWN}" if pairs.num_rows > _SHOWN else "",
                    pairs.column_names,
                    [[_plain(value) for value in row.values()]
                     for row in pairs.slice(0, _SHOWN).to_pylist()])


def _load(file: str, time_min: str, time_max: str, arrival: str | None,
          unit: str | None) -> Dataset:
    dataset = read_dataset(file, time=time_max, arrival=arrival, unit=unit)
    if time_min not in dataset.table.column_names:
        raise UnknownColumn(time_min, dataset.table.column_names, role="time_min",
                            step=f"reading {Path(file).name}")
    return replace(dataset, roles=replace(dataset.roles, time_min=time_min, time_max=time_max))


def _keys(by: list[str] | None) -> tuple[str | tuple[str, str], ...]:
    names = [name for part in by or [] for name in part.split(",") if name]
    return tuple((name.split("=")[0], name.split("=")[1]) if "=" in name else name
                 for name in names)


def _as_streams(sides: list[Dataset], max_delay: str,
                setting: dict[str, Any]) -> tuple[pa.Table, int]:
    """Both files as the streams they were: rows beyond the delay are late."""
    longest = 0
    for side in sides:
        ends = read_intervals(side.table, side.roles, ())
        longest = max(longest, int((ends.last - ends.first)[ends.good].max(initial=0)))
    logic = Correlate(**setting, max_delay=max_delay, longest=longest).start()
    parts, late = [], 0
    for name, side in zip(("left", "right"), sides, strict=True):
        table = side.table.combine_chunks()
        out = logic.push(table.to_batches()[0] if table.num_rows
                         else pa.RecordBatch.from_pylist([], table.schema), name)
        parts.append(out.ready)
        late += out.late.num_rows
    # before the right side came, pairs have not even its columns
    pairs = pa.Table.from_batches(parts[1:])
    return pairs.drop_columns(["_reason", "_released"]), late


def _objects(pairs: pa.Table, sides: list[Dataset]) -> Iterator[dict[str, Any]]:
    one, two = (side.table.column_names for side in sides)
    for batch in pairs.to_batches(10_000):
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            values = [_plain(value) for value in row]
            yield {"left": dict(zip(one, values[:len(one)], strict=True)),
                   "right": dict(zip(two, values[len(one):-1], strict=True)),
                   "probability": values[-1]}


def _plain(value: Any) -> Any:
    """A value that JSON can hold; times as ISO text in UTC."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)
