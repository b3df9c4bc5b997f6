"""The files that the manual's commands name, made small."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc

from slackwater.datasets import Feed, Stalls, generate, write_table


def make_world(folder: Path) -> None:
    """Every file; a page that names another one must have it made here, or make it itself."""
    feed = generate(Feed(sources=4, duration="2m", stalls=Stalls("1m", "2s"), seed=3))
    table = feed.table.append_column("type", pa.array(["A", "B"] * len(feed))[:len(feed)])
    for name in ("feed.csv", "recording.csv", "sample.csv"):
        write_table(table, folder / name)
    for name in ("feed.csv", "sample.csv"):
        with gzip.open(folder / f"{name}.gz", "wb") as file:
            file.write((folder / name).read_bytes())
    (folder / "data").mkdir()
    for name in ("sample", "plant"):
        (folder / name).mkdir()
        shutil.copy(folder / "feed.csv", folder / name / "part-0.csv")
    prices = pa.table({"time": [f"2026-01-01T00:00:0{i}Z" for i in range(8)],
                       "symbol": ["x"] * 8, "price": [10, 8, 6, 9, 11, 11, 7, 12]})
    pc.write_csv(prices, folder / "prices.csv")
    for name in ("doors.csv", "lamps.csv"):
        pc.write_csv(prices.select(["time", "symbol"]), folder / name)
    (folder / "leak.sql").write_text(
        "SELECT source, MAX(value) AS top FROM s [RANGE 1 minute, SLIDE 1 minute] GROUP BY source")
    (folder / "join.sql").write_text(
        "SELECT d.symbol FROM Doors d, Lamps l WHERE |@d − @l| <= 1 second AND d.symbol = l.symbol")
    _progress(folder / "eventlog_v2_app-20240101")
    lines = [{"at": "2026-01-01T00:00:00Z", "event": "start", "pipeline": "p", "sinks": {},
              "nodes": {"raw": {"kind": "files", "inputs": []}}},
             {"at": "2026-01-01T00:00:01Z", "event": "stop", "streams": {}}]
    (folder / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _progress(folder: Path) -> None:
    """An event log of two micro-batches, of which the second dropped rows."""
    folder.mkdir()
    progress = [{"id": "q", "runId": "r", "name": "orders", "batchId": n,
                 "timestamp": f"2026-01-01T00:0{n}:00.000Z", "numInputRows": 100,
                 "eventTime": {"max": f"2026-01-01T00:0{n}:00.000Z",
                               "min": f"2026-01-01T00:0{n}:00.000Z",
                               "watermark": "1970-01-01T00:00:00.000Z"},
                 "stateOperators": [{"numRowsDroppedByWatermark": n, "numRowsTotal": 10,
                                     "customMetrics": {}}], "sources": [], "sink": {}}
                for n in range(3)]
    event = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
    (folder / "events_1_app-20240101").write_text("".join(
        json.dumps({"Event": event, "progress": one}) + "\n" for one in progress))
