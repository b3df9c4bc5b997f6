"""Columns as a pipeline file declares them, ``{time: timestamp, device: string}``."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.names import ARRIVAL, RAW

__all__ = ["ARRIVAL", "RAW", "arrow_type", "ddl", "source_schema"]

_PLAIN: dict[str, pa.DataType] = {
    "string": pa.string(), "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(),
    "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64(),
    "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"), "binary": pa.binary(),
}
_ALSO = {"bool": "boolean", "byte": "tinyint", "short": "smallint", "integer": "int",
         "long": "bigint", "real": "float", "text": None, "varchar": None}
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")


def arrow_type(text: str) -> pa.DataType:
    """The Arrow type of a type in Spark's words.

    Examples
    --------
    >>> arrow_type("array<struct<x: int, y: decimal(4,1)>>")
    ListType(list<element: struct<x: int32, y: decimal128(4, 1)>>)
    """
    found, rest = _type(text.strip().lower(), text)
    if rest:
        raise _not_a_type(text, rest)
    return found


def _type(text: str, whole: str) -> tuple[pa.DataType, str]:
    word = re.match(r"\w+", text)
    if word is None:
        raise _not_a_type(whole, text)
    name, rest = word[0], text[word.end():].lstrip()
    if name in ("array", "map", "struct"):
        if not rest.startswith("<"):
            raise _not_a_type(whole, name)
        return _nested(name, rest[1:], whole)
    if found := _DECIMAL.match(text):
        return pa.decimal128(int(found[1] or 10), int(found[2] or 0)), text[found.end():].lstrip()
    name = _ALSO.get(name) or name
    if name not in _PLAIN:
        raise _not_a_type(whole, name)
    return _PLAIN[name], rest


def _nested(name: str, text: str, whole: str) -> tuple[pa.DataType, str]:
    parts: list[tuple[str, pa.DataType]] = []
    while True:
        label = ""
        if name == "struct":
            field = re.match(r"\s*`?(\w+)`?\s*(?::|\s)\s*", text)
            if field is None:
                raise _not_a_type(whole, text)
            label, text = field[1], text[field.end():]
        kind, text = _type(text.lstrip(), whole)
        parts.append((label, kind))
        text = text.lstrip()
        if text[:1] not in (",", ">"):
            raise _not_a_type(whole, text)
        end, text = text[0] == ">", text[1:].lstrip()
        if end:
            break
    kinds = [kind for _, kind in parts]
    if name == "struct":
        return pa.struct([pa.field(n, k) for n, k in parts]), text
    if len(kinds) != (1 if name == "array" else 2):
        raise _not_a_type(whole, name)
    return pa.list_(pa.field("element", kinds[0])) if name == "array" else pa.map_(*kinds), text


def _not_a_type(whole: str, part: str) -> ConfigError:
    hint = did_you_mean(part, [*_PLAIN, *_ALSO]) if part != whole.lower() or part else None
    if part in ("text", "varchar", "str"):
        hint = "did you mean 'string'?"
    return ConfigError(f"{whole!r} is not a type", expected=f"one of {', '.join(_PLAIN)}, decimal, "
                       "array<…>, map<…>, struct<…>", hint=hint or did_you_mean(whole, _PLAIN))


def ddl(columns: Mapping[str, str]) -> str:
    """The columns as Spark's schema text.

    Examples
    --------
    >>> ddl({"time": "timestamp", "a b": "long"})
    '`time` timestamp, `a b` bigint'
    """
    return ", ".join(f"`{name.replace('`', '``')}` {_ALSO.get(kind.lower()) or kind}"
                     for name, kind in columns.items())


def source_schema(columns: Mapping[str, str]) -> pa.Schema:
    """The columns that a source of these columns gives: its own, ``_arrival`` and ``_raw``."""
    return pa.schema([*((name, arrow_type(kind)) for name, kind in columns.items()),
                      (ARRIVAL, pa.timestamp("us", "UTC")), (RAW, pa.string())])
