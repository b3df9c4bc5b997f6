"""CSV as it comes: whatever separator, and columns in which one cell is not like the others."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from slackwater.core.errors import DataError

__all__ = ["read_csv"]

_MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]


def read_csv(path: Path) -> pa.Table:
    """Read a CSV file; a column that is not all of one kind is read as text."""
    header, separator = _header(path)
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise DataError(f"the header has {doubled[0]!r} more than once",
                        step=f"reading {path.name}", hint="rename one of the two columns")
    parse = pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    try:
        try:
            return _parsed(path, parse, {})
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            # types are guessed from the file's beginning, and a later cell did not fit
            text = _parsed(path, parse, {name: pa.string() for name in header})
            return pa.table({name: _typed(text[name]) for name in header})
    except pa.ArrowInvalid as error:
        cells = f"{len(header)} cells a line, separated by {separator!r}"
        raise DataError("is not readable as CSV", step=f"reading {path.name}", got=error,
                        expected=cells) from None


def _header(path: Path) -> tuple[list[str], str]:
    with pa.input_stream(path) as stream:
        head = stream.read(1 << 16).decode("utf-8-sig", errors="replace")
    line = head.splitlines()[0] if head.strip() else ""
    if not line.strip():
        raise DataError("the file has no header", step=f"reading {path.name}",
                        expected="column names in the first line")
    separator = max(",;\t|", key=lambda s: len(next(csv.reader(io.StringIO(line), delimiter=s))))
    return next(csv.reader(io.StringIO(line), delimiter=separator)), separator


def _parsed(path: Path, parse: pa.csv.ParseOptions, types: dict[str, pa.DataType]) -> pa.Table:
    convert = pa.csv.ConvertOptions(
        column_types=types, null_values=_MISSING, strings_can_be_null=True,
        quoted_strings_can_be_null=False)
    with pa.input_stream(path) as stream:
        return pa.csv.read_csv(stream, parse_options=parse, convert_options=convert)


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    for kind in (pa.int64(), pa.float64(), pa.timestamp("us", "UTC")):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column
