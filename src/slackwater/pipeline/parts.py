"""The three parts of a pipeline file, each entry read by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slackwater.core.errors import SlackwaterError, did_you_mean
from slackwater.pipeline.connectors import (
    SINKS,
    SOURCES,
    GatewaySource,
    JsonSink,
    SinkConfig,
    SourceConfig,
)
from slackwater.pipeline.mistakes import Place
from slackwater.pipeline.nodes import UNSET, Entry, Node
from slackwater.pipeline.sql_streams import sql_streams
from slackwater.pipeline.steps import KINDS, OPTIONS, PASSED_ON, Step, StreamName
from slackwater.pipeline.values import BAD, OptionReader, check_names, read_config
from slackwater.query import QueryError, parse, query_kind, streams_of
from slackwater.query.event.query import event_pattern
from slackwater.reorder import as_policy

__all__ = ["ReadSink", "ReadSource", "ReadStep", "read_dead_letters", "read_sinks",
           "read_sources", "read_steps"]

_STREAM = re.compile(r"[A-Za-z]\w*")


@dataclass(frozen=True)
class ReadSource:
    """A source as it stands in the file; no configuration: it is among the mistakes.

    Its columns are known all the same, if they are right.
    """

    place: Place
    config: SourceConfig | None
    entries: Mapping[str, Entry]
    columns: Mapping[str, str] | None


@dataclass(frozen=True)
class ReadSink:
    """A sink as it stands in the file."""

    place: Place
    stream: StreamName | None
    config: SinkConfig | None
    entries: Mapping[str, Entry]


@dataclass(frozen=True)
class ReadStep:
    """A step as it stands in the file.

    Of its options it has those that are right.  `head` is the entry that says what it does.
    """

    step: Step
    place: Place
    head: Entry | None
    entries: Mapping[str, Entry]

    def option(self, name: str) -> Place:
        """Where an option stands, or else the step."""
        return self.entries[name].node.place if name in self.entries else self.place


def _entries(part: str, entry: Entry, reader: OptionReader) -> dict[str, Entry] | None:
    where = f"{part}.{entry.name}"
    if not _STREAM.fullmatch(entry.name):
        reader.mistakes.add(entry.place, where, f"{entry.name!r} is not a name for a stream",
                            expected="letters, digits and _, a letter first")
    if not isinstance(entry.node.value, dict):
        reader.mistakes.add(entry.place, where, "needs options",
                            expected=f"{entry.name}: {{…}}")
        return None
    return entry.node.value


def _kind(part: str, entry: Entry, options: dict[str, Entry], kinds: Mapping[str, Any],
          reader: OptionReader) -> Any:
    where = f"{part}.{entry.name}"
    if "kind" not in options:
        reader.mistakes.add(entry.place, where, "kind is missing",
                            expected=f"one of {', '.join(kinds)}")
        return None
    node = options["kind"].node
    if node.value is UNSET:
        return None
    if node.value not in kinds:
        known = list(kinds)
        reader.bad(node, f"{where}.kind", f"there is no {part[:-1]} of the kind {node.value!r}",
                   expected=f"one of {', '.join(known)}",
                   hint=did_you_mean(str(node.value), known))
        return None
    return kinds[node.value]


def read_sources(given: Mapping[str, Entry], reader: OptionReader,
                 pipeline: str) -> dict[str, ReadSource]:
    """The sources."""
    found = {}
    for name, entry in given.items():
        options = _entries("sources", entry, reader)
        config, values = None, dict[str, Any]()
        if options is not None and (kind := _kind("sources", entry, options, SOURCES, reader)):
            config, values = read_config(kind, options, entry.place, f"sources.{name}", reader,
                                         ("kind",))
            if isinstance(config, GatewaySource) and config.reader is None:
                config = replace(config, reader=pipeline)
        columns = values.get("columns") if config is None else config.declared
        found[name] = ReadSource(entry.place, config, options or {}, columns)
    return found


def read_sinks(given: Mapping[str, Entry], reader: OptionReader) -> dict[str, ReadSink]:
    """The sinks."""
    found = {}
    for name, entry in given.items():
        options = _entries("sinks", entry, reader)
        config = stream = None
        if options is not None:
            stream = _stream(options, entry, f"sinks.{name}", reader)
            if kind := _kind("sinks", entry, options, SINKS, reader):
                config, _ = read_config(kind, options, entry.place, f"sinks.{name}", reader,
                                        ("from", "kind"))
        found[name] = ReadSink(entry.place, stream, config, options or {})
    return found


def read_dead_letters(entry: Entry | None, checkpoint: str,
                      reader: OptionReader) -> SinkConfig | None:
    """Where rows go that a sink refuses: a sink like others, else a folder in the checkpoint."""
    if entry is None:
        return JsonSink(f"{checkpoint}/dead_letters")
    if not isinstance(entry.node.value, dict):
        reader.bad(entry.node, "dead_letters", "needs a kind and its options",
                   expected="{kind: json, path: dead_letters}")
        return None
    kind = _kind("sinks", replace(entry, name="dead_letters"), entry.node.value, SINKS, reader)
    if kind is None:
        return None
    config: SinkConfig | None = read_config(kind, entry.node.value, entry.place, "dead_letters",
                                            reader, ("kind",))[0]
    return config


def _stream(options: Mapping[str, Entry], entry: Entry, where: str,
            reader: OptionReader) -> StreamName | None:
    if "from" not in options:
        reader.mistakes.add(entry.place, where, "from is missing",
                            expected="the stream that it takes: NAME, NAME.late, NAME.quarantined")
        return None
    text = reader.read("text", options["from"].node, f"{where}.from")
    return None if text is BAD else StreamName.parse(text)


def read_steps(given: Mapping[str, Entry], reader: OptionReader) -> dict[str, ReadStep]:
    """The steps."""
    return {name: _StepReader(entry, reader).read() for name, entry in given.items()}


class _StepReader:
    def __init__(self, entry: Entry, reader: OptionReader) -> None:
        self._entry, self._reader, self._where = entry, reader, f"steps.{entry.name}"

    def read(self) -> ReadStep:
        entries = _entries("steps", self._entry, self._reader)
        head = None if entries is None else self._head(entries)
        kind, inputs, text = ("", (), None) if head is None else self._what(head, entries or {})
        options: dict[str, Any] = {}
        if kind and head is not None and entries is not None:
            options = self._options(kind, head, entries)
        step = Step(self._entry.name, kind, inputs, text, options)
        return ReadStep(step, self._entry.place, head, entries or {})

    def _head(self, entries: dict[str, Entry]) -> Entry | None:
        heads = [entries[kind] for kind in KINDS if kind in entries]
        if len(heads) == 1:
            return heads[0]
        if heads:
            self._reader.mistakes.add(heads[1].place, self._where, "a step does one thing",
                                      expected=f"one of {', '.join(KINDS)}",
                                      got=" and ".join(h.name for h in heads))
            return None
        close = next((hint for name in entries if (hint := did_you_mean(name, KINDS))), None)
        self._reader.mistakes.add(self._entry.place, self._where, "does not say what it does",
                                  expected=f"one of {', '.join(KINDS)}", hint=close)
        return None

    def _what(self, head: Entry,
              entries: Mapping[str, Entry]) -> tuple[str, tuple[StreamName, ...], str | None]:
        where = f"{self._where}.{head.name}"
        if head.name == "correlate":
            names = self._reader.read("texts", head.node, where)
            if names is not BAD and len(names) != 2:
                names = self._reader.bad(head.node, where, "needs two streams",
                                         expected="[left, right]")
            inputs = () if names is BAD else tuple(StreamName.parse(n) for n in names)
            return "correlate", inputs, None
        text = self._reader.read("text", head.node, where)
        if text is BAD:
            return "", (), None
        if head.name in PASSED_ON:
            return head.name, (StreamName.parse(text),), None
        if head.name == "sql":
            names = sql_streams(text)
            if not names:
                self._reader.bad(head.node, where, "reads no stream",
                                 expected="SELECT … FROM a stream of this pipeline")
            return "sql", tuple(StreamName.parse(n) for n in names), text
        try:
            return self._query(text, head.node, entries, where)
        except QueryError as error:
            self._reader.mistakes.add_error(
                head.node.text_place(error.line or 1, error.column or 1), where, error)
            return "", (), text

    def _query(self, text: str, node: Node, entries: Mapping[str, Entry],
               where: str) -> tuple[str, tuple[StreamName, ...], str]:
        kind, query = query_kind(text), parse(text)
        if query.explain:
            self._reader.bad(node, where, "EXPLAIN gives no rows",
                             hint="slackwater query 'EXPLAIN …' prints the plan")
        streams = tuple(StreamName.parse(name) for name in streams_of(query))
        if kind != "event":
            return "pairs" if kind == "correlate" else kind, streams, text
        event_pattern(text)  # what is wrong with it is to be told here
        if "from" not in entries:
            self._reader.mistakes.add(self._entry.place, self._where, "from is missing",
                                      expected="the stream that the pattern is looked for in")
            return "event", (), text
        name = self._reader.read("text", entries["from"].node, f"{self._where}.from")
        return "event", () if name is BAD else (StreamName.parse(name),), text

    def _options(self, kind: str, head: Entry, entries: Mapping[str, Entry]) -> dict[str, Any]:
        known = OPTIONS[kind]
        check_names(entries, [head.name, *known], self._where, self._reader.mistakes)
        found: dict[str, Any] = {}
        for name, what in known.items():
            if name not in entries or what == "stream":
                continue
            node, where = entries[name].node, f"{self._where}.{name}"
            if isinstance(what, tuple):
                value = self._reader.read("choice", node, where, what)
            elif what in ("policy", "slack"):
                value = self._wait(what, node, where)
            else:
                value = self._reader.read(what, node, where)
            if value is not BAD:
                found[name] = value
        return found

    def _wait(self, what: str, node: Node, where: str) -> Any:
        """A policy; for a slack also a duration."""
        if node.value is UNSET:
            return BAD
        text = str(node.value).strip()
        if what == "slack" and (not isinstance(node.value, str) or text[:1].isdigit()):
            return self._reader.read("duration", node, where)
        try:
            as_policy(text)
        except (SlackwaterError, TypeError) as error:
            problem = error.problem if isinstance(error, SlackwaterError) else str(error)
            step = getattr(error, "step", None)
            if step and step != "policy":
                problem = f"{step}: {problem}"
            return self._reader.bad(node, where, problem, hint=getattr(error, "hint", None),
                                    expected=getattr(error, "expected", None),
                                    got=getattr(error, "got", None))
        return text
