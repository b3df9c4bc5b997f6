"""Streams by name: that each exists, that names are told apart, that no step feeds itself."""

from __future__ import annotations

from collections.abc import Mapping

from slackwater.core.errors import did_you_mean
from slackwater.pipeline.mistakes import Mistakes, Place
from slackwater.pipeline.parts import ReadSink, ReadSource, ReadStep
from slackwater.pipeline.steps import OUTCOMES, StreamName

__all__ = ["in_order"]


def in_order(sources: Mapping[str, ReadSource], steps: Mapping[str, ReadStep],
             sinks: Mapping[str, ReadSink], mistakes: Mistakes) -> list[ReadStep]:
    """The steps, each after those that it reads; mistakes in names are noted."""
    for name, step in steps.items():
        if name in sources:
            mistakes.add(step.place, f"steps.{name}", f"there is a source {name!r} already",
                         hint=f"it is in line {sources[name].place.line}; rename one of them")
    lower: dict[str, str] = {}
    for name in (*sources, *steps):
        other = lower.setdefault(name.lower(), name)
        if other != name:  # Spark does not tell the case of names
            place = (steps[name] if name in steps else sources[name]).place
            mistakes.add(place, name, f"differs from {other!r} by upper and lower case only",
                         hint="SQL would take them for the same stream")
    for name, step in steps.items():
        for stream in step.step.inputs:
            place = step.option("from") if step.step.kind == "event" else (
                step.head.node.place if step.head else step.place)
            _check(stream, sources, steps, place, f"steps.{name}", mistakes)
            if stream.outcome != "ready" and step.step.kind == "pairs":
                mistakes.add(place, f"steps.{name}",
                             f"a query over two streams cannot read {stream}",
                             hint=f"give them a step of their own: sql: SELECT * FROM {stream}")
    for name, sink in sinks.items():
        if sink.stream is not None:
            _check(sink.stream, sources, steps, sink.entries["from"].node.place,
                   f"sinks.{name}.from", mistakes)
    return _sorted(steps, mistakes)


def _check(stream: StreamName, sources: Mapping[str, ReadSource], steps: Mapping[str, ReadStep],
           place: Place, where: str, mistakes: Mistakes) -> None:
    if stream.node not in sources and stream.node not in steps:
        known = [*sources, *steps]
        mistakes.add(place, where, f"there is no stream {stream.node!r}",
                     expected=f"one of {', '.join(known) or '(none)'}",
                     hint=did_you_mean(stream.node, known))
        return
    if stream.outcome not in OUTCOMES:
        mistakes.add(place, where, f"a stream has no rows called {stream.outcome!r}",
                     expected=f"{stream.node}, {stream.node}.late or {stream.node}.quarantined",
                     hint=did_you_mean(stream.outcome, OUTCOMES))
        return
    if stream.outcome == "ready":
        return
    if stream.node in sources:
        mistakes.add(place, where, f"{stream.node!r} is a source: it has no {stream.outcome} rows",
                     hint="the step that reads it tells them apart")
    elif steps[stream.node].step.kind == "sql":
        mistakes.add(place, where, f"{stream.node!r} is Spark's SQL: it has no {stream.outcome} "
                     "rows", hint="the step that it reads has them, perhaps")


def _sorted(steps: Mapping[str, ReadStep], mistakes: Mistakes) -> list[ReadStep]:
    done: dict[str, ReadStep] = {}
    told: set[frozenset[str]] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            ring = above[above.index(name):]
            if frozenset(ring) not in told:
                told.add(frozenset(ring))
                mistakes.add(steps[name].place, f"steps.{name}", "the steps feed each other",
                             got=" → ".join((*reversed(ring), ring[-1])),
                             hint="a stream cannot be made of itself")
            return
        if name in done or name not in steps:
            return
        for stream in steps[name].step.inputs:
            visit(stream.node, (*above, name))
        done[name] = steps[name]

    for name in steps:
        visit(name, ())
    return list(done.values())
