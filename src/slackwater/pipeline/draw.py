"""A pipeline drawn in text, and as plain values for machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slackwater.pipeline.document import Pipeline, Sink
from slackwater.pipeline.option import shown
from slackwater.pipeline.steps import Step

__all__ = ["as_json", "draw"]


def draw(pipeline: Pipeline) -> str:
    """The way of the rows, from each source to the sinks that they reach.

    A step that reads two streams is drawn under the first, and named under the second.
    """
    lines = [f"{pipeline.name}"]
    drawn: set[str] = set()
    for name, source in pipeline.sources.items():
        about = " ".join(_told(pipeline, {k: v for k, v in shown(source.config).items()
                                          if k != "columns"}))
        lines += ["", f"{name}: {source.config.kind} {about}".rstrip()]
        lines += _below(pipeline, name, "", drawn)
    lines += ["", "streaming queries: " + ", ".join(q.name for q in pipeline.queries),
              f"checkpoint: {_near(pipeline, pipeline.checkpoint)}"]
    return pipeline.secrets.redact("\n".join(lines))


def _below(pipeline: Pipeline, node: str, indent: str, drawn: set[str]) -> Iterator[str]:
    """What reads a node: steps, then sinks."""
    readers: list[tuple[str, Step | Sink]] = []
    for step in pipeline.steps.values():
        readers += [(s.outcome, step) for s in dict.fromkeys(step.inputs) if s.node == node]
    readers += [(s.stream.outcome, s) for s in pipeline.sinks.values() if s.stream.node == node]
    for at, (outcome, reader) in enumerate(readers):
        last = at == len(readers) - 1
        arrow = ("└" if last else "├") + ("─▶" if outcome == "ready" else f"─{outcome}─▶")
        if isinstance(reader, Sink):
            yield f"{indent}{arrow} [{reader.name}] {_sink(pipeline, reader)}"
        elif reader.name in drawn:
            yield f"{indent}{arrow} {reader.name} (above)"
        else:
            drawn.add(reader.name)
            yield f"{indent}{arrow} {reader.name}: {_step(reader)}"
            yield from _below(pipeline, reader.name, indent + ("    " if last else "│   "), drawn)


def _step(step: Step) -> str:
    asked = ("select", "recognise", "event", "pairs")
    parts = ["query" if step.kind in asked else step.kind]
    if step.text is not None:
        parts.append(" ".join(step.text.split()))
    for name, value in step.options.items():
        parts.append(f"{name}={','.join(value) if isinstance(value, tuple) else value}")
    return " ".join(parts)


def _sink(pipeline: Pipeline, sink: Sink) -> str:
    about = " ".join(_told(pipeline, shown(sink.config)))
    return f"{sink.config.kind} {about}".rstrip() + f" ({sink.config.delivery})"


def _told(pipeline: Pipeline, options: dict[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        if name == "path":
            yield _near(pipeline, value)
        elif isinstance(value, list):
            yield f"{name}={','.join(value)}"
        elif isinstance(value, dict):
            yield " ".join(f"{k}={v}" for k, v in value.items())
        else:
            yield f"{name}={value}"


def _near(pipeline: Pipeline, path: str) -> str:
    """A path as the file has it, if it lies below the file's folder."""
    try:
        return str(Path(path).relative_to(pipeline.file.resolve().parent))
    except ValueError:
        return path


def as_json(pipeline: Pipeline) -> dict[str, Any]:
    """The plan as plain values without secrets."""
    def columns(node: str) -> dict[str, str] | None:
        schema = next((s for n, s in pipeline.schemas.items() if str(n) == node), None)
        return None if schema is None else {f.name: str(f.type) for f in schema}

    plan = {
        "ok": True, "name": pipeline.name, "checkpoint": pipeline.checkpoint,
        "sources": {n: {"kind": s.config.kind, **shown(s.config)}
                    for n, s in pipeline.sources.items()},
        "steps": {n: {"kind": s.kind, "inputs": [str(i) for i in s.inputs], "text": s.text,
                      "options": dict(s.options)} for n, s in pipeline.steps.items()},
        "sinks": {n: {"from": str(s.stream), "kind": s.config.kind, **shown(s.config),
                      "delivery": s.config.delivery} for n, s in pipeline.sinks.items()},
        "columns": {n: columns(n) for n in (*pipeline.sources, *pipeline.steps)},
        "queries": [{"name": q.name, "nodes": list(q.nodes),
                     "sinks": [s.name for s in q.sinks]} for q in pipeline.queries],
        "notes": [m.as_json() for m in pipeline.notes],
    }
    return {name: pipeline.secrets.clean(part) for name, part in plan.items()}
