"""What a real run shows: its log, its listeners and its numbers agree, results among them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from slackwater.pipeline import load
from slackwater.spark.run import run_pipeline
from slackwater.view import RunView
from slackwater.view.read_log import LogReader

TEXT = """
name: seen
metrics: {log: run.jsonl}
sources:
  raw: {kind: files, path: in, format: json, max_files_per_batch: 1,
        columns: {time: timestamp, received: timestamp, device: string, v: double}}
steps:
  clean: {reorder: raw, policy: tide(loss=1%), source: device, arrival: received}
  peaks:
    query: SELECT device, MAX(v) AS peak FROM clean [RANGE 10 s, SLIDE 10 s] GROUP BY device
  high: {sql: "SELECT device, peak FROM peaks WHERE peak > 50"}
sinks:
  peaks: {from: peaks, kind: json, path: out/peaks}
  high: {from: high, kind: json, path: out/high}
  late: {from: clean.late, kind: json, path: out/late}
"""
START = datetime(2024, 5, 1, 10, tzinfo=UTC)


def test_the_page_of_a_real_run(spark, tmp_path):
    (tmp_path / "in").mkdir()
    for file in range(3):
        (tmp_path / "in" / f"{file}.json").write_text("".join(
            json.dumps({"time": (START + timedelta(seconds=s)).isoformat(), "v": s % 90,
                        "received": (START + timedelta(seconds=s, milliseconds=200)).isoformat(),
                        "device": f"d{s % 3}"}) + "\n"
            for s in range(100 * file, 100 * file + 100)))
    (tmp_path / "pipeline.yaml").write_text(TEXT)
    live, logged = RunView(), RunView()
    numbers = run_pipeline(load(tmp_path / "pipeline.yaml"), spark, until_done=True,
                           listeners=(live.take,))
    LogReader(tmp_path / "run.jsonl", logged.take).read()
    model = logged.model()
    assert model == live.model()
    assert {name: one["totals"] for name, one in model["streams"].items()} == json.loads(
        json.dumps(numbers.summary()))
    assert model["streams"]["clean"]["totals"]["in"] == 300
    assert {one[1]: one[3] for one in model["sources"]} == {"d0": 100, "d1": 100, "d2": 100}
    peaks = [json.dumps(one["row"]["peak"]) for one in model["results"] if one["stream"] == "peaks"]
    written = [json.loads(line) for file in (tmp_path / "out" / "peaks").rglob("*.json")
               for line in file.read_text().splitlines()]
    assert peaks
    assert set(peaks) <= {json.dumps(row["peak"]) for row in written}
    high = [one["row"] for one in model["results"] if one["stream"] == "high"]
    assert high
    assert all(row["peak"] > 50 for row in high)
