"""`slackwater correlate`: two files in, pairs of rows out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from slackwater.cli import options
from slackwater.cli.query_input import interval_dataset
from slackwater.cli.query_output import apart
from slackwater.cli.show import print_account, print_table, working
from slackwater.core.account import Account
from slackwater.core.plain import to_json
from slackwater.core.state.ipc import empty_rows
from slackwater.correlate import ALGORITHMS, Correlate, correlate_tables, unusable_rows
from slackwater.correlate.crowding import check_number
from slackwater.correlate.rows import read_intervals, split_by
from slackwater.datasets import Dataset
from slackwater.datasets.files import write_table

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
    time: Annotated[str | None, typer.Option(
        "--time", metavar="COLUMN", rich_help_panel="Columns", show_default=False,
        help="The time, where it is a point and not an interval.")] = None,
    time_min: options.TimeMin = None,
    time_max: options.TimeMax = None,
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
    max_pairs: Annotated[int, typer.Option(
        "--max-pairs", metavar="N", help="Give up where there are more."
    )] = options.MOST_PAIRS,
    out: Annotated[Path | None, typer.Option(
        "--out", metavar="FILE", show_default=False, help="Write the pairs.")] = None,
    late_out: options.LateOut = None,
    json: Annotated[bool, typer.Option(
        "--json", help="Print one JSON object per pair: left, right, probability.")] = False,
) -> None:
    """Pair the rows of two files whose times, known only as intervals, satisfy a condition."""
    options.check_outputs((out, late_out), (left, right))
    sides = [interval_dataset(file, time=time, time_min=time_min, time_max=time_max,
                              arrival=arrival, unit=unit) for file in (left, right)]
    shapes = distribution.split(",")
    setting: dict[str, Any] = {
        "within": within, "deadline": deadline, "delay": delay, "confidence": confidence,
        "by": _keys(by), "roles": (sides[0].roles, sides[1].roles), "horizon": horizon,
        "distribution": tuple(shapes) if len(shapes) > 1 else shapes[0], "algorithm": algorithm,
        "probability": probability}
    account = Account(rows=len(sides[0]) + len(sides[1]))
    with working("correlate", quiet=json):
        if max_delay is None:
            pairs = correlate_tables(sides[0].table, sides[1].table, max_pairs=max_pairs,
                                     **setting)
            late = pa.table({})
            unusable = _one([unusable_rows(side.table, side.roles, key) for side, key in zip(
                sides, split_by(setting["by"]), strict=True)])
        else:
            pairs, late, unusable = _as_streams(sides, max_delay, setting)
            check_number(pairs.num_rows, max_pairs)
    account.results = pairs.num_rows
    account.add("late", late)
    account.add("unusable", unusable)
    if out is not None:
        write_table(pairs, out)
    if late_out is not None:
        write_table(apart(late=late, unusable=unusable), late_out)
    if json:
        for pair in _objects(pairs, sides):
            typer.echo(to_json(pair))
    elif out is not None:
        typer.echo(out)
    else:
        title = f"{sides[0].name}, {sides[1].name}"
        if pairs.num_rows > _SHOWN:
            title += f": the first {_SHOWN} of {pairs.num_rows:,} pairs"
        print_table(title, pairs.column_names,
                    [list(row.values()) for row in pairs.slice(0, _SHOWN).to_pylist()])
    print_account(account)


def _keys(by: list[str] | None) -> tuple[str | tuple[str, str], ...]:
    names = [name for part in by or [] for name in part.split(",") if name]
    return tuple((name.split("=")[0], name.split("=")[1]) if "=" in name else name
                 for name in names)


def _as_streams(sides: list[Dataset], max_delay: str,
                setting: dict[str, Any]) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Both files as the streams they were: rows beyond the delay are late."""
    longest = 0
    for side in sides:
        ends = read_intervals(side.table, side.roles, ())
        longest = max(longest, int((ends.last - ends.first)[ends.good].max(initial=0)))
    logic = Correlate(**setting, max_delay=max_delay, longest=longest).start()
    parts, late, unusable = [], [], []
    for name, side in zip(("left", "right"), sides, strict=True):
        table = side.table.combine_chunks()
        out = logic.push(table.to_batches()[0] if table.num_rows
                         else empty_rows(table.schema), name)
        parts.append(out.ready)
        late.append(pa.Table.from_batches([out.late]))
        unusable.append(pa.Table.from_batches([out.quarantined]))
    # before the right side came, pairs have not even its columns
    pairs = pa.Table.from_batches(parts[1:])
    return pairs.drop_columns(["_reason", "_released"]), _one(late), _one(unusable)


def _one(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables, promote_options="permissive")


def _objects(pairs: pa.Table, sides: list[Dataset]) -> Iterator[dict[str, Any]]:
    one, two = (side.table.column_names for side in sides)
    for batch in pairs.to_batches(10_000):
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            yield {"left": dict(zip(one, row[:len(one)], strict=True)),
                   "right": dict(zip(two, row[len(one):-1], strict=True)),
                   "probability": row[-1]}
