"""The Avro schema of a source's values: written in the pipeline, or in a file of its own."""

from __future__ import annotations

import json
from pathlib import Path

from slackwater.core.errors import ConfigError

__all__ = ["avro_fields", "avro_schema"]


def avro_schema(given: str, folder: Path = Path()) -> str:
    """The schema's text, checked; `given` is that text, or a file's path relative to `folder`.

    Examples
    --------
    >>> text = avro_schema('{"type": "record", "name": "e", "fields": [{"name": "v"}]}')
    >>> avro_fields(text)
    ['v']
    """
    text = given
    if not given.lstrip().startswith("{"):
        file = folder / Path(given).expanduser()
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error.reason
            raise ConfigError("the file with the Avro schema cannot be read", step="schema",
                              got=f"{file} ({why})") from None
    try:
        record = json.loads(text)
        good = record["type"] == "record" and bool([f["name"] for f in record["fields"]])
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise ConfigError("the Avro schema is not one of a record with fields", step="schema",
                          expected='{"type": "record", "name": …, "fields": […]}', got=text[:80])
    return text


def avro_fields(schema: str) -> list[str]:
    """The names of the record's fields."""
    return [field["name"] for field in json.loads(schema)["fields"]]
