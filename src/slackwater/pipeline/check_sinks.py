"""Sinks against the streams that they take, and paths against each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from slackwater.core.errors import did_you_mean
from slackwater.pipeline.connectors import FilesSource
from slackwater.pipeline.mistakes import Mistake, Mistakes, Place
from slackwater.pipeline.parts import ReadSink, ReadSource, ReadStep
from slackwater.pipeline.steps import PASSED_ON, StreamName

__all__ = ["check_sinks", "sink_columns"]

_GLOB = set("*?[{")


def check_sinks(sources: Mapping[str, ReadSource], steps: list[ReadStep],
                sinks: Mapping[str, ReadSink], schemas: Mapping[StreamName, pa.Schema | None],
                checkpoint: str, mistakes: Mistakes) -> list[Mistake]:
    """Note mistakes; what is allowed but perhaps not meant is handed back."""
    kinds = {s.step.name: s.step.kind for s in steps}
    for name, sink in sinks.items():
        _check_keys(name, sink, schemas, kinds, mistakes)
    _check_paths(sources, sinks, checkpoint, mistakes)
    used = {stream.node for s in steps for stream in s.step.inputs}
    used |= {s.stream.node for s in sinks.values() if s.stream is not None}
    idle = [(f"steps.{s.step.name}", s.place) for s in steps if s.step.name not in used]
    idle += [(f"sources.{name}", s.place) for name, s in sources.items() if name not in used]
    return [Mistake(place, where, "nothing takes its rows, so it does not run",
                    hint="add a sink, or take it out") for where, place in idle]


def sink_columns(stream: StreamName, schema: pa.Schema | None, kind: str) -> list[str] | None:
    """The columns that a sink gets of a stream; None: not known.

    Ready rows of dedupe, reorder and synchronise have the input's own columns and no others.
    """
    if schema is None:
        return None
    plain = kind in PASSED_ON and stream.outcome == "ready"
    return [n for n in schema.names if not (plain and n.startswith("_"))]


def _check_keys(name: str, sink: ReadSink, schemas: Mapping[StreamName, pa.Schema | None],
                kinds: Mapping[str, str], mistakes: Mistakes) -> None:
    key = getattr(sink.config, "key", None)
    if sink.stream is None or not key:
        return
    columns = sink_columns(sink.stream, schemas.get(sink.stream),
                           kinds.get(sink.stream.node, "source"))
    for column in (key,) if isinstance(key, str) else key:
        if columns is not None and column not in columns:
            mistakes.add(sink.entries["key"].node.place, f"sinks.{name}.key",
                         f"{sink.stream} has no column {column!r}",
                         expected=f"one of {', '.join(columns)}",
                         hint=did_you_mean(column, columns))


def _check_paths(sources: Mapping[str, ReadSource], sinks: Mapping[str, ReadSink],
                 checkpoint: str, mistakes: Mistakes) -> None:
    """Folders that something is written to must be apart from each other and from the input."""
    taken: list[tuple[str, str, Place]] = [("the checkpoint", checkpoint, Place(1, 1))]
    for name, source in sources.items():
        path = getattr(source.config, "path", None)
        if path is None:
            continue
        place = source.entries["path"].node.place
        if isinstance(source.config, FilesSource):
            _check_there(name, path, place, mistakes)
        taken.append((f"the source {name!r}", path, place))
    for name, sink in sinks.items():
        path = getattr(sink.config, "path", None)
        if path is None:
            continue
        place = sink.entries["path"].node.place
        for who, other, where in taken:
            if _overlap(path, other):
                line = f" in line {where.line}" if where.line > 1 else ""
                mistakes.add(place, f"sinks.{name}.path",
                             f"lies in the same folder as {who}{line}", got=repr(path),
                             hint="give each a folder of its own")
                break
        taken.append((f"the sink {name!r}", path, place))


def _overlap(one: str, other: str) -> bool:
    """Whether one of two folders is, or lies in, the other; of a glob what stands before it."""
    if ("://" in one) != ("://" in other):
        return False
    paths = [_fixed(p) for p in (one, other)]
    return any(a == b or a.startswith(b.rstrip("/") + "/") for a, b in (paths, paths[::-1]))


def _fixed(path: str) -> str:
    if "://" in path:
        return path.rstrip("/")
    parts = Path(os.path.normpath(path)).parts
    fixed = [p for i, p in enumerate(parts) if not any(_GLOB & set(q) for q in parts[:i + 1])]
    return str(Path(*fixed)) if fixed else "."


def _check_there(name: str, path: str, place: Place, mistakes: Mistakes) -> None:
    if "://" in path or _GLOB & set(path) or Path(path).exists():
        return
    parent = Path(path).parent
    near = [p.name for p in parent.iterdir()] if parent.is_dir() else []
    mistakes.add(place, f"sources.{name}.path", "there is nothing at this path", got=repr(path),
                 hint=did_you_mean(Path(path).name, near) or "make the folder first")
