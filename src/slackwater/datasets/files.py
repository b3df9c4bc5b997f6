"""Files of events, and tables of them back to files: CSV, JSON lines, Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from slackwater.core.errors import ConfigError, DataError, UnknownColumn, did_you_mean
from slackwater.core.events import Roles, settle_unit
from slackwater.core.names import column_names
from slackwater.datasets import json_lines
from slackwater.datasets.csv_text import read_csv
from slackwater.datasets.dataset import Dataset, in_arrival_order
from slackwater.datasets.recordings import FINISHED, ROLES, is_recording

__all__ = ["file_format", "read_dataset", "write_table"]

_FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl",
            ".json": "jsonl", ".parquet": "parquet", ".pq": "parquet"}


def file_format(path: Path) -> str:
    """Tell csv, jsonl or parquet by the suffix (an outer ``.gz`` aside)."""
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if suffix not in _FORMATS:
        raise ConfigError(f"{path.name} has a format that is not known", step="file",
                          expected=", ".join(_FORMATS), got=suffix or "(no suffix)",
                          hint=did_you_mean(suffix, _FORMATS))
    return _FORMATS[suffix]


def read_dataset(
    path: Path | str,
    *,
    time: str | None = None,
    arrival: str | None = None,
    source: str | None = None,
    sequence: str | None = None,
    key: str | Sequence[str] = (),
    unit: str | None = None,
) -> Dataset:
    """Read events from a file and put them in arrival order.

    A role that is not given falls to the recordings' own columns if the header is theirs, else to a
    column that has the role's name.  Integer times get their unit from the whole column; a unit
    that does not fit the values is refused.  Times that are missing or cannot be read stay as rows,
    for the kernel to quarantine.  In CSV, empty cells and NA, NaN and null without quotes are
    missing values.

    Parameters
    ----------
    path
        ``.csv`` (comma, semicolon or tab), ``.jsonl`` or ``.parquet``.
    time, arrival, source, sequence, key
        Columns by role.
    unit
        Unit of integer times: s, ms, us or ns.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "door.csv"
    >>> _ = file.write_text("time,arrival\\n1700000000,1700000009\\n1700000005,1700000006\\n")
    >>> door = read_dataset(file)
    >>> door.roles.unit, door.table["time"].to_pylist()
    ('s', [1700000005, 1700000000])
    """
    path = Path(path)
    table = _read(path)
    columns = table.column_names
    recording = is_recording(columns)
    base = ROLES if recording else _by_name(columns)
    given = {"time": time, "arrival": arrival, "source": source, "sequence": sequence}
    roles = replace(base, **{role: name for role, name in given.items() if name is not None},
                    key=column_names(key), unit=unit)
    step = f"reading {path.name}"
    if roles.time not in columns and time is None:
        raise UnknownColumn("time", columns, role="time", step=step)
    roles.check(columns, step=step)
    roles = replace(roles, unit=_settled(table, roles))
    return Dataset(path.stem if path.suffix != ".gz" else Path(path.stem).stem,
                   in_arrival_order(table, roles), roles, FINISHED if recording else None)


def write_table(table: pa.Table, path: Path) -> None:
    """Write rows in the format that the suffix names."""
    kind = file_format(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "csv":
        separator = "\t" if path.suffix == ".tsv" else ","
        options = pa.csv.WriteOptions(delimiter=separator, quoting_style="needed")
        with pa.output_stream(path) as sink:
            pa.csv.write_csv(table, sink, options)
    else:
        json_lines.write(table, path)


def _by_name(columns: list[str]) -> Roles:
    def named(role: str) -> str | None:
        return role if role in columns else None

    return Roles("time", named("arrival"), named("source"), named("sequence"))


def _read(path: Path) -> pa.Table:
    step = f"reading {path.name}"
    kind = file_format(path)
    if not path.is_file():
        siblings = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        raise DataError(f"{path} is a folder" if path.is_dir() else f"there is no file {path}",
                        step=step, expected="a file of events",
                        hint=did_you_mean(path.name, siblings))
    if path.stat().st_size == 0:
        raise DataError("the file is empty: it has not even a header", step=step,
                        expected="column names, then one event a line", got="0 bytes")
    if kind == "csv":
        return read_csv(path)
    if kind == "jsonl":
        return json_lines.read(path)
    try:
        return pa.parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise DataError("is not a Parquet file", step=step, got=str(error)) from None


def _settled(table: pa.Table, roles: Roles) -> str | None:
    """One unit for all integer times; None where no column holds numbers."""
    unit = roles.unit
    for name in (roles.time, roles.arrival):
        values = None if name is None else _numbers(table[name])
        if name is not None and values is not None and len(values):
            unit = settle_unit(values, unit, name=name)
    return unit


def _numbers(column: pa.ChunkedArray) -> np.ndarray | None:
    """The values of a column of numbers, or of text most of which is numbers; else None."""
    present = column.drop_null()
    if pa.types.is_string(present.type) or pa.types.is_large_string(present.type):
        digits = present.filter(pc.match_substring_regex(present, r"^-?[0-9]{1,18}$"))
        if 2 * len(digits) <= len(present):
            return None
        present = digits.cast(pa.int64())
    elif pa.types.is_floating(present.type):
        present = present.filter(pc.is_finite(present)).cast(pa.int64(), safe=False)
    elif not pa.types.is_integer(present.type):
        return None
    return np.asarray(present.to_numpy()).astype(np.int64)
