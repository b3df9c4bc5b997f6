"""Steps against the columns that they read, as far as those are known without running."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from slackwater.core.errors import SlackwaterError, UnknownColumn, did_you_mean
from slackwater.pipeline.columns import source_schema
from slackwater.pipeline.kernels import Made, make_kernel, operator_schema
from slackwater.pipeline.mistakes import Mistake, Mistakes
from slackwater.pipeline.order import in_order
from slackwater.pipeline.parts import ReadSource, ReadStep
from slackwater.pipeline.steps import COLUMN_ROLES, Step, StreamName
from slackwater.query import QueryError

__all__ = ["check_steps"]

Schemas = dict[StreamName, pa.Schema | None]

_DEFAULTS = {"dedupe": ("time",), "reorder": ("time",), "synchronise": ("time", "source"),
             "select": ("time",), "event": ("time", "type"), "pairs": ("time_min", "time_max"),
             "correlate": ("time_min", "time_max")}
_ADDED = [pa.field("_reason", pa.string()), pa.field("_released", pa.timestamp("us", "UTC"))]


def check_steps(sources: Mapping[str, ReadSource], steps: list[ReadStep],
                mistakes: Mistakes) -> tuple[Schemas, list[Mistake]]:
    """The columns of every stream; mistakes are noted.

    A step whose input is in order already goes by its time alone: `steps` are changed so that they
    say it (see `slackwater.pipeline.order`).
    """
    schemas: Schemas = {}
    for name, source in sources.items():
        schemas[StreamName(name)] = source_schema(source.columns) if source.columns else None
    done: dict[str, Step] = {}
    notes: list[Mistake] = []
    for at, read in enumerate(steps):
        steps[at] = read = replace(read, step=in_order(read.step, done))
        done[read.step.name] = read.step
        _check_watermark(read, done, mistakes)
        given = [schemas.get(s) for s in read.step.inputs]
        made = _made(read, given, mistakes) if read.step.inputs else Made(None, None)
        name = read.step.name
        schemas[StreamName(name)] = made.results
        for outcome in ("late", "quarantined"):
            schemas[StreamName(name, outcome)] = _aside(read.step, given)
    return schemas, notes


def _check_watermark(read: ReadStep, done: Mapping[str, Step], mistakes: Mistakes) -> None:
    """Spark's watermark is one for all keys: behind keys that are apart, it drops rows."""
    for stream in read.step.inputs if "watermark" in read.step.options else ():
        above = done.get(stream.node)
        if above is not None and above.kind in ("reorder", "synchronise") and above.keys:
            mistakes.add(read.option("watermark"), f"steps.{read.step.name}.watermark",
                         f"Spark would drop rows of the slower keys of {stream.node!r}",
                         got=f"by: {', '.join(above.keys)}",
                         hint=f"say align: true in {stream.node!r}, or leave out by"
                         if above.kind == "reorder" else f"leave out by in {stream.node!r}")


def _aside(step: Step, given: list[pa.Schema | None]) -> pa.Schema | None:
    """Late and quarantined rows: those of the input, with the reason."""
    if step.kind == "sql" or len(given) != 1 or given[0] is None:
        return None
    return pa.schema([*operator_schema(step, given[0]), *_ADDED])


def _made(read: ReadStep, given: list[pa.Schema | None], mistakes: Mistakes) -> Made:
    step, where = read.step, f"steps.{read.step.name}"
    before = len(mistakes)
    for schema in given:
        if schema is not None:
            _check_columns(read, schema, mistakes)
    if len(mistakes) > before:
        return Made(None, None)
    try:
        return make_kernel(step, given)
    except QueryError as error:
        assert read.head is not None
        place = read.head.node.text_place(error.line or 1, error.column or 1)
        mistakes.add_error(place, f"{where}.{read.head.name}", error)
    except UnknownColumn as error:
        mistakes.add_error(read.place, where, error)
    except (SlackwaterError, TypeError) as error:
        known = error if isinstance(error, SlackwaterError) else SlackwaterError(str(error))
        option = next((n for n in step.options if known.step and known.step.endswith(n)), None)
        mistakes.add_error(read.place if option is None else read.option(option),
                           where if option is None else f"{where}.{option}", known)
    return Made(None, None)


def _check_columns(read: ReadStep, schema: pa.Schema, mistakes: Mistakes) -> None:
    """Each option that names columns against the columns there are."""
    step, names = read.step, schema.names
    if len(step.inputs) > 1 and step.kind == "sql":
        return  # which of them it means, Spark decides
    for option in (*COLUMN_ROLES, "by", "scope"):
        if option not in step.options:
            default = _DEFAULTS.get(step.kind, ())
            if option in default and option not in names:
                mistakes.add(read.place, f"steps.{step.name}",
                             f"the input has no column {option!r}",
                             expected=f"{option}: one of {', '.join(names)}",
                             hint=did_you_mean(option, names) or f"say {option}: …")
            continue
        value = step.options[option]
        for column in (value,) if isinstance(value, str) else value:
            if column not in names:
                mistakes.add(read.option(option), f"steps.{step.name}.{option}",
                             f"there is no column {column!r}",
                             expected=f"one of {', '.join(names)}",
                             hint=did_you_mean(column, names))
