"""The options of sources, steps and sinks, from the tables by which a pipeline file is checked."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from manual.reference.docstrings import one_line, parameters_of, table
from slackwater.pipeline.connectors import SINKS, SOURCES
from slackwater.pipeline.option import required
from slackwater.pipeline.steps import OPTIONS

__all__ = ["pipeline_page"]

_STEPS = {
    "dedupe": ("`dedupe: STREAM`", ("spark.operators.dedupe.dedupe",)),
    "reorder": ("`reorder: STREAM`", ("spark.operators.reorder.reorder",)),
    "synchronise": ("`synchronise: STREAM`", ("spark.operators.synchronise.synchronise",)),
    "select": ("`query: SELECT … FROM STREAM [RANGE …]`", ("spark.operators.query.query",)),
    "recognise": ("`query: SELECT … MATCH_RECOGNIZE (…)`", ("spark.operators.query.query",)),
    "event": ("`query: EVENT …`", ("spark.operators.match.match",
                                   "spark.operators.query.query")),
    "pairs": ("`query: SELECT … FROM A a, B b WHERE |@a − @b| …`",
              ("spark.operators.correlate.correlate", "spark.operators.query.query")),
    "correlate": ("`correlate: [LEFT, RIGHT]`", ("spark.operators.correlate.correlate",)),
    "sql": ("`sql: SELECT …`", ()),
}
"""By what a step is: how it is written, and the operators whose parameters its options are."""

_OWN = {"from": "The stream that the pattern is looked for in.",
        "watermark": "A column: Spark's own operators follow it with no delay."}
_VALUES = {
    "text": "text", "texts": "text, or a list", "path": "path", "count": "whole number",
    "flag": "true or false", "columns": "name: type", "settings": "name: value",
    "servers": "host:port, …", "url": "address", "address": "address",
    "keys": "column, or a list", "key": "column",
    "avro": "schema, or a file", "avros": "number: schema", "duration": "duration",
    "maybe_duration": "duration, or none", "policy": "policy", "slack": "duration or policy",
    "share": "share: 80% or 0.8", "stream": "stream",
}


def pipeline_page() -> str:
    """The page."""
    return "\n\n".join([
        "# Pipeline file: all options",
        "Made from the tables by which `slackwater check` checks a file. What the parts of a file "
        "are, and how they work together, is in [pipelines](../pipeline.md).",
        "## Sources", *_connectors(SOURCES),
        "## Steps", *(_step(kind) for kind in OPTIONS),
        "## Sinks", "Each also takes `from`: the stream.", *_connectors(SINKS)]) + "\n"


def _connectors(kinds: Mapping[str, Any]) -> list[str]:
    parts = []
    for name, config in kinds.items():
        delivery = f" Delivery: {config.delivery}." if hasattr(config, "delivery") else ""
        parts += [f"### kind: {name}", one_line(config) + delivery,
                  table(("option", "value", "meaning", "default"),
                        [_connector_option(one) for one in fields(config)])]
    return parts


def _connector_option(one: Field[Any]) -> tuple[str, str, str, str]:
    about = one.metadata
    value = " or ".join(about["choices"]) if about["choices"] else _VALUES[about["kind"]]
    meaning = about["doc"] + (" (*secret*)" if about["secret"] else "")
    default = one.default_factory() if one.default_factory is not MISSING else one.default
    return f"`{one.name}`", value, meaning, "*required*" if required(one) else _shown(default)


def _step(kind: str) -> str:
    written, operators = _STEPS[kind]
    meanings: dict[str, str] = dict(_OWN)
    for path in reversed(operators):
        module, _, name = path.rpartition(".")
        meanings.update(parameters_of(getattr(importlib.import_module(f"slackwater.{module}"),
                                              name)))
    rows = [(f"`{name}`", " or ".join(what) if isinstance(what, tuple) else _VALUES[what],
             meanings.get(name, "")) for name, what in OPTIONS[kind].items()]
    return f"### {written}\n\n" + table(("option", "value", "meaning"), rows)


def _shown(default: Any) -> str:
    if default in (None, {}, ()):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"
