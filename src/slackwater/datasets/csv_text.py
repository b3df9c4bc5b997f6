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
        raise _unreadable(path, header, separator, error) from None


def _unreadable(path: Path, header: list[str], separator: str, why: object) -> DataError:
    """The first line that has too many or too few cells, or what Arrow says."""
    step, cells = f"reading {path.name}", f"{len(header)} cells a line, separated by {separator!r}"
    with pa.input_stream(path) as stream, io.TextIOWrapper(
            stream, "utf-8-sig", errors="replace", newline="") as text:
        lines = csv.reader(text, delimiter=separator)
        for cell in lines:
            if cell and len(cell) != len(header):
                return DataError(f"line {lines.line_num} has {len(cell)} "
                                 f"{'cell' if len(cell) == 1 else 'cells'}", step=step,
                                 expected=cells, got=separator.join(cell)[:80],
                                 hint="mend the line, or leave it out")
    return DataError("is not readable as CSV", step=step, got=why, expected=cells)


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
        table = pa.csv.read_csv(stream, parse_options=parse, convert_options=convert)
    for field in table.schema:
        if pa.types.is_binary(field.type):  # what Arrow makes of bytes that are no UTF-8
            raise DataError(f"column {field.name!r} is not UTF-8", step=f"reading {path.name}",
                            hint=f"iconv -f latin1 -t utf-8 {path.name}")
    return table


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    for kind in (pa.int64(), pa.float64(), pa.timestamp("us", "UTC")):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column
