"""From a pipeline file to a checked pipeline, or to all of its mistakes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slackwater.core.errors import ConfigError
from slackwater.pipeline.check_sinks import check_sinks
from slackwater.pipeline.check_steps import check_steps
from slackwater.pipeline.check_streams import in_order
from slackwater.pipeline.document import Metrics, Pipeline, Sink, Source
from slackwater.pipeline.mistakes import Mistakes, PipelineError, Place
from slackwater.pipeline.nodes import Entry, Node, read_nodes
from slackwater.pipeline.parts import read_dead_letters, read_sinks, read_sources, read_steps
from slackwater.pipeline.values import BAD, OptionReader, check_names

__all__ = ["load", "parse"]

_TOP = ("name", "checkpoint", "spark", "metrics", "trigger", "dead_letters", "sources", "steps",
        "sinks")
_NAME = re.compile(r"[A-Za-z][\w.-]{0,99}")


def load(file: str | Path, environment: Mapping[str, str] | None = None) -> Pipeline:
    """Read and check a pipeline file.

    Parameters
    ----------
    file
        YAML.
    environment
        For ``${NAME}`` and ``${NAME:-default}``; default: the process's.

    Raises
    ------
    PipelineError
        With every mistake, its line and a hint.
    """
    path = Path(file)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError("is not a text in UTF-8", step=str(file), got=error.reason) from None
    except IsADirectoryError:
        raise ConfigError("is a folder", step=str(file), expected="a pipeline file") from None
    return parse(text, path, environment)


def parse(text: str, file: str | Path = "pipeline.yaml",
          environment: Mapping[str, str] | None = None) -> Pipeline:
    """The same for a text; relative paths are relative to the folder of `file`."""
    path = Path(file)
    mistakes = Mistakes()
    root = read_nodes(text, os.environ if environment is None else environment, mistakes)
    pipeline = None
    if root is not None:
        if isinstance(root.value, dict):
            pipeline = _pipeline(root, path, mistakes)
        else:
            mistakes.add(root.place, "", "a pipeline is a mapping",
                         expected="name:, sources:, steps: and sinks:")
    if len(mistakes) or pipeline is None:
        raise PipelineError(str(file), mistakes.found)
    return pipeline


def _pipeline(root: Node, path: Path, mistakes: Mistakes) -> Pipeline | None:
    folder = path.resolve().parent
    top: dict[str, Entry] = root.value
    reader = OptionReader(mistakes, folder)
    check_names(top, _TOP, "", mistakes, "part")
    name = _name(top, path, reader)
    checkpoint = str(folder / ".slackwater" / name)
    if "checkpoint" in top:
        checkpoint = reader.read("path", top["checkpoint"].node, "checkpoint")
    spark = reader.read("settings", top["spark"].node, "spark") if "spark" in top else {}
    trigger = (reader.read("duration", top["trigger"].node, "trigger") if "trigger" in top
               else None)
    metrics = _metrics(top, reader)
    dead = read_dead_letters(top.get("dead_letters"), str(checkpoint), reader)
    sources = read_sources(_part(top, "sources", root, mistakes), reader, name)
    steps = read_steps(_part(top, "steps", root, mistakes), reader)
    sinks = read_sinks(_part(top, "sinks", root, mistakes), reader)
    ordered = in_order(sources, steps, sinks, mistakes)
    schemas, notes = check_steps(sources, ordered, mistakes)
    notes += check_sinks(sources, ordered, sinks, schemas, str(checkpoint), mistakes)
    if len(mistakes) or dead is None:
        return None
    return Pipeline(
        path, name, checkpoint, spark, metrics, trigger,
        {n: Source(n, s.config) for n, s in sources.items() if s.config is not None},
        {s.step.name: s.step for s in ordered},
        {n: Sink(n, s.stream, s.config) for n, s in sinks.items()
         if s.stream is not None and s.config is not None},
        dead, schemas, mistakes.secrets, tuple(notes))


def _name(top: Mapping[str, Entry], path: Path, reader: OptionReader) -> str:
    if "name" not in top:
        return re.sub(r"[^\w.-]", "-", path.stem).lstrip("0123456789_.-") or "pipeline"
    name = reader.read("text", top["name"].node, "name")
    if name is BAD:
        return "pipeline"
    if not _NAME.fullmatch(name):
        # it becomes a folder's name, a transaction's, a reader's
        reader.bad(top["name"].node, "name", "is not a name", got=repr(name),
                   expected="letters, digits, - _ . and a letter first")
        return "pipeline"
    return str(name)


def _metrics(top: Mapping[str, Entry], reader: OptionReader) -> Metrics:
    if "metrics" not in top:
        return Metrics()
    node = top["metrics"].node
    if not isinstance(node.value, dict):
        reader.bad(node, "metrics", "needs a port or a log",
                   expected="{port: 9400, log: run.jsonl}")
        return Metrics()
    kinds = {"port": "port", "host": "text", "log": "path", "results": "flag"}
    check_names(node.value, kinds, "metrics", reader.mistakes)
    found: dict[str, Any] = {
        name: reader.read(kind, node.value[name].node, f"metrics.{name}")
        for name, kind in kinds.items() if name in node.value}
    return Metrics(**{n: v for n, v in found.items() if v is not BAD})


def _part(top: Mapping[str, Entry], part: str, root: Node, mistakes: Mistakes) -> dict[str, Entry]:
    if part not in top:
        if part != "steps":
            mistakes.add(Place(root.place.line, root.place.column), part,
                         f"there are no {part}", hint=f"add {part}: with at least one")
        return {}
    node = top[part].node
    if node.value is None and part == "steps":
        return {}
    if not isinstance(node.value, dict) or not node.value:
        mistakes.add(top[part].place, part, "needs names, each with its options",
                     expected=f"{part}: {{name: {{…}}}}")
        return {}
    return node.value
