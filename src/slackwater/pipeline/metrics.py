"""A run in numbers: per stream, per query, per source."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slackwater.pipeline.document import Pipeline
from slackwater.pipeline.option import shown
from slackwater.pipeline.run_log import RunLog, stamped
from slackwater.pipeline.steps import Step
from slackwater.query import parse_as
from slackwater.query.select.tree import Select
from slackwater.reorder import Policy, as_policy, default_policy

__all__ = ["Health", "Numbers", "QueryNumbers", "StreamNumbers", "loss_bound"]

QUANTILES = (0.5, 0.95, 0.99)

_SOURCES_EVERY = 5.0  # seconds: producers are many, and a log that names them each second is long
_MOST_RESULTS = 20    # rows of a stream that one line holds


@dataclass
class StreamNumbers:
    """What is known of one source or step since the run began.

    `latency` (release − time, by quantile), `buffer` (mean wait) and `lag` (arrival clock −
    watermark), in seconds, are of the last micro-batch that had such rows.
    """

    rows: int = 0
    ready: int = 0
    late: int = 0
    quarantined: int = 0
    unreadable: int = 0
    bound: float | None = None
    latency: tuple[float, ...] = ()
    buffer: float | None = None
    lag: float | None = None

    @property
    def late_share(self) -> float | None:
        """Late rows ÷ rows with a usable time."""
        told = self.ready + self.late
        return self.late / told if told else None

    def to_dict(self, rows_in: int) -> dict[str, Any]:
        """For tables and machines; `rows_in` is what the node took in."""
        return {"in": rows_in, "ready": self.ready, "late": self.late,
                "quarantined": self.quarantined, "unreadable": self.unreadable,
                "late_share": self.late_share, "bound": self.bound,
                "latency": dict(zip(("p50", "p95", "p99"), self.latency, strict=False)),
                "buffer": self.buffer, "lag": self.lag}

    def add(self, told: Mapping[str, Any]) -> None:
        """Count what was told of a micro-batch; its times are in microseconds."""
        for name in ("ready", "late", "quarantined", "unreadable"):
            setattr(self, name, getattr(self, name) + (told.get(name) or 0))
        self.rows += told.get("ready") or 0
        if told.get("latency"):
            self.latency = tuple(v / 1e6 for v in told["latency"])
        if told.get("buffer") is not None:
            self.buffer = told["buffer"] / 1e6
        if told.get("clock") is not None and told.get("watermark") is not None:
            self.lag = (told["clock"] - told["watermark"]) / 1e6


@dataclass
class QueryNumbers:
    """What is known of one streaming query."""

    batches: int = 0
    seconds: float = 0.0
    last: float = 0.0
    rows: int = 0
    state_rows: int = 0
    state_bytes: int = 0


@dataclass
class Health:
    """What is known of one producer of a stream."""

    rows: int = 0
    late: int = 0
    seen: float = 0.0


@dataclass
class Numbers:
    """All numbers of a run.  One thread adds, others may read.

    Parameters
    ----------
    pipeline
        Whose run.
    warn
        Called with what someone should look at.
    listeners
        Called with each line that the run log gets, whether there is a log or not.
    """

    pipeline: Pipeline
    streams: dict[str, StreamNumbers] = field(default_factory=dict)
    queries: dict[str, QueryNumbers] = field(default_factory=dict)
    sources: dict[tuple[str, str], Health] = field(default_factory=dict)
    began: float = field(default_factory=time.time)
    warn: Callable[[str], None] | None = None
    dead_letters: dict[str, int] = field(default_factory=dict)
    """Rows that each sink has refused."""
    listeners: tuple[Callable[[dict[str, Any]], None], ...] = ()

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self._log: RunLog | None = None
        self._news: list[dict[str, Any]] = []
        self._changed: set[tuple[str, str]] = set()  # producers seen since the log named them
        self._sources_due = 0.0
        self._taken = {str(sink.stream) for sink in self.pipeline.sinks.values()}
        used = {node for query in self.pipeline.queries for node in query.nodes}
        for name in (*self.pipeline.sources, *self.pipeline.steps):
            if name in used:
                step = self.pipeline.steps.get(name)
                self.streams[name] = StreamNumbers(bound=None if step is None else
                                                   loss_bound(step))
        for query in self.pipeline.queries:
            self.queries[query.name] = QueryNumbers()

    def rows_in(self, name: str) -> int:
        """Rows that a node took in: of a source what it read, of a step what its inputs gave."""
        step = self.pipeline.steps.get(name)
        if step is None:
            return self.streams[name].rows
        return sum(int(getattr(self.streams[s.node], s.outcome)) for s in step.inputs)

    def batch(self, query: str, number: int, seconds: float, rows: int, state_rows: int,
              state_bytes: int) -> None:
        """Count a micro-batch of a query."""
        with self.lock:
            mine = self.queries[query]
            mine.batches += 1
            mine.seconds += seconds
            mine.last, mine.rows = seconds, mine.rows + rows
            mine.state_rows, mine.state_bytes = state_rows, state_bytes
        self._news.append({"event": "batch", "query": query, "batch": number, "rows": rows,
                           "seconds": round(seconds, 3), "state_rows": state_rows,
                           "state_bytes": state_bytes})

    def seen(self, stream: str, rows: Mapping[str, int], late: Mapping[str, int],
             when: float) -> None:
        """Count rows of a stream's producers."""
        with self.lock:
            for name, count in rows.items():
                health = self.sources.setdefault((stream, name), Health())
                health.rows += count
                health.late += late.get(name, 0)
                health.seen = max(health.seen, when)
                self._changed.add((stream, name))

    def results(self, stream: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note a few of the rows that a stream has given to a sink; more than a few are left out.

        The rows are made of what JSON can hold (see `slackwater.pipeline.brief`).
        """
        if rows and stream in self._taken and self.pipeline.metrics.results:
            self._news.append({"event": "results", "stream": stream,
                               "rows": list(rows[-_MOST_RESULTS:])})

    def refused(self, counts: Mapping[str, int]) -> None:
        """Note how many rows sinks have refused since the run began, and warn of more."""
        for sink, count in counts.items():
            before = self.dead_letters.get(sink, 0)
            if count == before:
                continue
            with self.lock:
                self.dead_letters[sink] = count
            where = shown(self.pipeline.dead_letters).get("path")
            self._news.append({"event": "refused", "sink": sink, "rows": count - before})
            if self.warn is not None:
                self.warn(f"sinks.{sink} has refused {count - before} row"
                          f"{'' if count - before == 1 else 's'} ({count} since the start); they "
                          f"are in the dead letters{'' if where is None else f': {where}'}")

    @contextmanager
    def told(self) -> Iterator[None]:
        """While a run lasts: the port answers and the log is written."""
        asked = self.pipeline.metrics
        with ExitStack() as open_things:
            if asked.log is not None:
                self._log = open_things.enter_context(RunLog(Path(asked.log)))
            if asked.port is not None:
                from slackwater.pipeline.metrics_server import serve_metrics

                open_things.enter_context(serve_metrics(self, asked.host, asked.port))
            self._write({"event": "start", "pipeline": self.pipeline.name, "nodes": self._nodes(),
                         "sinks": {s.name: str(s.stream) for s in self.pipeline.sinks.values()}})
            try:
                yield
            except BaseException as error:
                words = self.pipeline.secrets.redact(str(error)) or type(error).__name__
                self._write_sources()
                self._write({"event": "failed", "error": words})
                raise
            else:
                self._write_sources()
                self._write({"event": "stop", "streams": self.summary()})

    def tell(self) -> None:
        """Write what happened since the last time to the log."""
        news, self._news = self._news, []
        if time.monotonic() >= self._sources_due:
            self._write_sources()
        if not news:
            return
        news.sort(key=lambda line: line["event"] == "batch")  # so that a batch has the numbers
        for line in news[:-1]:
            self._write(line)
        self._write({**news[-1], "streams": self.summary()})

    def _write_sources(self) -> None:
        with self.lock:
            changed, self._changed = self._changed, set()
            by_stream: dict[str, dict[str, Any]] = {}
            for stream, name in sorted(changed):
                one = self.sources[stream, name]
                by_stream.setdefault(stream, {})[name] = [one.rows, one.late, round(one.seen, 3)]
        if by_stream:
            self._sources_due = time.monotonic() + _SOURCES_EVERY
            self._write({"event": "sources", "sources": by_stream})

    def _write(self, line: Mapping[str, Any]) -> None:
        whole = stamped(line)
        if self._log is not None:
            self._log.write(whole)
        for listener in self.listeners:
            listener(whole)

    def _nodes(self) -> dict[str, dict[str, Any]]:
        """What each stream is made by, and of what."""
        steps = self.pipeline.steps
        return {name: {"kind": steps[name].kind, "inputs": [str(s) for s in steps[name].inputs]}
                if name in steps else {"kind": "source", "inputs": []} for name in self.streams}

    def summary(self) -> dict[str, dict[str, Any]]:
        """The numbers of each stream, for tables and machines."""
        with self.lock:
            return {name: one.to_dict(self.rows_in(name)) for name, one in self.streams.items()}


def loss_bound(step: Step) -> float | None:
    """The share of late rows that a step promises to stay under, if its policy has one."""
    if step.kind == "select" and (ratio := parse_as(Select, step.text).dratio) is not None:
        return float(ratio)
    if step.kind not in ("reorder", "select", "event"):
        return None
    named = step.options.get("policy", step.options.get("slack"))
    if named is None:
        policy = default_policy(step.options.get("source"))
    elif isinstance(named, Policy) or not str(named)[:1].isdigit():
        policy = as_policy(named)
    else:
        return None
    return None if policy.bound is None else float(getattr(policy, policy.bound))
