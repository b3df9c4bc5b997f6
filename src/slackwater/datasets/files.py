"""Files of events, and tables of them back to files: CSV, JSON lines, Parquet.

A folder is read as one file, ``-`` is standard input; CSV and JSON lines may be compressed.
"""

from __future__ import annotations

import sys
import tempfile
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
from slackwater.core.plain import to_json
from slackwater.datasets import json_lines
from slackwater.datasets.csv_text import read_csv
from slackwater.datasets.dataset import Dataset, in_arrival_order
from slackwater.datasets.recordings import FINISHED, ROLES, is_recording

__all__ = ["beside", "file_format", "read_dataset", "settled_unit", "write_table"]

_OUTER = (".gz", ".zst", ".bz2")

_FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl",
            ".json": "jsonl", ".parquet": "parquet", ".pq": "parquet"}
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"BZh": ".bz2"}
_CODEC = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}


def file_format(path: Path) -> str:
    """Tell csv, jsonl or parquet by the suffix (an outer ``.gz`` or ``.zst`` aside)."""
    suffix = _inner(path).suffix.lower()
    if suffix not in _FORMATS:
        raise ConfigError(f"{path.name} has a format that is not known", step="file",
                          expected=", ".join(_FORMATS), got=suffix or "(no suffix)",
                          hint=did_you_mean(suffix, _FORMATS))
    return _FORMATS[suffix]


def beside(out: Path, name: str) -> Path:
    """A file for other rows beside `out`.

    Examples
    --------
    >>> str(beside(Path("f.csv.gz"), "late"))
    'f.late.csv.gz'
    """
    inner = _inner(out)
    suffix = inner.suffix + ("" if inner == out else out.suffix)
    return out.with_name(f"{out.name.removesuffix(suffix)}.{name}{suffix}")


def _inner(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() in _OUTER else path


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
        ``.csv`` (comma, semicolon or tab), ``.jsonl`` or ``.parquet``, the first two also
        compressed (``.gz``, ``.zst``); a folder of them; or ``-`` for standard input, whose format
        is told from its first bytes.
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
    table = _standard_input() if str(path) == "-" else _read(path)
    columns = table.column_names
    recording = is_recording(columns)
    base = ROLES if recording else _by_name(columns)
    given = {"time": time, "arrival": arrival, "source": source, "sequence": sequence}
    roles = replace(base, **{role: name for role, name in given.items() if name is not None},
                    key=column_names(key), unit=unit)
    name = "standard input" if str(path) == "-" else path.name
    step = f"reading {name}"
    if roles.time not in columns and time is None:
        raise UnknownColumn("time", columns, role="time", step=step,
                            hint="say which column it is: --time COLUMN, in Python time=")
    roles.check(columns, step=step)
    roles = replace(roles, unit=settled_unit(table, roles))
    return Dataset(name if str(path) == "-" or path.is_dir() else _inner(path).stem,
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
            pa.csv.write_csv(_flat(table), sink, options)
    else:
        json_lines.write(table, path)


def _flat(table: pa.Table) -> pa.Table:
    """Nested values, which CSV has no cells for, as JSON text."""
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            text = [None if v is None else to_json(v) for v in table.column(at).to_pylist()]
            table = table.set_column(at, field.name, pa.array(text, pa.string()))
    return table


def _by_name(columns: list[str]) -> Roles:
    def named(role: str) -> str | None:
        return role if role in columns else None

    return Roles("time", named("arrival"), named("source"), named("sequence"))


def _standard_input() -> pa.Table:
    """Rows from standard input, compressed or not, in whatever of the formats they are."""
    raw = sys.stdin.buffer.read()
    outer = next((suffix for magic, suffix in _MAGIC.items() if raw.startswith(magic)), "")
    head = raw[:4096]
    if outer:
        try:
            with pa.CompressedInputStream(pa.BufferReader(raw), _CODEC[outer]) as stream:
                head = stream.read(4096)
        except OSError as error:
            raise _not_compressed(outer, "reading standard input", error) from None
    inner = (".parquet" if head.startswith(b"PAR1")
             else ".jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ".csv")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"standard input{inner}{outer}"
        file.write_bytes(raw)
        return _read(file)


def _folder(path: Path) -> pa.Table:
    """All files below a folder as one; those whose names begin with . or _ are not data."""
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and not any(
        part.startswith((".", "_")) for part in file.relative_to(path).parts)]
    if not files:
        raise DataError(f"there is no file in the folder {path}", step=f"reading {path.name}",
                        expected="CSV, JSON lines or Parquet")
    try:
        return pa.concat_tables([_read(file) for file in files], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError("the files of the folder have columns of different kinds",
                        step=f"reading {path.name}", got=str(error)) from None


def _read(path: Path) -> pa.Table:
    step = f"reading {path.name}"
    if path.is_dir():
        return _folder(path)
    kind = file_format(path)
    if not path.is_file():
        siblings = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        raise DataError(f"there is no file {path}", step=step, expected="a file of events",
                        hint=did_you_mean(path.name, siblings))
    if path.stat().st_size == 0:
        raise DataError("the file is empty: it has not even a header", step=step,
                        expected="column names, then one event a line", got="0 bytes")
    try:
        if kind == "csv":
            return read_csv(path)
        if kind == "jsonl":
            return json_lines.read(path)
        return pa.parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise DataError("is not a Parquet file", step=step, got=str(error)) from None
    except UnicodeDecodeError as error:
        raise DataError("is not UTF-8", step=step, got=str(error),
                        hint=f"iconv -f latin1 -t utf-8 {path.name}") from None
    except OSError as error:
        if error.errno is not None or path.suffix.lower() not in _OUTER:
            raise
        raise _not_compressed(path.suffix, step, error) from None


def _not_compressed(suffix: str, step: str, why: OSError) -> DataError:
    return DataError(f"is not {suffix[1:]}, or has been cut off", step=step, got=str(why))


def settled_unit(table: pa.Table, roles: Roles) -> str | None:
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
