"""What a watched session says, as a run log: `slackwater dashboard` and `report` read it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slackwater.evaluate.progress import QueryNumbers
from slackwater.pipeline.metrics import StreamNumbers
from slackwater.pipeline.run_log import RunLog, stamped

__all__ = ["WatchLog"]


class WatchLog:
    """Appends what becomes of a session's queries to a file.

    Parameters
    ----------
    path
        The file; what it already holds stays.
    application
        What the page is called.
    """

    def __init__(self, path: Path, application: str) -> None:
        self._log = RunLog(path).__enter__()
        self._write({"event": "start", "pipeline": application, "nodes": {}, "sinks": {}})

    def batch(self, report: Mapping[str, Any], numbers: QueryNumbers,
              operators: Mapping[str, StreamNumbers]) -> None:
        """A micro-batch of a query, with what its watermark has dropped so far."""
        batch = numbers.batches[int(report["batchId"])]
        states = report.get("stateOperators", ())
        took = (report.get("durationMs") or {}).get("triggerExecution", 0)
        behind = None if not batch.watermark else (batch.end - batch.watermark) / 1000
        said = numbers.to_dict()
        self._write({
            "event": "batch", "query": numbers.name, "batch": batch.number, "rows": batch.rows,
            "seconds": took / 1000, "state_rows": sum(op["numRowsTotal"] for op in states),
            "state_bytes": sum(op["memoryUsedBytes"] for op in states), "behind": behind,
            "dropped": batch.dropped,
            "watermark": {name: said[name] for name in ("dropped", "loss", "delay_ms", "lag_ms",
                                                        "keeps_all_ms")},
            # what an operator still holds is in none of its counts
            "streams": {f"{numbers.name}.{step}":
                        one.to_dict(one.ready + one.late + one.quarantined + one.unreadable)
                        for step, one in operators.items()}})

    def ended(self, query: str, error: str | None) -> None:
        """A query that runs no more, and why."""
        self._write({"event": "ended", "query": query, "error": error})

    def close(self) -> None:
        """Nothing more will be written."""
        self._write({"event": "stop"})
        self._log.__exit__(None, None, None)

    def _write(self, line: Mapping[str, Any]) -> None:
        self._log.write(stamped(line))
