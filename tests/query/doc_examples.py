"""The examples of docs/queries.md: rows and results stand as comments around the query.

``-- rows: A 0 x=1, B 2`` are events by type, time in seconds and columns; of a query over two
streams each has a line of its own, ``-- Doors: 0 room=hall``.  ``-- gives: 1, a; 2, b`` are the
results, `nothing` for none.  Without ``-- slack:`` the rows are tried the other way round, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa

import slackwater
from slackwater.query import parse, streams_of

_LINE = re.compile(r"^-- (\w+): (.*)$", re.MULTILINE)
_WORDS = {"NULL": None, "NaN": math.nan, "true": True, "false": False}


class Example(NamedTuple):
    """A query, its rows by stream, and what it gives."""

    text: str
    rows: dict[str, list[dict[str, Any]]]
    gives: str
    slack: str | None


def examples(page: str) -> Iterator[Example]:
    """All of a page."""
    for block in re.findall(r"```sql\n(.*?)```", page, re.DOTALL):
        said = dict(_LINE.findall(block))
        if "gives" in said:
            gives, slack = said.pop("gives"), said.pop("slack", None)
            yield Example(_LINE.sub("", block).strip(),
                          {name: [_row(r) for r in line.split(",")] for name, line in said.items()},
                          gives, slack)


def _row(words: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for word in words.split():
        name, equals, value = word.partition("=")
        if equals:
            row[name] = _value(value)
        elif name.isdigit():
            row["time"] = int(name) * 1_000_000
        else:
            row["type"] = name
    return row


def _value(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if any(isinstance(v, float) for v in values):
            values = [None if v is None else float(v) for v in values]
        columns[name] = pa.array(values)
    columns["time"] = columns["time"].cast(pa.timestamp("us", "UTC"))
    return pa.table(columns)


def run(example: Example, *, backwards: bool = False) -> str:
    """What the query gives, written as in the page."""
    tables = {name: _table(rows[::-1] if backwards else rows) for name, rows in
              example.rows.items()}
    streams = streams_of(parse(example.text))
    if len(streams) == 2:
        out = slackwater.query(tables, example.text, time="time")
    else:
        out = slackwater.query(tables["rows"], example.text, slack=example.slack or "1 hour")
    rows = [{n: v for n, v in row.items() if n not in ("match_id", "op", "events")}
            for row in out.ready.to_pylist()]
    lines = [", ".join(shown(value) for value in row.values()) for row in rows]
    return "; ".join(sorted(lines)) or "nothing"


def shown(value: Any) -> str:
    """A value as the page writes it; times are seconds from 1970."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return f"{value.timestamp():g}"
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    if isinstance(value, list):
        return f"[{' '.join(shown(v) for v in value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
