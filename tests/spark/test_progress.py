"""A run counts every micro-batch, however few reports Spark keeps."""

from __future__ import annotations

import json

from slackwater.pipeline import load
from slackwater.spark.run import run_pipeline

TEXT = """
name: counted
sources:
  raw: {kind: files, path: in, format: json, max_files_per_batch: 1,
        columns: {time: timestamp, v: long}}
sinks:
  all: {from: raw, kind: json, path: out}
"""


def test_no_report_is_missed(spark, tmp_path):
    (tmp_path / "in").mkdir()
    for file in range(8):
        line = json.dumps({"time": "2024-05-01T10:00:00Z", "v": file})
        (tmp_path / "in" / f"{file}.json").write_text(f"{line}\n{line}\n")
    (tmp_path / "pipeline.yaml").write_text(TEXT)
    kept = "spark.sql.streaming.numRecentProgressUpdates"
    before = spark.conf.get(kept)
    spark.conf.set(kept, "1")
    try:
        numbers = run_pipeline(load(tmp_path / "pipeline.yaml"), spark, until_done=True)
    finally:
        spark.conf.set(kept, before)
    assert numbers.streams["raw"].rows == 16
    assert numbers.queries["main"].batches >= 8
    assert numbers.queries["main"].rows >= 16
