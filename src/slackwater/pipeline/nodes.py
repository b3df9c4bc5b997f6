"""YAML with the place of everything in it, and parameters from the environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml  # type: ignore[import-untyped]

from slackwater.pipeline.mistakes import Mistakes, Place
from slackwater.pipeline.option import is_secret_name

__all__ = ["UNSET", "Entry", "Node", "read_nodes"]

UNSET = object()
"""The value of a node with a parameter that is not set: among the mistakes already."""

_VARIABLE = re.compile(r"\$(?:\$(?=\{)|\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\})")


@dataclass(frozen=True)
class Node:
    """A value of the file.

    Parameters
    ----------
    value
        Text, a number, a truth value or None; a list of nodes; or the entries of a mapping by name.
    place
        Where it begins.
    block
        Whether it is a block of text (``|`` or ``>``), whose first line is the one below.
    """

    value: Any
    place: Place
    block: bool = False

    @property
    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {name: entry.node.plain for name, entry in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain for node in self.value]
        return self.value

    def text_place(self, line: int, column: int) -> Place:
        """Where a line of the text itself stands in the file, as well as can be told."""
        if self.block:
            return Place(self.place.line + line, 1)
        return self.place if line == 1 else Place(self.place.line + line - 1, column)


@dataclass(frozen=True)
class Entry:
    """A name of a mapping and its value."""

    name: str
    place: Place
    node: Node


@dataclass
class _Reader:
    environment: Mapping[str, str]
    mistakes: Mistakes
    resolver: Any = field(default_factory=lambda: yaml.SafeLoader(""))

    def node(self, given: yaml.Node, where: str) -> Node:
        place = Place(given.start_mark.line + 1, given.start_mark.column + 1)
        if isinstance(given, yaml.MappingNode):
            return Node(self._entries(given, where), place)
        if isinstance(given, yaml.SequenceNode):
            return Node([self.node(v, f"{where}[{i}]") for i, v in enumerate(given.value)], place)
        return Node(self._scalar(given, place, where), place, given.style in ("|", ">"))

    def _entries(self, given: yaml.MappingNode, where: str) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for key, value in given.value:
            name = str(key.value)
            place = Place(key.start_mark.line + 1, key.start_mark.column + 1)
            path = f"{where}.{name}" if where else name
            if name in found:
                self.mistakes.add(place, path, f"{name!r} is there twice",
                                  hint=f"the first is in line {found[name].place.line}")
                continue
            found[name] = Entry(name, place, self.node(value, path))
        return found

    def _scalar(self, given: yaml.ScalarNode, place: Place, where: str) -> Any:
        before = len(self.mistakes)
        text = _VARIABLE.sub(lambda m: self._variable(m, place, where), given.value)
        if len(self.mistakes) > before:
            return UNSET
        if given.style is not None:
            return text  # quoted, or a block: text, whatever it looks like
        tag = given.tag
        if text != given.value:
            tag = self.resolver.resolve(yaml.ScalarNode, text, (True, False))
        kind = tag.rpartition(":")[2]
        if kind not in ("null", "bool", "int", "float"):
            return text  # a date too: a pipeline has none
        return self.resolver.construct_object(yaml.ScalarNode(tag, text))

    def _variable(self, found: re.Match[str], place: Place, where: str) -> str:
        name = found["name"]
        if name is None:
            return "$"
        value = self.environment.get(name) or found["default"]
        if value is None:
            self.mistakes.add(place, where, f"the environment variable {name} is not set",
                              hint=f"set it, or give a default: ${{{name}:-…}}")
            return ""
        if is_secret_name(name):
            self.mistakes.secrets.add(value)
        return value


def read_nodes(text: str, environment: Mapping[str, str], mistakes: Mistakes) -> Node | None:
    """Read a file's text; None if it is no YAML, which is then among the mistakes."""
    try:
        # the pure Python composer: libyaml's has the same nodes, but vaguer messages
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(1, 1) if mark is None else Place(mark.line + 1, mark.column + 1)
        mistakes.add(place, "", f"this is not YAML: {error.problem}", hint=_yaml_hint(text, place))
        return None
    except yaml.YAMLError as error:
        mistakes.add(Place(1, 1), "", f"this is not YAML: {' '.join(str(error).split())}")
        return None
    if root is None:
        mistakes.add(Place(1, 1), "", "the file is empty",
                     hint="begin with name:, sources:, steps: and sinks:")
        return None
    for alias in _cycles(root, ()):
        place = Place(alias.start_mark.line + 1, alias.start_mark.column + 1)
        mistakes.add(place, "", "an anchor contains itself")
        return None
    return _Reader(environment, mistakes).node(root, "")


def _cycles(node: yaml.Node, above: tuple[int, ...]) -> Iterator[yaml.Node]:
    if id(node) in above:
        yield node
        return
    inside: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        inside = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        inside = node.value
    for part in inside:
        yield from _cycles(part, (*above, id(node)))


def _yaml_hint(text: str, place: Place) -> str | None:
    lines = text.splitlines()
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    if "${" in line:
        return 'inside { } a parameter needs quotes: "${NAME}"'
    if "\t" in line[:len(line) - len(line.lstrip())]:
        return "indent with spaces, not with tabs"
    if re.search(r":\s*(SELECT|EVENT)\b", line, re.IGNORECASE):
        return 'put a query in quotes: query: "SELECT …", or below: query: |'
    return None
