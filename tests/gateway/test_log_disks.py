"""The log on a disk that is full when it is opened, and how retention lets go of files."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from slackwater.core.errors import ConfigError
from slackwater.gateway import Limits, Log, Place
from slackwater.gateway.places import commit
from slackwater.gateway.segments import segments
from tests.gateway.test_clock_and_readers import rows, wait_for

QUICK = Limits(min_free=1 << 20, look_every=0.01)


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)],
                      capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> Path:
    other = disk / "other"
    with suppress(OSError), other.open("wb") as file:
        while True:
            file.write(b"z" * 4096)
            file.flush()
    return other


def test_a_log_with_a_torn_tail_opens_on_a_full_disk(small_disk):
    """A full disk is where a frame is written in part; the gateway must start there again."""
    folder = small_disk / "log"
    with Log(folder, QUICK, readers=["r"]) as log:
        log.append([b'{"n":1}']).result(10)
    with segments(folder)[-1].open("ab") as file:
        file.write(b"x" * 10_000)
    other = fill(small_disk)
    with Log(folder, QUICK, readers=["r"]) as log:
        assert log.refusing == "the disk is full"
        assert log.counters.cut_bytes == 10_000
        other.unlink()
        wait_for(lambda: log.refusing is None)
        log.append([b'{"n":2}']).result(10)
    assert [row["event"] for row in rows(folder)] == ['{"n":1}', '{"n":2}']


def test_a_new_log_on_a_full_disk_or_a_file_is_refused_in_words(small_disk):
    fill(small_disk)
    with pytest.raises(ConfigError, match="No space left"):
        Log(small_disk / "log", QUICK)
    with pytest.raises(ConfigError, match="cannot be opened"):
        Log(small_disk / "other" / "log", QUICK)


def test_torn_tails_are_kept_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr("slackwater.gateway.segments._TORN_BYTES", 25_000)
    for number in range(5):
        with Log(tmp_path, QUICK) as log:
            log.append([b'{"n":%d}' % number]).result(10)
        with segments(tmp_path)[-1].open("ab") as file:
            file.write(bytes([65 + number]) * 10_000)
    Log(tmp_path, QUICK).close()
    kept = [file.read_bytes()[:1] for file in (tmp_path / "torn").iterdir()]
    assert sorted(kept) == [b"D", b"E"]


@pytest.mark.parametrize("size", [1, 28, 29])
def test_tiny_segments_lose_nothing_that_a_reader_needs(tmp_path, size):
    limits = Limits(segment_size=size, retain_size=4 * size, min_free=0, look_every=0.001)
    with Log(tmp_path, limits) as log:
        commit(tmp_path, "r", Place(0, 0, 28))
        for n in range(20):
            log.append([b'{"n":%d}' % n]).result(10)
        wait_for(lambda: log.end.record == 20)
    assert [row["record"] for row in rows(tmp_path)] == list(range(20))


def test_each_deletion_is_durable_before_the_next(tmp_path, monkeypatch):
    """After a power cut a gap between segments would be taken for damage."""
    done: list[str] = []
    unlink, synced = Path.unlink, os.fsync
    folder_number = os.stat(tmp_path).st_ino

    def spy_unlink(self, **more):
        if self.suffix == ".log" and self.parent == tmp_path:
            done.append(f"gone {int(self.stem)}")
        unlink(self, **more)

    def spy_sync(handle):
        if os.fstat(handle).st_ino == folder_number:
            done.append("synced")
        synced(handle)

    monkeypatch.setattr(Path, "unlink", spy_unlink)
    monkeypatch.setattr("slackwater.gateway.places.os.fsync", spy_sync)
    limits = Limits(segment_size=100, retain_size=500, min_free=0, look_every=10)
    with Log(tmp_path, limits) as log:
        for n in range(30):
            log.append([b'{"n":%d}' % n]).result(10)
        log._let_go(0)
        assert log.counters.deleted_segments > 3
    for before, after in zip(done, [*done[1:], ""], strict=True):
        assert not before.startswith("gone") or after == "synced"
