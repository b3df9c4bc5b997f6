"""What `slackwater query` is asked, and of which rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from slackwater.cli import options
from slackwater.core.errors import ConfigError, UnknownColumn
from slackwater.core.events import Roles
from slackwater.datasets import Dataset, read_dataset

__all__ = ["interval_dataset", "named_files", "query_text", "stream_dataset"]


def query_text(text: str | None, file: str | None) -> str:
    """The query itself, or what is in the file (``-``: on standard input)."""
    if (text is None) == (file is None):
        raise ConfigError("asks for one query", step="query", expected="QUERY, or --file FILE",
                          got="both" if text is not None else "neither",
                          hint="with --file, the rows are named by --data" if text else None)
    if text is not None:
        return text
    try:
        return sys.stdin.read() if file == "-" else Path(str(file)).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError("the query is not UTF-8", step="--file", got=str(error)) from None


def named_files(data: Sequence[str], streams: Sequence[str]) -> dict[str, str]:
    """Which file each stream of a query is read from.

    ``NAME=FILE`` says so; a file without a name is the stream that is called as the file is, or
    else the next one that has none yet.

    Examples
    --------
    >>> named_files(["lamps.csv", "Doors=d.csv"], ["Doors", "lamps"])
    {'Doors': 'd.csv', 'lamps': 'lamps.csv'}
    >>> named_files(["a.csv", "b.csv"], ["Doors", "Lamps"])
    {'Doors': 'a.csv', 'Lamps': 'b.csv'}
    """
    found: dict[str, str] = {}
    nameless = []
    for given in data:
        name, equals, file = given.partition("=")
        stem = Path(given).name.split(".")[0]
        if equals and name in streams:
            found[name] = file
        elif stem in streams and stem not in found:
            found[stem] = given
        else:
            nameless.append(given)
    rest = [name for name in streams if name not in found]
    if len(rest) != len(nameless):
        raise ConfigError("the query's streams and the files do not go together", step="--data",
                          expected=f"one file for each of {', '.join(streams)}",
                          got=", ".join(data) or "none", hint=f"--data {streams[0]}=FILE")
    found.update(zip(rest, nameless, strict=True))
    return {name: found[name] for name in streams}


def interval_dataset(file: str, *, time: str | None, time_min: str | None, time_max: str | None,
                     arrival: str | None, unit: str | None) -> Dataset:
    """Rows whose time is an interval, or with `time` a point."""
    if time is not None:
        if time_min is not None or time_max is not None:
            raise ConfigError("a time is a point or an interval", step="--time",
                              expected="--time, or --time-min and --time-max", got="both")
        return read_dataset(file, time=time, arrival=arrival, unit=unit)
    low, high = time_min or "time_min", time_max or "time_max"
    try:
        dataset = read_dataset(file, time=high, arrival=arrival, unit=unit)
        if low not in dataset.table.column_names:
            raise UnknownColumn(low, dataset.table.column_names, role="time_min",
                                step=f"reading {Path(file).name}")
    except UnknownColumn as error:
        points = "--time COLUMN, if times are points"
        raise ConfigError(error.problem, step=error.step, expected=error.expected, got=error.got,
                          hint=f"{error.hint} {points}" if error.hint else points) from None
    return replace(dataset, roles=replace(dataset.roles, time_min=low, time_max=high))


def stream_dataset(file: str, kind: str, *, type_: str | None, **columns: object) -> Dataset:
    """Rows of one stream; those of an EVENT query have a type."""
    if "=" in file and not Path(file).exists():
        file = file.partition("=")[2]  # one stream needs no name, but may have it
    dataset = options.load(file, **columns)  # type: ignore[arg-type]
    if kind != "event":
        return dataset
    column = type_ or ("type" if "type" in dataset.table.column_names else None)
    roles: Roles = replace(dataset.roles, type=column)
    return replace(dataset, roles=roles)
