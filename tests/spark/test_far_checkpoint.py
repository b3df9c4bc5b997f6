"""A checkpoint by address: whose it is and what it was, on any file system that Spark knows.

Here it is ``file:///``, through Hadoop's own classes.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import socket
import threading
import time

import pytest

from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.pipeline import load
from slackwater.spark.run import far_folder, run_pipeline
from slackwater.spark.run.far_folder import FarFolder

TEXT = """
name: far
checkpoint: "file://{folder}/check/point"
sources:
  raw: {{kind: files, path: in, format: json, max_files_per_batch: 1,
        columns: {{time: timestamp, v: long}}}}
steps:
  clean: {{reorder: raw, policy: "{policy}"}}
sinks:
  all: {{from: clean, kind: json, path: {out}}}
"""


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(far_folder, "BEAT", 0.2)
    monkeypatch.setattr(far_folder, "STALE", 2.0)


def pipeline(tmp_path, policy="Static", out="out"):
    file = tmp_path / "pipeline.yaml"
    file.write_text(TEXT.format(folder=tmp_path, policy=policy, out=out))
    return load(file)


def more(tmp_path, number):
    (tmp_path / "in").mkdir(exist_ok=True)
    line = json.dumps({"time": "2024-05-01T10:00:00Z", "v": number})
    (tmp_path / "in" / f"{number}.json").write_text(line + "\n")


def rows(tmp_path, out="out"):
    return sorted(json.loads(line)["v"] for file in (tmp_path / out).rglob("part-*")
                  for line in file.read_text().splitlines())


def test_a_pipeline_goes_on_from_it_and_knows_what_it_was(spark, tmp_path, quick):
    for number in (1, 2):
        more(tmp_path, number)
        run_pipeline(pipeline(tmp_path), spark, until_done=True, keep_held=True)
    assert not (tmp_path / "check" / "point.lock").exists(), "let go at the end"
    written = sorted(p.name for p in (tmp_path / "check" / "point" / "identity").glob("*.json"))
    assert written == ["000001.json"], "an identity that is the same is not written again"
    with pytest.raises(SnapshotError, match="policy: Static → kslack"):
        run_pipeline(pipeline(tmp_path, "kslack"), spark, until_done=True)
    (tmp_path / "check" / "point" / "identity" / "000002.json").write_text('{"form')
    # one that was cut short does not count
    run_pipeline(pipeline(tmp_path), spark, until_done=True)
    assert rows(tmp_path) == [1, 2]
    run_pipeline(pipeline(tmp_path, "kslack", "out2"), spark, until_done=True, fresh=True)
    assert (tmp_path / "check" / "point.old-1").is_dir()
    assert rows(tmp_path, "out2") == [1, 2]


def test_two_runs_cannot_have_it(spark, tmp_path, quick):
    address = f"file://{tmp_path}/point"
    first, second = FarFolder(spark, address), FarFolder(spark, address)
    first.lock()
    with pytest.raises(ConfigError, match="another run has this checkpoint") as told:
        second.lock()
    assert f"process {os.getpid()} on {socket.gethostname()}" in str(told.value)
    first.close()
    second.lock()
    second.close()


def test_a_holder_is_named_while_it_writes_its_sign(spark, tmp_path, quick):
    lock, stop, beats = tmp_path / "point.lock", threading.Event(), itertools.count()

    def holder():  # whole for a third of the time
        while not stop.wait(0.02):
            lock.write_text("")
            stop.wait(0.04)
            held_by(lock, token="t", beat=next(beats), pid=1, host="another.example")

    lock.write_text("")
    thread = threading.Thread(target=holder)
    thread.start()
    try:
        for _ in range(5):
            with pytest.raises(ConfigError, match=r"process 1 on another\.example"):
                FarFolder(spark, f"file://{tmp_path}/point").lock()
    finally:
        stop.set()
        thread.join()


def test_a_file_whose_check_is_not_written_yet_seems_cut(spark, tmp_path):
    folder = FarFolder(spark, f"file://{tmp_path}/point")
    folder.write('{"first": 1}')
    folder.write('{"next": 2}')
    (tmp_path / "point" / "identity" / "000002.json").write_text('{"other": 3}')
    assert folder.text("identity/000002.json") == ""
    assert folder.read() == '{"first": 1}'


def held_by(lock, **sign):
    """Another's sign in the lock, and not the checksum of what was there before."""
    lock.with_name(f".{lock.name}.crc").unlink(missing_ok=True)
    lock.write_text(json.dumps(sign))


def test_a_dead_runs_lock_is_taken_over(spark, tmp_path, quick, monkeypatch):
    address, lock = f"file://{tmp_path}/point", tmp_path / "point.lock"
    other = {"token": "t", "beat": 1, "pid": 1, "host": "another.example"}
    held_by(lock, **other)
    began = time.monotonic()
    folder = FarFolder(spark, address)
    folder.lock()
    assert time.monotonic() - began >= 2.0, "a host that cannot be asked is given its time"
    folder.close()
    process = multiprocessing.get_context("spawn").Process(target=os.getpid)
    process.start()
    process.join()
    held_by(lock, **{**other, "pid": process.pid, "host": socket.gethostname()})
    monkeypatch.setattr(far_folder, "STALE", 3600.0)
    folder = FarFolder(spark, address)
    folder.lock()  # a process of this machine that is gone is not waited for
    until = time.monotonic() + 60
    while folder.lost is None and time.monotonic() < until:
        held_by(lock, **{**other, "beat": 2})  # again: the run may just be writing its own sign
        time.sleep(0.5)
    assert folder.lost == "process 1 on another.example", "and a run that was robbed knows it"
    folder.close()
    assert json.loads(lock.read_text())["token"] == "t", "another's lock is left alone"


def test_of_two_who_write_at_once_one_is_told(spark, tmp_path):
    one, two = (FarFolder(spark, f"file://{tmp_path}/point") for _ in range(2))
    one.write("{}")
    seen = two._generations()
    one.write('{"a": 1}')
    two._generations = lambda: seen
    with pytest.raises(ConfigError, match="another run has this checkpoint"):
        two.write('{"b": 1}')
    assert one.read() == '{"a": 1}'
