"""A pipeline as data: what `slackwater.pipeline.load` reads from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from slackwater.core.html import html_text
from slackwater.pipeline.connectors import SinkConfig, SourceConfig
from slackwater.pipeline.mistakes import Mistake
from slackwater.pipeline.secrets import Secrets
from slackwater.pipeline.sql_streams import is_stateless
from slackwater.pipeline.steps import Step, StreamName

__all__ = ["MAIN", "Metrics", "Pipeline", "Query", "Sink", "Source"]

MAIN = "main"
"""The name of the query in which all runs that can run together."""


@dataclass(frozen=True)
class Source:
    """A named source."""

    name: str
    config: SourceConfig


@dataclass(frozen=True)
class Sink:
    """A named sink and the stream that it takes."""

    name: str
    stream: StreamName
    config: SinkConfig


@dataclass(frozen=True)
class Metrics:
    """Where a run tells how it is doing: a port for Prometheus, a file of JSON lines.

    `results`: whether the log holds a few of the rows that sinks get.
    """

    port: int | None = None
    host: str = "127.0.0.1"
    log: str | None = None
    results: bool = True


@dataclass(frozen=True)
class Query:
    """What becomes one streaming query: its nodes, sources first, and its sinks."""

    name: str
    nodes: tuple[str, ...]
    sinks: tuple[Sink, ...]


@dataclass(frozen=True)
class Pipeline:
    """A whole pipeline, checked.

    Parameters
    ----------
    file
        Where it was read from.
    name, checkpoint, spark, metrics, trigger
        See the user's page; a trigger of None: the next micro-batch as soon as one is done.
    sources, sinks
        By name.
    dead_letters
        Where rows go that a sink refuses.
    steps
        By name, each after those that it reads.
    schemas
        The columns of each stream, where they can be told without running; else None.
    secrets
        What no output may show.
    notes
        What is allowed but perhaps not meant.
    """

    file: Path
    name: str
    checkpoint: str
    spark: Mapping[str, str]
    metrics: Metrics
    trigger: str | None
    sources: Mapping[str, Source]
    steps: Mapping[str, Step]
    sinks: Mapping[str, Sink]
    dead_letters: SinkConfig
    schemas: Mapping[StreamName, pa.Schema | None] = field(repr=False, default_factory=dict)
    secrets: Secrets = field(repr=False, compare=False, default_factory=Secrets)
    notes: tuple[Mistake, ...] = ()

    def _repr_html_(self) -> str:
        from slackwater.pipeline.draw import draw

        return html_text(draw(self))

    @property
    def queries(self) -> tuple[Query, ...]:
        """One query for all that runs together; one more for each sink's node that cannot.

        Spark's own stateful SQL, and steps after SQL that follows a step, need a query of their
        own, which runs what they read once more.
        """
        wanted = {s.stream.node for s in self.sinks.values()}
        apart = [node for node in (*self.sources, *self.steps)
                 if node in wanted and self._apart(node)]
        together: dict[str, None] = {}
        for node in (*self.sources, *self.steps):
            if node in wanted and node not in apart:
                together.update(dict.fromkeys(self.upstream(node)))
        order = [n for n in (*self.sources, *self.steps) if n in together]
        found = [Query(MAIN, tuple(order), tuple(
            s for s in self.sinks.values() if s.stream.node not in apart))] if together else []
        return (*found, *(Query(node, tuple(self.upstream(node)), tuple(
            s for s in self.sinks.values() if s.stream.node == node)) for node in apart))

    def _apart(self, node: str) -> bool:
        """Whether something that a node is made of cannot run in the main query."""
        steps = [self.steps[n] for n in self.upstream(node) if n in self.steps]
        late_sql = {s.name for s in steps if s.kind == "sql" and self._follows_a_step(s)}
        return any(not is_stateless(step.text or "") if step.name in late_sql
                   else step.kind != "sql" and any(s.node in late_sql for s in step.inputs)
                   for step in steps)

    def _follows_a_step(self, sql: Step) -> bool:
        """Whether SQL reads, perhaps through other SQL, what a step has made."""
        above = [self.steps[n] for n in self.upstream(sql.name) if n in self.steps]
        return any(step.kind != "sql" for step in above)

    def upstream(self, node: str) -> Iterator[str]:
        """A node and all that it is made of, each once, sources first."""
        seen: dict[str, None] = {}

        def visit(name: str) -> None:
            if name in seen:
                return
            for stream in self.steps[name].inputs if name in self.steps else ():
                visit(stream.node)
            seen[name] = None

        visit(node)
        yield from seen
