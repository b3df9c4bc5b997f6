"""A pipeline as data: what `slackwater.pipeline.load` reads from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from slackwater.pipeline.connectors import SinkConfig, SourceConfig
from slackwater.pipeline.mistakes import Mistake
from slackwater.pipeline.secrets import Secrets
from slackwater.pipeline.steps import Step, StreamName

__all__ = ["Branch", "Metrics", "Pipeline", "Sink", "Source"]


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
    """Where a run tells how it is doing: a port for Prometheus, a file of JSON lines."""

    port: int | None = None
    host: str = "127.0.0.1"
    log: str | None = None


@dataclass(frozen=True)
class Branch:
    """What becomes one streaming query: a source or step, and the sinks that hang on it."""

    node: str
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
    schemas: Mapping[StreamName, pa.Schema | None] = field(repr=False, default_factory=dict)
    secrets: Secrets = field(repr=False, compare=False, default_factory=Secrets)
    notes: tuple[Mistake, ...] = ()

    @property
    def branches(self) -> tuple[Branch, ...]:
        """One for each source or step that has sinks, in the order of the steps."""
        found = []
        for node in (*self.sources, *self.steps):
            sinks = tuple(s for s in self.sinks.values() if s.stream.node == node)
            if sinks:
                found.append(Branch(node, sinks))
        return tuple(found)

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
