"""Micro-batches of our own sources are bounded on every Spark, from the first one on."""

from __future__ import annotations

import json
import threading

from parts.server import wait_until

from slackwater.gateway import Log
from slackwater.gateway.places import readers
from slackwater.pipeline import load
from slackwater.pipeline.connectors import GatewaySource
from slackwater.spark.python_source import paced
from slackwater.spark.run import run_pipeline
from slackwater.spark.sources.gateway import GatewayLogReader, read
from slackwater.spark.spark_4_1 import RememberingReader

MOST = 70


def append(log, first, count):
    log.append([json.dumps({"n": n}).encode() for n in range(first, first + count)]).result(10)


def source(folder):
    return GatewaySource(str(folder), columns={"n": "int"}, reader="test", max_rows=MOST)


def test_live_and_after_a_restart(spark, tmp_path):
    sizes, rows = [], []

    def take(batch, _):
        found = [r.n for r in batch.collect()]
        sizes.append(len(found))
        rows.extend(found)

    def live(until):
        with paced("live"):
            df = read(spark, source(tmp_path / "log"))
        query = (df.writeStream.foreachBatch(take).trigger(processingTime="0 seconds")
                 .option("checkpointLocation", str(tmp_path / "checkpoint")).start())
        try:
            wait_until(lambda: len(rows) >= until or not query.isActive, 60, f"{until} rows")
        finally:
            query.stop()
        assert query.exception() is None

    with Log(tmp_path / "log") as log:
        append(log, 0, 300)
        live(300)
        append(log, 300, 200)
        live(500)
    assert rows == list(range(500))
    assert max(sizes) == MOST


def test_a_pipeline_takes_what_is_there_and_ends_while_more_comes(spark, tmp_path):
    (tmp_path / "pipeline.yaml").write_text(f"""
name: bounded
sources:
  raw: {{kind: gateway, path: log, columns: {{n: int}}, max_rows: {MOST}}}
steps:
  clean: {{reorder: raw, policy: static(buffer=0s), time: _arrival}}
sinks:
  clean: {{from: clean, kind: json, path: out}}
""")
    done = threading.Event()
    with Log(tmp_path / "log") as log:
        append(log, 0, 300)

        def write():
            at = 300
            while not done.wait(0.01):
                append(log, at, 1)
                at += 1

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for _ in range(2):
                run_pipeline(load(tmp_path / "pipeline.yaml"), spark, until_done=True)
        finally:
            done.set()
            thread.join()
    found = [[json.loads(line)["n"] for file in folder.glob("part-*")
              for line in file.read_text().splitlines()]
             for folder in (tmp_path / "out").glob("batch_id=*")]
    rows = sorted(n for batch in found for n in batch)
    assert rows == list(range(len(rows)))
    assert len(rows) > 300
    backlog = [batch for batch in found if min(batch) < 300]
    assert max(map(len, backlog)) == MOST


def reader(folder, pace, starting="earliest"):
    """One as Spark 4.1 has it."""
    return RememberingReader(GatewayLogReader(
        {"folder": str(folder), "reader": "test", "starting": starting, "maxRows": str(MOST)}),
        pace)


def test_where_spark_does_not_say_the_start_the_reader_knows_it(tmp_path):
    with Log(tmp_path / "log") as log:
        append(log, 0, 100)
        new = reader(tmp_path / "log", "live")
        one = new.latestOffset()
        assert (one["record"], new.initialOffset()["record"]) == (70, 0)
        assert new.partitions(new.initialOffset(), one)
        two = new.latestOffset()
        assert two["record"] == 100
        assert new.latestOffset() == two, "nothing new"
        new.stop()
        append(log, 100, 200)
        restarted = reader(tmp_path / "log", "live")
        assert restarted.partitions(one, one) == []
        assert [restarted.latestOffset()["record"] for _ in range(3)] == [140, 210, 280]
        restarted.stop()


def test_what_is_asked_for_its_end_before_its_start_is_known_lets_go_of_nothing(tmp_path):
    with Log(tmp_path / "log") as log:
        append(log, 0, 100)
        new = reader(tmp_path / "log", "live")
        one = new.latestOffset()
        new.commit(one)
        new.stop()
        restarted = reader(tmp_path / "log", None, "latest")
        assert restarted.latestOffset()["record"] == 100
        (place,) = readers(tmp_path / "log").values()
        assert place.record == 70
        assert restarted.partitions(one, one) == []
        assert restarted.latestOffset()["record"] == 100
        restarted.stop()
