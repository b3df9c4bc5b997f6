"""A step's kernel and the columns of its results, made without Spark: what checks look at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slackwater.core.events import Roles
from slackwater.correlate import Correlate
from slackwater.correlate.logic import SIDES
from slackwater.correlate.rows import check_columns, check_key_types, pair_columns, split_by
from slackwater.dedupe import Dedupe
from slackwater.pattern.result import ready_schema
from slackwater.pipeline.columns import ARRIVAL, RAW
from slackwater.pipeline.steps import Step
from slackwater.query import compile
from slackwater.reorder import Reorder
from slackwater.synchronise import method_named

__all__ = ["Made", "arrival_of", "kernel_options", "make_kernel", "operator_schema",
           "other_arrival"]

_STAMP = pa.timestamp("us", "UTC")
_ALL = re.compile(r"\s*SELECT\s+\*\s+FROM\s+([\w.]+)(?:\s+WHERE\b.*)?\s*;?\s*",
                  re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Made:
    """A kernel (SQL has none) and the columns of its ready rows (None: not known)."""

    kernel: Any
    results: pa.Schema | None


def arrival_of(step: Step, columns: list[str]) -> str | None:
    """The arrival column: what the step says, else ``_arrival`` where the input has it."""
    given: str | None = step.options.get("arrival")
    return given if given is not None else (ARRIVAL if ARRIVAL in columns else None)


def other_arrival(step: Step) -> bool:
    """Whether the step names an arrival column of its own; then it does not see ``_arrival``.

    That would be data otherwise, and data that differs from one copy of a file to the next: a
    match's id must not depend on it.
    """
    return step.options.get("arrival") not in (None, ARRIVAL)


def operator_schema(step: Step, schema: pa.Schema) -> pa.Schema:
    """The columns that an operator sees of a stream.

    Late and quarantined rows come without the reason, and arrive when they were let go.
    """
    fields = list(schema)
    if "_reason" in schema.names:
        gone = ("_reason", "_released", ARRIVAL)
        fields = [*(f for f in fields if f.name not in gone), pa.field(ARRIVAL, _STAMP)]
    return pa.schema([f for f in fields if f.name != ARRIVAL or not other_arrival(step)])


def kernel_options(step: Step, *leave: str) -> dict[str, Any]:
    """The step's options without roles and without what only Spark needs."""
    without = {"time", "arrival", "source", "sequence", "type", "time_min", "time_max", "by",
               "unit", "quiet", "shards", "align", *leave}
    return {name: value for name, value in step.options.items() if name not in without}


def make_kernel(step: Step, schemas: list[pa.Schema | None]) -> Made:
    """The kernel of a step over streams of these columns, or the error that it raises."""
    if step.kind == "sql":
        return _sql(step, *schemas)
    seen = [None if s is None else operator_schema(step, s) for s in schemas]
    return _MAKERS[step.kind](step, *seen)


def _roles(step: Step, schema: pa.Schema | None, **more: Any) -> Roles:
    o = step.options
    names = [ARRIVAL] if schema is None else schema.names
    key = () if o.get("align") else tuple(o.get("by", ()))
    return Roles(o.get("time", "time"), arrival_of(step, names), o.get("source"),
                 o.get("sequence"), key=key, unit=o.get("unit"), **more)


def _passed_on(schema: pa.Schema | None) -> pa.Schema | None:
    """Rows that leave as they came: they arrive at the next step when this one let them go."""
    if schema is None:
        return None
    own = [field for field in schema if field.name not in (ARRIVAL, RAW)]
    return pa.schema([*own, pa.field(ARRIVAL, _STAMP)])


def _dedupe(step: Step, schema: pa.Schema | None) -> Made:
    roles = _roles(step, schema)
    kernel = Dedupe(roles, **kernel_options(step))
    if schema is not None:
        roles.check(schema.names, step="dedupe")
    return Made(kernel, _passed_on(schema))


def _reorder(step: Step, schema: pa.Schema | None) -> Made:
    roles = _roles(step, schema)
    options = kernel_options(step)
    if "scope" in options:
        options["scope"] = tuple(options["scope"])
    kernel = Reorder(options.pop("policy", None), roles, **options)
    if schema is not None:
        roles.check(schema.names, step="reorder")
    return Made(kernel, _passed_on(schema))


def _synchronise(step: Step, schema: pa.Schema | None) -> Made:
    roles = _roles(step, schema)
    if roles.source is None:
        roles = Roles(roles.time, roles.arrival, "source", key=roles.key, unit=roles.unit)
    kernel = method_named(step.options.get("method", "frontier"))(
        roles, **kernel_options(step, "method"))
    if schema is not None:
        roles.check(schema.names, step="synchronise")
    return Made(kernel, _passed_on(schema))


def _select(step: Step, schema: pa.Schema | None) -> Made:
    if schema is None:
        return Made(None, None)
    kernel: Any = compile(step.text or "", schema, _roles(step, schema), **kernel_options(step))
    return Made(kernel, kernel.result_schema)


def _event(step: Step, schema: pa.Schema | None) -> Made:
    roles = _roles(step, schema, type=step.options.get("type", "type"))
    kernel: Any = compile(step.text or "", schema, roles, **kernel_options(step))
    if schema is None:
        return Made(kernel, None)
    bound = kernel.pattern.bind(schema, roles)
    return Made(kernel, ready_schema(kernel.pattern.components, schema, bound))


def _interval_roles(step: Step, schema: pa.Schema | None) -> Roles:
    low, high = step.options.get("time_min", "time_min"), step.options.get("time_max", "time_max")
    arrival = arrival_of(step, [ARRIVAL] if schema is None else schema.names)
    return Roles(high, arrival, time_min=low, time_max=high, unit=step.options.get("unit"))


def _pairs(step: Step, left: pa.Schema | None, right: pa.Schema | None) -> Made:
    if left is None or right is None:
        return Made(None, None)
    kernel: Any = compile(step.text or "", (left, right), _interval_roles(step, left),
                          **kernel_options(step))
    return Made(kernel, kernel.plan.schema)


def _correlate(step: Step, left: pa.Schema | None, right: pa.Schema | None) -> Made:
    kernel = Correlate(by=tuple(step.options.get("by", ())), roles=_interval_roles(step, left),
                       **kernel_options(step))
    if left is None or right is None:
        return Made(kernel, None)
    for schema in (left, right):
        _interval_roles(step, schema).check(schema.names, step="correlate")
    for schema, side, key in zip((left, right), SIDES, split_by(kernel.by), strict=True):
        check_columns(schema.names, _interval_roles(step, schema), key, side)
    check_key_types(left, right, kernel.by)
    names = pair_columns(left.names, right.names)
    fields = [pa.field(name, field.type) for side, given in zip(names, (left, right), strict=True)
              for name, field in zip(side, given, strict=True)]
    return Made(kernel, pa.schema([*fields, pa.field("probability", pa.float64())]))


def _sql(step: Step, *schemas: pa.Schema | None) -> Made:
    same = _ALL.fullmatch(step.text or "")
    return Made(None, schemas[0] if same and len(schemas) == 1 else None)


_MAKERS: dict[str, Any] = {
    "dedupe": _dedupe, "reorder": _reorder, "synchronise": _synchronise, "select": _select,
    "recognise": _select,
    "event": _event, "pairs": _pairs, "correlate": _correlate,
}
