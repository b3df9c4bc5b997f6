"""Reading options: what stands in the file against what may stand there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from slackwater.core.durations import micros
from slackwater.core.errors import SlackwaterError, did_you_mean
from slackwater.core.names import ARRIVAL, RAW, is_reserved
from slackwater.pipeline.avro_schema import avro_schema
from slackwater.pipeline.columns import arrow_type
from slackwater.pipeline.mistakes import Mistakes, Place
from slackwater.pipeline.nodes import UNSET, Entry, Node
from slackwater.pipeline.option import is_secret_name, required, value_kind
from slackwater.pipeline.secrets import credentials

__all__ = ["BAD", "OptionReader", "check_names", "read_config"]

BAD = object()
"""Stands for a value that is among the mistakes."""

_CUT = 'inside { } a comma ends the value: put it in quotes, "name(a=1, b=2)"'
_SERVER = re.compile(r"(?:[a-z]+://)?(?:[^@/\s]*@)?(\[[0-9a-fA-F:]+\]|[\w.-]+)(?::(\d+))?/?")


def check_names(entries: Mapping[str, Entry], known: Iterable[str], where: str,
                mistakes: Mistakes, what: str = "option") -> None:
    """Note names that mean nothing here."""
    known = list(known)
    for entry in entries.values():
        if entry.name not in known:
            mistakes.add(entry.place, f"{where}.{entry.name}" if where else entry.name,
                         f"there is no {what} {entry.name!r} here",
                         expected=f"one of {', '.join(known)}",
                         hint=_CUT if ")" in entry.name else did_you_mean(entry.name, known))


class OptionReader:
    """Turns nodes into values; a value that cannot be is noted, and read as `BAD`."""

    def __init__(self, mistakes: Mistakes, folder: Path) -> None:
        self.mistakes, self._folder = mistakes, folder

    def read(self, kind: str, node: Node, where: str, choices: tuple[str, ...] = ()) -> Any:
        """A value of this kind (see `option`)."""
        if node.value is UNSET:
            return BAD
        if kind == "choice":
            return self._choice(node, where, choices)
        reader: Callable[[Node, str], Any] = getattr(self, f"_{kind}")
        return reader(node, where)

    def bad(self, node: Node, where: str, problem: str, **more: Any) -> Any:
        """Note a mistake."""
        self.mistakes.add(node.place, where, problem, **more)
        return BAD

    def _text(self, node: Node, where: str) -> Any:
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return str(node.value)
        if not isinstance(node.value, str) or not node.value.strip():
            return self.bad(node, where, "needs a text", got=_told(node))
        return node.value

    def _texts(self, node: Node, where: str) -> Any:
        if not isinstance(node.value, list):
            text = self._text(node, where)
            return BAD if text is BAD else (text,)
        if not node.value:
            return self.bad(node, where, "the list is empty")
        read = [self._text(one, f"{where}[{i}]") for i, one in enumerate(node.value)]
        return BAD if BAD in read else tuple(read)

    def _keys(self, node: Node, where: str) -> Any:
        names = () if node.value == [] else self._texts(node, where)
        if names is not BAD and len(set(names)) < len(names):
            return self.bad(node, where, "a column is named twice", got=", ".join(names))
        return names

    _key = _text

    def _path(self, node: Node, where: str) -> Any:
        text = self._text(node, where)
        if text is BAD or "://" in text:
            return text
        return str(self._folder / Path(text).expanduser())

    def _avro(self, node: Node, where: str) -> Any:
        text = self._text(node, where)
        try:
            return BAD if text is BAD else avro_schema(text, self._folder)
        except SlackwaterError as error:
            return self._refused(node, where, error)

    def _avros(self, node: Node, where: str) -> Any:
        if not isinstance(node.value, dict) or not node.value:
            return self.bad(node, where, "needs ids with schemas", got=_told(node),
                            expected="{7: event.avsc}")
        read = {str(name): self.read("avro", entry.node, f"{where}.{name}")
                for name, entry in node.value.items()}
        return BAD if BAD in read.values() else read

    def _refused(self, node: Node, where: str, error: SlackwaterError) -> Any:
        return self.bad(node, where, error.problem, expected=error.expected, got=error.got,
                        hint=error.hint)

    def _choice(self, node: Node, where: str, choices: tuple[str, ...]) -> Any:
        if node.value not in choices:
            return self.bad(node, where, "is not known here", got=_told(node),
                            expected=f"one of {', '.join(choices)}",
                            hint=did_you_mean(str(node.value), choices))
        return node.value

    def _count(self, node: Node, where: str) -> Any:
        if node.value is None:
            return None
        if not isinstance(node.value, int) or isinstance(node.value, bool) or node.value < 1:
            return self.bad(node, where, "needs a whole number from 1", got=_told(node))
        return node.value

    def _port(self, node: Node, where: str) -> Any:
        if not isinstance(node.value, int) or isinstance(node.value, bool) or not (
                0 < node.value < 65536):
            return self.bad(node, where, "is not a port", expected="a number from 1 to 65535",
                            got=_told(node))
        return node.value

    def _share(self, node: Node, where: str) -> Any:
        text = str(node.value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 < share <= 1 or isinstance(node.value, bool):
            return self.bad(node, where, "is not a share", expected="80%, or 0.8", got=_told(node))
        return share

    def _flag(self, node: Node, where: str) -> Any:
        if not isinstance(node.value, bool):
            return self.bad(node, where, "needs true or false", got=_told(node))
        return node.value

    def _duration(self, node: Node, where: str) -> Any:
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return self.bad(node, where, "a duration needs a unit", got=_told(node),
                            hint=f"{node.value}s, or {node.value}ms?")
        try:
            micros(node.value, name="duration")
        except SlackwaterError as error:
            return self._refused(node, where, error)
        return node.value

    def _maybe_duration(self, node: Node, where: str) -> Any:
        # `none` is what a person writes who does not know that YAML says null
        if node.value is None or str(node.value).lower() == "none":
            return None
        return self._duration(node, where)

    def _columns(self, node: Node, where: str) -> Any:
        if not isinstance(node.value, dict) or not node.value:
            return self.bad(node, where, "needs names with types", got=_told(node),
                            expected="{time: timestamp, device: string, value: double}")
        found: dict[str, str] = {}
        good = True
        for name, entry in node.value.items():
            if is_reserved(name) or name.casefold() in (ARRIVAL, RAW):
                good = False
                self.mistakes.add(entry.place, f"{where}.{name}",
                                  f"{name!r} is a name that Slackwater gives itself",
                                  hint="rename the column")
            if entry.node.value is UNSET:
                good = False
                continue
            try:
                arrow_type(str(entry.node.value))
                found[name] = str(entry.node.value)
            except SlackwaterError as error:
                good = False
                self.mistakes.add(entry.node.place, f"{where}.{name}", error.problem,
                                  expected=error.expected, hint=error.hint)
        return found if good else BAD

    def _settings(self, node: Node, where: str) -> Any:
        if not isinstance(node.value, dict):
            return self.bad(node, where, "needs names with values", got=_told(node))
        found: dict[str, str] = {}
        good = True
        for name, entry in node.value.items():
            value = entry.node.value
            if value is UNSET:
                good = False
                continue
            if isinstance(value, (dict, list)) or value is None:
                self.bad(entry.node, f"{where}.{name}", "needs a single value")
                good = False
                continue
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
            if is_secret_name(name):
                self.mistakes.secrets.add(found[name])
        return found if good else BAD

    def _servers(self, node: Node, where: str) -> Any:
        given = self._texts(node, where)
        if given is BAD:
            return BAD
        servers = [s.strip() for text in given for s in text.split(",")]
        for server in servers:
            for secret in credentials(server):
                self.mistakes.secrets.add(secret)
            found = _SERVER.fullmatch(server)
            if found is None or (found[2] and not 0 < int(found[2]) < 65536):
                return self.bad(node, where, "is not the address of a server", got=repr(server),
                                expected="host:port, with a port from 1 to 65535")
        return ",".join(servers)

    def _url(self, node: Node, where: str) -> Any:
        return self._address_of(node, where, r"postgres(ql)?://", "a PostgreSQL database",
                                "postgresql://user:password@host:port/database")

    def _address(self, node: Node, where: str) -> Any:
        return self._address_of(node, where, r"https?://[^/]", "a server that speaks HTTP",
                                "http://host:port")

    def _address_of(self, node: Node, where: str, begins: str, what: str, expected: str) -> Any:
        text = self._text(node, where)
        if text is BAD:
            return BAD
        for secret in credentials(text):
            self.mistakes.secrets.add(secret)
        if not re.match(begins, text):
            return self.bad(node, where, f"is not the address of {what}", expected=expected)
        return text


def _told(node: Node) -> str:
    if isinstance(node.value, dict):
        return "a mapping"
    if isinstance(node.value, list):
        return "a list"
    return "nothing" if node.value is None else repr(node.value)


def read_config(kind: Any, entries: Mapping[str, Entry], place: Place, where: str,
                reader: OptionReader, besides: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
    """A connector's configuration, or None if some of its options are among the mistakes.

    With it the options that are right; `besides` are names that stand beside them (kind, from).
    """
    mistakes = reader.mistakes
    known = {one.name: one for one in fields(kind)}
    before = len(mistakes)
    check_names(entries, [*besides, *known], where, mistakes)
    values: dict[str, Any] = {}
    whole = True
    for name, one in known.items():
        if name not in entries:
            strangers = [n for n in entries if n not in known and n not in besides]
            if required(one) and not any(did_you_mean(n, [name]) for n in strangers):
                mistakes.add(place, where, f"{name} is missing", expected=one.metadata["doc"])
            whole = whole and not required(one)
            continue
        node = entries[name].node
        if one.metadata["secret"] and isinstance(node.value, (str, int)):
            mistakes.secrets.add(str(node.value))
        if node.value is None and one.default is None:
            continue
        value = reader.read(value_kind(one), node, f"{where}.{name}", one.metadata["choices"])
        if value is not BAD:
            values[name] = value
        else:
            whole = False
    if len(mistakes) > before or not whole:
        return None, values
    config = kind(**values)
    for name, problem, hint in config.faults():
        at = entries[name].node.place if name in entries else place
        mistakes.add(at, f"{where}.{name}", problem, hint=hint)
    return (config if len(mistakes) == before else None), values
