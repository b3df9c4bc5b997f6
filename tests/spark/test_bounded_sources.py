"""Micro-batches of our own sources are bounded on every Spark, from the first one on."""

from __future__ import annotations

import itertools
import json
import threading
import time
from contextlib import contextmanager

from parts.server import wait_until

from slackwater.gateway import Log
from slackwater.gateway.places import readers
from slackwater.pipeline import load
from slackwater.pipeline.connectors import GatewaySource
from slackwater.spark.run import run_pipeline
from slackwater.spark.sources.gateway import GatewayLogReader, read
from slackwater.spark.sources.python_source import ReadAllAvailable, paced
from slackwater.spark.sources.spark_4_1 import RememberingReader
from slackwater.spark.sources.ticks import TicksReader

MOST = 70


def append(log, first, count):
    log.append([json.dumps({"n": n}).encode() for n in range(first, first + count)]).result(10)


def source(folder):
    return GatewaySource(str(folder), columns={"n": "int"}, reader="test", max_rows=MOST)


def test_live_and_after_a_restart(spark, tmp_path):
    batches = {}  # one that is not committed when its query is stopped comes again

    def take(batch, number):
        batches[number] = [r.n for r in batch.collect()]

    def rows():
        return [n for _, batch in sorted(batches.items()) for n in batch]

    def live(until):
        with paced("live"):
            df = read(spark, source(tmp_path / "log"))
        query = (df.writeStream.foreachBatch(take).trigger(processingTime="0 seconds")
                 .option("checkpointLocation", str(tmp_path / "checkpoint")).start())
        try:
            wait_until(lambda: len(rows()) >= until or not query.isActive, 60, f"{until} rows")
        finally:
            query.stop()
        assert query.exception() is None

    with Log(tmp_path / "log") as log:
        append(log, 0, 300)
        live(300)
        append(log, 300, 200)
        live(500)
    assert rows() == list(range(500))
    assert max(map(len, batches.values())) == MOST


def written(folder):
    """The numbers of each micro-batch in a folder of a JSON sink."""
    return [[json.loads(line)["n"] for file in batch.glob("part-*")
             for line in file.read_text().splitlines()] for batch in folder.glob("batch_id=*")]


@contextmanager
def fed(send):
    """Something is sent a number after the other, fifty in a second."""
    done = threading.Event()

    def run():
        numbers = itertools.count(300)
        while not done.wait(0.02):
            send(next(numbers))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


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
    with Log(tmp_path / "log") as log:
        append(log, 0, 300)
        with fed(lambda n: append(log, n, 1)):
            for _ in range(2):
                run_pipeline(load(tmp_path / "pipeline.yaml"), spark, until_done=True)
    found = written(tmp_path / "out")
    rows = sorted(n for batch in found for n in batch)
    assert rows == list(range(len(rows)))
    assert len(rows) > 300
    assert max(len(batch) for batch in found if min(batch) < 300) == MOST


def test_beside_a_topic_that_never_rests(spark, kafka, tmp_path):
    (tmp_path / "pipeline.yaml").write_text(f"""
name: beside
sources:
  raw: {{kind: gateway, path: log, columns: {{n: int}}, max_rows: {MOST}}}
  live: {{kind: kafka, servers: "{kafka.address}", topic: restless, columns: {{n: int}}}}
steps:
  clean: {{reorder: raw, policy: static(buffer=0s), time: _arrival}}
  moving: {{reorder: live, policy: static(buffer=0s), time: _arrival}}
sinks:
  clean: {{from: clean, kind: json, path: out}}
  late: {{from: clean.late, kind: json, path: late}}
  moving: {{from: moving, kind: json, path: live}}
  behind: {{from: moving.late, kind: json, path: live_late}}
""")
    kafka.create("restless")
    with Log(tmp_path / "log") as log, fed(lambda n: kafka.send(
            "restless", [json.dumps({"n": n}).encode()])):
        append(log, 0, 300)
        run_pipeline(load(tmp_path / "pipeline.yaml"), spark, until_done=True)
    found = written(tmp_path / "out")
    assert sorted(n for batch in found for n in batch) == list(range(300))
    assert max(map(len, found)) == MOST
    moving = sorted(n for name in ("live", "live_late") for batch in written(tmp_path / name)
                    for n in batch)
    assert moving
    assert moving == list(range(300, 300 + len(moving)))


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


def test_time_that_stands_still_tells_nothing_and_every_end_is_told():
    def told(start, end):
        return [part.value[1] for part in going.partitions(start, end)]

    going, ending = (TicksReader({"every": "1", "finish": str(end)}) for end in (False, True))
    begin = going.initialOffset()
    still, end = going.everything(), ending.everything()
    assert told(begin, still) == told(end, still) == told(still, still) == []
    assert told(begin, end) == told(still, end) == [True]
    assert told({**end, "ends": end["ends"] + 5}, end) == [True], "its clock was set back"
    assert told(still, ending.latestOffset(still, ReadAllAvailable())) == [True]
    assert going.latestOffset(still, ReadAllAvailable()) == still, "no time has passed yet"
    time.sleep(0.001)
    assert told(still, going.latestOffset(still, ReadAllAvailable())) == [False]
