"""The gateway's log as a streaming source: replay, restart, limits, retention."""

from __future__ import annotations

import json
import time
from functools import partial

import pytest
from parts.drain import drain

from slackwater.core.errors import ConfigError
from slackwater.gateway import Limits, Log, LogReader
from slackwater.gateway.places import readers
from slackwater.pipeline.connectors import GatewaySource
from slackwater.spark.sources.gateway import read

COLUMNS = {"time": "timestamp", "device": "string", "value": "double", "_topic": "string"}


def source(folder, **more):
    return GatewaySource(**{"path": str(folder), "columns": COLUMNS, "reader": "test",
                            "starting": "earliest", "max_rows": None, **more})


def event(n):
    return json.dumps({"device": f"d{n % 3}", "value": n, "_topic": "t",
                       "time": f"2026-01-01T00:00:{n % 60:02d}.000001Z"}).encode()


def run(spark, config, checkpoint):
    """All that is there now, as rows of each micro-batch."""
    return [[row.asDict() for row in sorted(batch, key=lambda row: row["_arrival"])]
            for batch in drain(partial(read, spark, config), checkpoint)]


def test_the_log_is_read_once_over_restarts_and_again_on_replay(spark, tmp_path):
    folder, checkpoint = tmp_path / "log", tmp_path / "checkpoint"
    limits = Limits(segment_size=2000, retain_size=8000, min_free=0, look_every=0.02)
    poison = [b'{"device":"x","value":"not a number"}', b'{"time":"gestern","device":"y"}',
              # deeper than Spark's parser goes
              b'{"device":' + b'{"a":' * 1010 + b"1" + b"}" * 1011, b"{}"]
    with Log(folder, limits, readers=["test"]) as log:
        log.append([event(n) for n in range(100)]).result(10)
        log.append(poison).result(10)
        for n in range(100, 300):
            log.append([event(n)]).result(10)
        assert len(log.segments) > 4
        time.sleep(0.1)
        assert log.first == 0, "nothing goes before it was read"

        batches = run(spark, source(folder, max_rows=70), checkpoint)
        assert [len(b) for b in batches] == [70, 70, 70, 70, 24]
        rows = [row for batch in batches for row in batch]
        bad = rows[100:104]
        good = rows[:100] + rows[104:]
        assert [row["value"] for row in good] == [float(n) for n in range(300)]
        assert all(row["_raw"] is None and row["_topic"] == "t" for row in good)
        assert good[0]["time"].microsecond == 1
        assert [row["_raw"] for row in bad] == [p.decode() for p in poison]
        assert all(row[c] is None for row in bad for c in COLUMNS)
        arrivals = [row["_arrival"] for row in rows]
        assert arrivals == sorted(set(arrivals))
        assert [row["_position"] for row in rows] == list(range(304))

        # the last micro-batch is run again, as after a crash before its commit: the same rows
        (checkpoint / "commits" / "4").unlink()
        (checkpoint / "commits" / ".4.crc").unlink(missing_ok=True)
        assert run(spark, source(folder, max_rows=70), checkpoint) == [batches[4]]

        # a restart goes on where it was, and what was committed may go
        log.append([event(n) for n in range(300, 310)]).result(10)
        (more,) = run(spark, source(folder), checkpoint)
        assert [row["value"] for row in more] == [float(n) for n in range(300, 310)]
        log.append([event(310)]).result(10)
        run(spark, source(folder), checkpoint)
        until = time.monotonic() + 20
        while log.first == 0:
            assert time.monotonic() < until, "retention does not go on after the commit"
            time.sleep(0.05)
        (place,) = readers(folder).values()
        assert log.first <= place.record <= log.end.record

        # one that starts at the end sees only what comes later
        late = tmp_path / "late"
        assert run(spark, source(folder, starting="latest", reader="other"), late) == []
        log.append([event(400)]).result(10)
        (only,) = run(spark, source(folder, reader="other"), late)
        assert [row["value"] for row in only] == [400.0]
        assert set(readers(folder)) == {"test", "other"}


def test_a_text_with_nul_comes_through_as_it_was_sent(spark, tmp_path):
    with Log(tmp_path / "log") as log:
        log.append([rb'{"device":"a\u0000b"}', rb'{"device":"a\\u0000"}']).result(10)
    (rows,) = run(spark, source(tmp_path / "log"), tmp_path / "checkpoint")
    assert [row["device"] for row in rows] == ["a\0b", r"a\u0000"]
    files = spark.createDataFrame([(row["device"],) for row in rows], "device string")
    files.write.parquet(str(tmp_path / "out"))
    assert {row.device for row in spark.read.parquet(str(tmp_path / "out")).collect()} == {
        "a\0b", r"a\u0000"}


def test_a_wrong_folder_is_told_before_anything_runs(spark, tmp_path):
    with pytest.raises(ConfigError, match="not the log of a gateway"):
        read(spark, source(tmp_path))
    Log(tmp_path / "log").close()
    assert LogReader(tmp_path / "log").end().record == 0
    assert run(spark, source(tmp_path / "log"), tmp_path / "checkpoint") == []
