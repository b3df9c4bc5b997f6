"""Runs whose numbers are known, for the tests of the page."""

from __future__ import annotations

import json
from pathlib import Path

from slackwater.pipeline import Pipeline, parse
from slackwater.pipeline.metrics import Numbers

TEXT = """
name: plant
sources:
  raw: {kind: kafka, servers: b, topic: t, columns: {time: timestamp, device: string, v: double}}
steps:
  clean: {reorder: raw, policy: tide(loss=0.5%), source: device}
  peaks: {query: "SELECT MAX(v) AS peak FROM clean [RANGE 3 s]"}
sinks:
  out: {from: peaks, kind: console}
  late: {from: clean.late, kind: console}
"""
HOSTILE = "<img src=x onerror=\"window.hacked=1\">"


def plant(log: Path | None = None, *, results: bool = True) -> Pipeline:
    metrics = {"results": results, **({} if log is None else {"log": str(log)})}
    return parse(TEXT + f"metrics: {json.dumps(metrics)}\n", "p.yaml", {})


def add_second(numbers: Numbers, at: int, rows: int = 100, sources: int = 4,
               when: float = 1_700_000_000.0) -> None:
    """One more micro-batch of a run in which all but one in a hundred rows come in time."""
    raw, clean, peaks = (numbers.streams[name] for name in ("raw", "clean", "peaks"))
    late = rows // 100 + at % 3
    with numbers.lock:
        raw.ready += rows
        raw.rows += rows
        clean.ready += rows - late
        clean.late += late
        clean.rows += rows - late
        peaks.ready += 2
        clean.latency = (0.2 + 0.01 * (at % 7), 0.5 + 0.03 * (at % 5), 1.1 + 0.2 * (at % 4))
        clean.buffer, clean.lag = 0.3 + 0.02 * (at % 6), 1.5 + 0.1 * (at % 3)
    numbers.batch("main", at, 0.25 + 0.01 * (at % 4), rows, 500 + at, 100_000 + 100 * at)
    names = [HOSTILE, *(f"press-{i:03d}" for i in range(1, sources))]
    numbers.seen("clean", dict.fromkeys(names, rows // sources), {names[1]: late}, when + at)
    start, end = (f"2023-11-14T22:{13 + at // 60:02d}:{at % 60:02d}.{part}Z"
                  for part in ("000", "900"))
    numbers.results("peaks", [{"window_start": start, "window_end": end, "peak": 7.5 + at,
                               "note": HOSTILE}])
    numbers.tell()


def watched_session(view, batches: int = 8) -> None:
    """A watched Spark session, as `slackwater.spark.watch(spark, log=…)` writes it."""
    dropped = 0
    take = view.take
    take({"at": "2024-01-01T00:00:00Z", "event": "start", "pipeline": "orders job", "nodes": {},
          "sinks": {}})
    for at in range(batches):
        now = 5 * (at % 3)
        dropped += now
        take({"at": f"2024-01-01T00:00:{at + 1:02d}Z", "event": "batch", "query": "orders",
              "batch": at, "rows": 1000, "seconds": 0.2, "state_rows": 10, "state_bytes": 4096,
              "dropped": now, "behind": 12.0 + at, "streams": {}, "watermark": {
                  "dropped": dropped, "loss": dropped / (1000 * (at + 1)), "delay_ms": 10_000,
                  "lag_ms": 12_500.0, "keeps_all_ms": 34_000}})
