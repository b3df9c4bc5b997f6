"""What `slackwater state show` reads from a checkpoint is what the query has held and released."""

from __future__ import annotations

import pytest

from slackwater.core.errors import ConfigError
from slackwater.spark import reorder
from slackwater.spark.run.state import read_state
from spark_feed import feed, write_files


def test_a_checkpoint_tells_what_is_held_and_how_far_each_key_has_come(spark, tmp_path):
    rows = feed(2000, poison=False)
    write_files(rows, tmp_path / "in", 4)
    source = spark.readStream.schema(
        "row bigint, time timestamp, arrival timestamp, key string, value double").option(
        "maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    out = []
    reorder(source, "Static(buffer=400ms)", arrival="arrival", by="key", shards=2,
            quiet=None).writeStream.foreachBatch(
        lambda df, _: out.extend(df.collect())).option(
        "checkpointLocation", str(tmp_path / "checkpoint")).trigger(
        availableNow=True).start().awaitTermination()
    steps = read_state(spark, str(tmp_path / "checkpoint"), most=100)
    assert [step.step for step in steps] == ["reorder", "reorder"]
    gone = {r["row"] for r in out}
    held = [r for r in rows.to_pylist() if r["row"] not in gone]
    assert held, "a test in which nothing is held shows nothing"
    assert sum(step.held for step in steps) == len(held)
    marks = {mark.key: mark for step in steps for mark in step.found.marks}
    assert sum(step.found.keys for step in steps) == len(marks) == 5
    for key, mark in marks.items():
        assert mark.held == sum(r["key"] == key for r in held)
        last = max(r["time"] for r in out if r["key"] == key and r["_status"] == "ready")
        assert mark.watermark == round(last.timestamp() * 1e6)
    oldest = min(r["time"] for r in held)
    assert min(step.found.oldest for step in steps if step.held) == round(
        oldest.timestamp() * 1e6)
    assert all(step.bytes > 0 for step in steps)


def test_a_folder_without_a_state_is_named(spark, tmp_path):
    (tmp_path / "something").touch()
    with pytest.raises(ConfigError, match="no query with a state"):
        read_state(spark, str(tmp_path))
    with pytest.raises(ConfigError, match="no such checkpoint"):
        read_state(spark, str(tmp_path / "nowhere"))
