"""Every row has one fate, over all sinks: three steps, six sinks, a topic of three partitions."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

from parts.disorder import records

from slackwater.pipeline import load
from slackwater.spark.run import run_pipeline

TEXT = """
name: fate
sources:
  raw: {{kind: kafka, servers: "{servers}", topic: fate, max_rows: {rows},
        columns: {{id: long, time: timestamp, received: timestamp, host: string, v: long}}}}
steps:
  clean: {{reorder: raw, by: [host], arrival: received}}
  hosts: {{query: "SELECT host, window_end AS at, COUNT(*) AS n FROM clean
                   [RANGE 5 s, SLIDE 5 s] GROUP BY host"}}
  total: {{query: "SELECT window_end AS at, COUNT(*) AS n, SUM(v) AS v FROM clean
                   [RANGE 10 s, SLIDE 10 s]"}}
sinks:
  clean: {{from: clean, kind: json, path: out/clean}}
  late: {{from: clean.late, kind: json, path: out/late}}
  bad: {{from: clean.quarantined, kind: json, path: out/bad}}
  hosts: {{from: hosts, kind: json, path: out/hosts}}
  total: {{from: total, kind: json, path: out/total}}
  lost: {{from: total.late, kind: json, path: out/lost}}
"""
STREAMS = ("clean", "late", "bad", "hosts", "total", "lost")


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for file in sorted(folder.glob("batch_id=*/part-*"))
            for line in file.read_text().splitlines()]


def run(folder: Path, spark, servers: str, rows: int, stops: int) -> dict[str, list[dict]]:
    """Until all is read; before that, so many runs that are stopped on the way."""
    folder.mkdir()
    file = folder / "pipeline.yaml"
    file.write_text(TEXT.format(servers=servers, rows=rows))
    for _ in range(stops):
        stop = threading.Event()

        def look(stop: threading.Event = stop) -> None:
            before = len(list((folder / "out").glob("*/batch_id=*")))
            until = time.monotonic() + 60
            while time.monotonic() < until:
                if len(list((folder / "out").glob("*/batch_id=*"))) > before + 3:
                    break
                time.sleep(0.1)
            stop.set()

        watcher = threading.Thread(target=look)
        watcher.start()
        run_pipeline(load(file), spark, stop=stop)
        watcher.join()
    run_pipeline(load(file), spark, until_done=True)
    return {name: rows_of(folder / "out" / name) for name in STREAMS}


def plain(found: dict[str, list[dict]]) -> dict[str, list[str]]:
    return {name: sorted(json.dumps({k: v for k, v in r.items() if k not in
                                     ("_released", "_arrival")}, sort_keys=True) for r in rows)
            for name, rows in found.items()}


def test_every_row_has_one_fate(spark, kafka, tmp_path):
    kafka.create("fate", partitions=3)
    sent = records(6000)
    for partition in range(3):
        kafka.send("fate", sent[partition::3], partition=partition)
    stopped = run(tmp_path / "stopped", spark, kafka.address, 900, stops=2)
    fates = sorted(r["id"] for name in ("clean", "late", "bad") for r in stopped[name])
    assert fates == list(range(len(sent))), "in exactly one of ready, late and quarantined"
    assert stopped["late"]
    assert stopped["bad"]
    assert stopped["lost"] == [], "ready in clean, so never late in what follows"
    ready = stopped["clean"]
    assert sum(r["n"] for r in stopped["hosts"]) == len(ready)
    assert sum(r["n"] for r in stopped["total"]) == len(ready)
    assert sum(r["v"] for r in stopped["total"]) == sum(r["v"] for r in ready)
    whole = run(tmp_path / "whole", spark, kafka.address, 100_000, stops=0)
    assert plain(stopped) == plain(whole)
