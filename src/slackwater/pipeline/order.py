"""Steps that follow one which puts rows in order: nothing that it released may be late in them.

Such a step knows its input in time order, so time itself is its arrival clock: it waits for
nothing, and no row can come behind it.  Where it brings several of the other's keys together, their
rows are merged first, as far as all of them have come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slackwater.pipeline.steps import Step, StreamName
from slackwater.query import parse_as
from slackwater.query.expr.tree import Name
from slackwater.query.recognise.tree import Recognise
from slackwater.query.select.tree import Select

__all__ = ["follows_in_order", "in_order", "keys_of", "order_of", "time_of"]

_ORDERING = ("reorder", "synchronise")
_TWO = ("correlate", "pairs")


def time_of(step: Step) -> str:
    """The column by whose time a step goes."""
    if step.kind == "recognise" and (order := parse_as(Recognise, step.text).order):
        return order[0].column.name
    named = "time_max" if step.kind in _TWO else "time"
    return str(step.options.get(named, named))


def keys_of(step: Step) -> tuple[str, ...]:
    """The columns whose values a step keeps apart: a SELECT its groups, unless it says `by`."""
    if step.kind == "recognise" and not step.keys:
        return tuple(name.name for name in parse_as(Recognise, step.text).partition)
    if step.kind == "select" and not step.keys:
        return tuple(name.name for name in parse_as(Select, step.text).group)
    return step.keys


def order_of(step: Step, steps: Mapping[str, Step]) -> tuple[str, ...]:
    """The columns by whose values a step's results are in order, each by itself; none: all are.

    What `dedupe` lets pass stays in the order in which it came.
    """
    if step.kind != "dedupe":
        return keys_of(step)
    keys = order_of(steps[step.inputs[0].node], steps)
    return keys if set(keys) <= set(keys_of(step)) else ()


def follows_in_order(step: Step, stream: StreamName, steps: Mapping[str, Step]) -> bool:
    """Whether a stream comes in the order of the time by which a step that reads it goes."""
    above = steps.get(stream.node)
    if above is None or stream.outcome != "ready" or step.kind == "sql":
        return False
    if above.options.get("unit") != step.options.get("unit"):
        return False
    if above.kind in _ORDERING or (above.kind == "dedupe" and above.ordered):
        return time_of(above) == time_of(step)
    return above.kind == "select" and time_of(step) in _window_ends(above)


def _window_ends(step: Step) -> set[str]:
    """The columns of a query's results that hold the end of their window."""
    return {item.name or "window_end" for item in parse_as(Select, step.text).items
            if isinstance(item.expr, Name) and item.expr.name == "window_end"}


def in_order(step: Step, steps: Mapping[str, Step]) -> Step:
    """The step, told to go by its time alone where all of its input comes in order."""
    if (step.kind == "sql" or not step.inputs or "arrival" in step.options
            or not all(follows_in_order(step, stream, steps) for stream in step.inputs)):
        return step
    options: dict[str, Any] = {**step.options, "arrival": time_of(step)}
    if not {"slack", "policy"} & set(step.options) and (
            step.kind in ("event", "recognise")
            or (step.kind == "select" and parse_as(Select, step.text).dratio is None)):
        options["slack"] = "0s"  # what comes in order need not be waited for
    return replace(step, options=options, ordered=True)
