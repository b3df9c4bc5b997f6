"""JSON lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from slackwater.core.errors import DataError
from slackwater.core.plain import to_json

__all__ = ["read", "write"]


def read(path: Path) -> pa.Table:
    """Read JSON lines; a member that is not always of one kind is read as text."""
    try:
        with pa.input_stream(path) as stream:
            table = pa.json.read_json(stream)
        table.validate(full=True)  # the reader takes bytes that are no UTF-8 for text
        return table
    except pa.ArrowInvalid:
        # a line that is no JSON or no UTF-8, which this finds, or members of mixed kinds
        return _mixed(list(_objects(path)))


def write(table: pa.Table, path: Path) -> None:
    """Write JSON lines; times as ISO text in UTC, NaN as null (see `slackwater.core.plain`)."""
    columns = [_quick(column) for column in table.columns]
    with pa.output_stream(path) as sink:
        for batch in pa.table(columns, names=table.column_names).to_batches(100_000):
            lines = (to_json(row) for row in batch.to_pylist())
            sink.write("".join(f"{line}\n" for line in lines).encode())


def _quick(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as text at once: a Python object for each of them takes many times longer."""
    if not pa.types.is_timestamp(column.type):
        return column
    utc = column.cast(pa.timestamp(column.type.unit, "UTC"))
    text = pc.strftime(utc, format="%Y-%m-%dT%H:%M:%S")
    return pc.binary_join_element_wise(pc.replace_substring_regex(text, r"\.0+$", ""), "Z", "")


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    with pa.input_stream(path) as stream:
        text = stream.read().decode("utf-8-sig")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"line {number} is not JSON", step=f"reading {path.name}",
                            expected="one JSON object a line", got=str(error)) from None
        if not isinstance(row, dict):
            raise DataError(f"line {number} is not an object", step=f"reading {path.name}",
                            expected="one JSON object a line", got=line[:60])
        yield row


def _mixed(rows: list[dict[str, Any]]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            columns[name] = pa.array([v if v is None or isinstance(v, str) else json.dumps(v)
                                      for v in values])
    return pa.table(columns)
