"""A run as it is seen: one model, folded from the lines of its log, live or afterwards."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slackwater.view.alerts import alerts
from slackwater.view.bounded import bounded
from slackwater.view.health import ProducerView
from slackwater.view.history import History
from slackwater.view.moments import epoch, moments

__all__ = ["RunView", "StreamView"]

GAUGES = ("in", "ready", "late", "quarantined", "p50", "p95", "p99", "buffer", "lag")
LOADS = ("rows", "seconds", "state_rows", "state_bytes", "dropped", "behind")

_MOST_SOURCES = 1000  # a page with more is of no use to anyone
_MOST_RESULTS = 60    # of each stream
_MOST_CELLS = 200     # of a result, and of what is in its cells


@dataclass
class StreamView:
    """One source or step."""

    totals: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=lambda: History(GAUGES))
    changed: int = 0


@dataclass
class QueryView:
    """One streaming query; `error` is why it ended, if it failed."""

    totals: dict[str, Any] = field(default_factory=lambda: {"batches": 0, "rows": 0,
                                                            "seconds": 0.0})
    history: History = field(default_factory=lambda: History(LOADS))
    changed: int = 0
    error: str = ""


class RunView:
    """Takes the lines of a run log and gives the model, whole or what has changed.

    Lines may come from one thread while others read.  A `start` begins a new run: what was known
    of the one before is forgotten.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = 0
        self._runs = 0
        self._forget()

    def _forget(self) -> None:
        self.pipeline, self.state, self.error = "", "waiting", ""
        self.began = self.at = 0.0
        self.first_rows = 0.0  # when the first producer was seen: Spark may take long to start
        self.nodes: dict[str, Any] = {}
        self.sinks: dict[str, str] = {}
        self.streams: dict[str, StreamView] = {}
        self.queries: dict[str, QueryView] = {}
        self.sources: dict[tuple[str, str], ProducerView] = {}
        self.more_sources: set[tuple[str, str]] = set()
        self.recent: dict[str, deque[dict[str, Any]]] = {}
        self.refused: dict[str, int] = {}
        self.unreadable = 0

    def take(self, line: Mapping[str, Any]) -> None:
        """Add a line, as `slackwater.pipeline.run_log` writes it; an unknown one changes nothing.

        Never raises: a page must not end the run that it shows, nor stumble over a torn file.
        """
        with self._lock:
            try:
                self._take(bounded(line))
            except (TypeError, ValueError, KeyError, AttributeError, IndexError):
                self.unreadable += 1

    def _take(self, line: Mapping[str, Any]) -> None:
        at = epoch(str(line["at"]))
        if at is None:
            raise ValueError("a line without a time")
        self._version += 1
        event = line["event"]
        if event == "start":
            self._forget()
            self._runs += 1
            self.pipeline, self.state, self.began = str(line["pipeline"]), "running", at
            self.nodes, self.sinks = line.get("nodes", {}), line.get("sinks", {})
        self.at = max(self.at, at)
        if event == "batch":
            self._batch(at, line)
        elif event == "sources":
            self._sources(line["sources"])
        elif event == "results":
            self._results(at, str(line["stream"]), line["rows"])
        elif event == "refused":
            sink = str(line["sink"])
            self.refused[sink] = self.refused.get(sink, 0) + int(line["rows"])
        elif event == "ended":
            query = self.queries.setdefault(str(line["query"]), QueryView())
            query.error, query.changed = str(line["error"] or ""), self._version
        elif event == "failed":
            self.state, self.error = "failed", str(line["error"])
        elif event == "stop":
            self.state = "stopped"
        for name, numbers in line.get("streams", {}).items():
            stream = self.streams.setdefault(str(name), StreamView())
            if not stream.totals and 0 < self.began <= at:
                # from nothing at the start: else the first rows would be in no throughput
                stream.history.add(self.began, dict.fromkeys(("in", "ready", "late"), 0))
            stream.totals, stream.changed = dict(numbers), self._version
            stream.history.add(at, {**numbers, **(numbers.get("latency") or {})})

    def _batch(self, at: float, line: Mapping[str, Any]) -> None:
        query = self.queries.setdefault(str(line["query"]), QueryView())
        had = query.totals
        query.totals = {"batches": had["batches"] + 1, "rows": had["rows"] + line["rows"],
                        "seconds": round(had["seconds"] + line["seconds"], 3),
                        "last": line["seconds"], "number": line["batch"],
                        "state_rows": line["state_rows"], "state_bytes": line["state_bytes"],
                        # of a watched session: what Spark's own watermark does
                        **({"watermark": line["watermark"]} if "watermark" in line else {})}
        query.changed, query.error = self._version, ""
        query.history.add(at, line)

    def _sources(self, told: Mapping[str, Mapping[str, list[Any]]]) -> None:
        for stream, producers in told.items():
            for name, (rows, late, seen) in producers.items():
                key = (stream, name)
                if key not in self.sources and len(self.sources) >= _MOST_SOURCES:
                    self.more_sources.add(key)
                    continue
                self.first_rows = self.first_rows or seen
                one = self.sources.setdefault(key, ProducerView(first=seen, seen=seen))
                one.update(rows, late, seen, self._version)

    def _results(self, at: float, stream: str, rows: list[Any]) -> None:
        found = self.recent.setdefault(stream, deque(maxlen=_MOST_RESULTS))
        for row in rows:
            self._version += 1
            found.append({"n": self._version, "stream": stream, "at": at, "times": moments(row),
                          "row": bounded(row, _MOST_CELLS)})

    def model(self, now: float | None = None) -> dict[str, Any]:
        """All of it, for a page that knows nothing; `now` is the last line's time if not given."""
        return self.changes(None, now)[0]

    def changes(self, mark: dict[str, Any] | None,
                now: float | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a page lacks that has `mark`, and the mark of a page that has it all."""
        with self._lock:
            now = self.at if now is None or self.state in ("stopped", "failed") else now
            if mark is None or mark["run"] != self._runs:
                mark = {"run": self._runs, "version": -1, "histories": {}, "status": {}}
            since, first = mark["version"], mark["version"] < 0
            new: dict[str, Any] = {"run": self._runs, "version": self._version,
                                   "histories": {}, "status": {}}
            model: dict[str, Any] = {
                "whole": first, "pipeline": self.pipeline, "state": self.state,
                "error": self.error, "began": self.began, "at": self.at, "now": now,
                "more_sources": len(self.more_sources), "unreadable": self.unreadable,
                "refused": dict(self.refused), "streams": {}, "queries": {}, "sources": [],
                "results": []}
            if first:
                model["nodes"], model["sinks"] = self.nodes, self.sinks
            for part, members in (("streams", self.streams), ("queries", self.queries)):
                for name, one in members.items():
                    new["histories"][part, name] = one.history.mark
                    if one.changed > since:
                        model[part][name] = {
                            "totals": one.totals,
                            "history": one.history.since(mark["histories"].get((part, name)))}
            for key, producer in self.sources.items():
                status = new["status"][key] = producer.status(now, self.first_rows)
                if producer.changed > since or mark["status"].get(key) != status:
                    model["sources"].append(producer.cells(*key, status))
            for found in self.recent.values():
                model["results"] += [one for one in found if one["n"] > since]
            model["alerts"] = alerts(self, new["status"])
            return model, new
