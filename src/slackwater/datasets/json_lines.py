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

__all__ = ["read", "write"]


def read(path: Path) -> pa.Table:
    """Read JSON lines; a member that is not always of one kind is read as text."""
    try:
        with pa.input_stream(path) as stream:
            return pa.json.read_json(stream)
    except pa.ArrowInvalid:
        # either a line that is no JSON, which this finds, or members of mixed kinds
        return _mixed(list(_objects(path)))


def write(table: pa.Table, path: Path) -> None:
    """Write JSON lines; times as ISO text."""
    columns = [pc.strftime(c, format="%Y-%m-%dT%H:%M:%SZ") if pa.types.is_timestamp(c.type) else c
               for c in table.columns]
    with pa.output_stream(path) as sink:
        for batch in pa.table(columns, names=table.column_names).to_batches(100_000):
            lines = (json.dumps(row, ensure_ascii=False, default=str) for row in batch.to_pylist())
            sink.write("".join(f"{line}\n" for line in lines).encode())


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
