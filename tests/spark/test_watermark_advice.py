"""What is said of Spark's watermark is what Spark does, on the same cuts."""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import functions as F

from slackwater.datasets import read_dataset
from slackwater.evaluate.advise import advise
from slackwater.evaluate.progress import read_progress
from slackwater.evaluate.run import Events
from slackwater.evaluate.spark_watermark import FixedWatermark, by_count
from slackwater.spark import tap, watch
from slackwater.view import RunView
from slackwater.view.read_log import LogReader

DELAYS = (0, 2000)


def disordered(rows: int) -> Events:
    random = np.random.default_rng(7)
    arrival = 1_700_000_000_000_000 + np.cumsum(random.integers(1, 90_000, rows))
    moment = arrival - (1000 * random.pareto(1.2, rows) * 300).astype(np.int64)
    # equal to the millisecond before and after, and a device without a clock
    moment[::37] -= moment[::37] % 1000
    moment[rows // 2] = 0
    moment[3] = -5_000_000
    return Events("made", moment, arrival, np.zeros(rows, np.int64), None, None, (), 0)


def dropped_by_spark(spark, events: Events, batches: int, delay_ms: int, folder: Path):
    """Every row by itself through a deduplication: no partial aggregate stands in between."""
    files = folder / "in"
    files.mkdir(parents=True)
    for number, rows in enumerate(np.array_split(np.arange(len(events)), batches)):
        file = files / f"{number:05d}.parquet"
        pa.parquet.write_table(pa.table({
            "time": pa.array(events.time[rows], pa.timestamp("us", "UTC")), "row": rows}), file)
        os.utime(file, (1e9 + number, 1e9 + number))
    name = f"dedup_{delay_ms}_{batches}"
    query = (spark.readStream.schema("time timestamp, row long").option("maxFilesPerTrigger", 1)
             .parquet(str(files)).withWatermark("time", f"{delay_ms} milliseconds")
             .dropDuplicates(["time", "row"]).writeStream.queryName(name).format("noop")
             .option("checkpointLocation", str(folder / "checkpoint"))
             .trigger(availableNow=True).start())
    query.awaitTermination()
    assert query.exception() is None
    return name, [json.loads(progress.json) for progress in query.recentProgress]


def counted(reports) -> list[int]:
    return [sum(op["numRowsDroppedByWatermark"] for op in report["stateOperators"])
            for report in reports if report["numInputRows"]]


def removed(reports) -> int:
    return sum(op["numRowsRemoved"] for report in reports for op in report["stateOperators"])


@pytest.mark.parametrize("delay", DELAYS)
def test_the_simulated_watermark_drops_what_spark_drops(spark, tmp_path, caplog, delay):
    events, batches = disordered(1200), 12
    cuts = by_count(events.arrival, batches)
    marked = FixedWatermark(events, cuts)
    log = tmp_path / "watched.jsonl"
    watched = watch(spark, log=log)
    caplog.set_level(logging.INFO, "slackwater.watch")
    name, reports = dropped_by_spark(spark, events, batches, delay, tmp_path)
    late = marked.needed_ms > delay
    assert counted(reports) == np.bincount(cuts.of_row[late], minlength=batches).tolist()
    assert late.sum() > 5

    # the same numbers live, from a file of progress, and as log lines
    file = tmp_path / "progress.jsonl"
    file.write_text("".join(f"{json.dumps(report)}\n" for report in reports))
    (read,) = read_progress(file).queries.values()
    until = time.monotonic() + 30
    while len(watched.queries.get(name, read).batches) < len(read.batches) or (
            name not in watched.queries):
        assert time.monotonic() < until, "the listener did not hear the query"
        time.sleep(0.05)
    watched.stop()
    live = watched.queries[name]
    for numbers in (read, live):
        assert (numbers.rows, numbers.dropped) == (1200, int(late.sum()))
        assert numbers.delay_ms == delay
    assert live.to_dict() == read.to_dict()
    assert any(name in line and "dropped in micro-batch" in line for line in caplog.messages)
    assert name in repr(watched)

    # and on the page
    view = RunView()
    LogReader(log, view.take).read()
    page = view.model()
    totals = page["queries"][name]["totals"]
    assert (totals["rows"], totals["batches"]) == (1200, len(read.batches))
    assert totals["watermark"] == {key: value for key, value in live.to_dict().items()
                                   if key in totals["watermark"]}
    assert sum(page["queries"][name]["history"]["dropped"]) == int(late.sum())
    assert totals["state_rows"] == 1200 - int(late.sum()) - removed(reports)
    assert [key for key, _ in page["alerts"]] == [f"dropped {name}"]
    assert page["state"] == "stopped"

    # what progress alone can say is sure, and no less than what rows say
    sure = read.least_delay(0.05)
    assert marked.under(sure).loss <= 0.05
    assert sure >= marked.least_delay(0.05)


def test_a_tap_records_a_sample_of_a_running_job(spark, tmp_path):
    rows = spark.range(100, numPartitions=2).select(
        F.timestamp_millis(F.lit(1_700_000_000_000) + F.col("id") * 10).alias("at"),
        F.concat(F.lit("s"), F.col("id") % 3).alias("device"), "id")
    rows.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "in"))
    tapped = tap(stream, tmp_path / "sample", time="at", source="device")
    query = (tapped.writeStream.format("memory").queryName("tapped")
             .trigger(availableNow=True).start())
    query.awaitTermination()
    assert query.exception() is None
    assert spark.table("tapped").orderBy("id").collect() == rows.orderBy("id").collect()
    sample = read_dataset(tmp_path / "sample")
    assert (len(sample), sample.roles.arrival, sample.roles.source) == (100, "arrival", "source")
    assert set(sample.table["source"].to_pylist()) == {"s0", "s1", "s2"}
    # which of the two tasks was first, and so what a watermark would lose, is not for a test
    assert advise(sample, delay="1s", loss="1%").rows == 100
