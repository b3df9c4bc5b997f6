"""Changes over a restart: a pending micro-batch keeps its plan, a drained step is free."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from slackwater.core.errors import SnapshotError
from slackwater.pipeline import load
from slackwater.spark.run import run_pipeline
from spark_feed import feed, write_files

TEXT = """
name: change
sources:
  raw: {kind: files, path: in, format: parquet, max_files_per_batch: 1}
steps:
  clean: {reorder: raw, policy: Static(buffer=100ms), arrival: arrival, by: [key], quiet: null}
sinks:
  clean: {from: clean, kind: json, path: out/clean}
  late: {from: clean.late, kind: json, path: out/late}
"""
LONGER = TEXT.replace("100ms", "30s")
OTHER = LONGER.replace(", by: [key]", "").replace("Static(buffer=30s)", "kslack(initial=100ms)")


def test_a_pending_batch_keeps_its_plan_and_a_drained_step_may_change(spark, tmp_path):
    file, out = tmp_path / "change.yaml", tmp_path / "out"
    write_files(feed(800, poison=False), tmp_path / "in", 4)
    for later in ("0002", "0003"):
        (tmp_path / "in" / f"{later}.parquet").rename(tmp_path / later)

    def run(text, *, keep_held):
        told = []
        file.write_text(text)
        run_pipeline(load(file), spark, until_done=True, keep_held=keep_held, started=told.extend)
        return " ".join(told)

    def rows(pattern):
        return sorted(line for part in out.glob(f"*/{pattern}/part-*")
                      for line in part.read_text().splitlines())

    def fates():
        return Counter(json.loads(line)["row"] for line in rows("batch_id=*"))

    run(TEXT, keep_held=True)
    # a kill after the sinks have had the last micro-batch, and before Spark has committed it
    commits = tmp_path / ".slackwater" / "change" / "queries" / "main" / "commits"
    last = max(int(one.name) for one in commits.iterdir() if one.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
    before = rows(f"batch_id={last}")
    assert before
    (tmp_path / "0002").rename(tmp_path / "in" / "0002.parquet")
    told = run(LONGER, keep_held=True)
    assert "pending micro-batch was finished first" in told
    assert "steps.clean.policy: Static(buffer=100ms) → Static(buffer=30s)" in told
    assert rows(f"batch_id={last}") == before, "released as it was planned, not held for longer"
    assert set(fates().values()) == {1}
    assert len(fates()) < 600, "the longer buffer holds rows"

    with pytest.raises(SnapshotError, match=r"steps\.clean\.by") as refused:
        run(OTHER, keep_held=True)
    assert "run --until-done" in str(refused.value), "the way on is named"

    run(LONGER, keep_held=False)
    assert fates() == Counter(range(600))
    (tmp_path / "0003").rename(tmp_path / "in" / "0003.parquet")
    assert "it had released everything, and starts afresh" in run(OTHER, keep_held=False)
    assert fates() == Counter(range(800))
