"""Clocks that jump, readers that are gone, disks that fail and recover, logs that are large."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from slackwater.core.errors import ConfigError
from slackwater.gateway import Backlogged, Limits, Log, LogFailed, LogReader, Place
from slackwater.gateway.clock import Clock
from slackwater.gateway.leases import Leases
from slackwater.gateway.places import commit, readers
from slackwater.gateway.segments import segments
from slackwater.gateway.slots import Slot, is_held
from slackwater.gateway.verify import Verifier
from tests.gateway.running import Running

PLAIN = Limits(min_free=0, look_every=0.01)
NOW = 1_800_000_000_000_000
SECOND = 1_000_000
YEAR = 365 * 86_400 * SECOND


def rows(folder):
    reader = LogReader(folder)
    return [row for span in reader.spans(reader.first(), reader.end())
            for batch in reader.read(span) for row in batch.to_pylist()]


def stamps(folder):
    return [round(row["arrival"].timestamp() * 1e6) for row in rows(folder)]


def wait_for(true, seconds=20):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


class Clocks:
    """A clock that can be set and one that cannot."""

    def __init__(self):
        self.wall, self.steady = NOW, 5 * SECOND

    def passes(self, micros):
        self.wall += micros
        self.steady += micros

    def start(self, note=None, **more):
        return Clock(note, wall=lambda: self.wall, steady=lambda: self.steady, **more)


@pytest.mark.parametrize("jump", [YEAR, -YEAR, 2 * 3600 * SECOND])
def test_a_jump_is_not_followed_and_heals_with_the_clock(jump):
    clocks = Clocks()
    clock = clocks.start()
    assert clock.now() == NOW
    clocks.wall += jump
    clocks.passes(SECOND)
    assert clock.now() == NOW + SECOND
    assert clock.off == jump
    assert "jumped" in clock.problem
    clocks.wall -= jump
    clocks.passes(SECOND)
    assert clock.now() == NOW + 2 * SECOND
    assert (clock.off, clock.problem) == (0, None)


def test_small_steps_are_followed_and_large_ones_that_stay():
    clocks = Clocks()
    clock = clocks.start()
    clocks.wall += 30 * SECOND
    assert clock.now() == clocks.wall
    clocks.wall += 3 * 86_400 * SECOND  # a virtual machine that slept
    for _ in range(5):
        clocks.passes(100 * SECOND)
        assert clock.now() < clocks.wall
    clocks.passes(300 * SECOND)
    assert clock.now() == clocks.wall
    clocks.wall += YEAR
    for _ in range(20):
        clocks.passes(100 * SECOND)
        assert clock.now() == clocks.wall - YEAR, "a year is not believed, however long it stays"


def test_a_clock_that_was_never_set_is_followed_when_it_is():
    clocks = Clocks()
    clocks.wall = 3 * SECOND
    clock = clocks.start()
    clocks.wall = NOW
    assert clock.now() == NOW


def test_a_restart_during_a_jump_is_no_way_around(tmp_path):
    clocks, note = Clocks(), tmp_path / "clock"
    clock = clocks.start(note)
    clock.now()
    clock.keep(clock.due_note())
    clocks.passes(60 * SECOND)
    clocks.wall += YEAR
    assert clocks.start(note).now() == NOW + 60 * SECOND
    assert clocks.start(note, trust=True).now() == clocks.wall
    found = json.loads(note.read_text())
    note.write_text(json.dumps({**found, "boot": "another"}))
    assert clocks.start(note).now() == clocks.wall, "a reboot leaves nothing to compare with"
    note.write_text("{")
    assert clocks.start(note).now() == clocks.wall


def test_stamps_of_a_log_over_a_year_forward_and_back_with_restarts(tmp_path):
    real = time.time_ns() // 1000
    off = 0

    def clock():
        return time.time_ns() // 1000 + off

    for jump in (0, YEAR, 0, -YEAR, 0):
        off = jump
        with Log(tmp_path, PLAIN, clock=clock) as log:
            log.append([b"{}"] * 3).result(10)
            off = YEAR - jump  # and once more while it runs
            log.append([b"{}"] * 3).result(10)
            assert (log.warning is not None) == (off != 0)
    found = stamps(tmp_path)
    assert len(found) == 30
    assert all(a < b for a, b in pairwise(found))
    assert found[-1] - real < 60 * SECOND


def test_a_log_from_the_future_does_not_pull_new_stamps_there(tmp_path):
    with Log(tmp_path, PLAIN, clock=lambda: time.time_ns() // 1000 + YEAR) as log:
        log.append([b"{}"]).result(10)
    (tmp_path / "clock").unlink()  # as after a reboot
    real = time.time_ns() // 1000
    with Log(tmp_path, PLAIN) as log:
        log.append([b"{}"]).result(10)
        log.append([b"{}"]).result(10)
    _, second, third = stamps(tmp_path)
    assert 0 <= second - real < 60 * SECOND
    assert second < third


def test_a_jump_does_not_let_go_of_what_is_young(tmp_path):
    off = [0]
    limits = Limits(segment_size=200, retain_age=86_400 * SECOND, min_free=0, look_every=0.01)
    with Log(tmp_path, limits, clock=lambda: time.time_ns() // 1000 + off[0]) as log:
        for n in range(20):
            log.append([b'{"n":%d}' % n]).result(10)
        off[0] = YEAR
        time.sleep(0.2)
        assert log.first == 0


# -- readers -----------------------------------------------------------------------------------


def test_a_lease_ends_and_one_that_was_replaced_ends_sooner(tmp_path):
    Log(tmp_path, PLAIN).close()
    for name in ("gone", "kept", "name", "moving"):
        commit(tmp_path, name, Place(0, 0, 28))
    slot = Slot(tmp_path, "name~2", patience=0)
    slot.start(Place(0, 0, 28))
    leases = Leases(tmp_path, 3600, kept=["kept"])
    now = time.monotonic()
    for step in range(1, 9):
        commit(tmp_path, "moving", Place(step, 0, 28))
        leases.look(readers(tmp_path), now=now + 110 * step)
    assert set(readers(tmp_path)) == {"gone", "kept", "name~2", "moving"}
    again = Leases(tmp_path, 3600, kept=["kept"])  # the gateway was restarted
    now = time.monotonic()
    assert 700 < again.away["gone"] < 800
    slot.close()
    for step in range(1, 40):
        commit(tmp_path, "moving", Place(step, 0, 28))
        again.look(readers(tmp_path), now=now + 100 * step)
    assert set(readers(tmp_path)) == {"kept", "moving"}


def test_without_a_lease_nobody_is_forgotten(tmp_path):
    Log(tmp_path, PLAIN).close()
    commit(tmp_path, "r", Place(0, 0, 28))
    leases = Leases(tmp_path, None)
    leases.look(readers(tmp_path), now=time.monotonic() + 1e9)
    assert set(readers(tmp_path)) == {"r"}


def test_the_command_shows_and_removes_readers(tmp_path):
    from slackwater.cli import app

    def said(*options):
        return CliRunner().invoke(app, ["gateway", "readers", "--log", str(tmp_path), *options])

    with Log(tmp_path, PLAIN, readers=["old"]) as log:
        log.append([b'{"n":1}']).result(10)
    slot = Slot(tmp_path, "live", patience=0)
    slot.start(LogReader(tmp_path).end())
    found = {r["name"]: r for r in json.loads(said("--json").output)}
    assert (found["live"]["held"], found["live"]["behind"]) == (True, 0)
    assert found["old"]["held"] is False
    assert found["old"]["behind"] > 0
    assert "old" in said().output
    assert isinstance(said("--remove", "live").exception, ConfigError)
    assert isinstance(said("--remove", "nobody").exception, ConfigError)
    assert said("--remove", "old").exit_code == 0
    assert set(readers(tmp_path)) == {"live"}
    slot.close()
    assert not is_held(tmp_path, "live")


# -- disks -------------------------------------------------------------------------------------


def test_after_a_failed_fsync_the_log_heals_and_holds_nothing_twice(tmp_path, monkeypatch):
    real = os.fdatasync
    with Log(tmp_path, PLAIN) as log:
        log.append([b'{"n":1}']).result(10)
        with monkeypatch.context() as disk:
            disk.setattr("slackwater.gateway.writer.os.fdatasync", _failing)
            with pytest.raises(LogFailed):
                log.append([b'{"n":2}']).result(10)
        assert os.fdatasync is real
        wait_for(lambda: log.failed is None)
        log.append([b'{"n":2}']).result(10)  # the sender tries again
    assert [json.loads(r["event"])["n"] for r in rows(tmp_path)] == [1, 2]
    with Log(tmp_path, PLAIN) as log:
        log.append([b'{"n":3}']).result(10)
    assert [json.loads(r["event"])["n"] for r in rows(tmp_path)] == [1, 2, 3]


def test_a_failed_fsync_of_the_first_record_heals_too(tmp_path, monkeypatch):
    with Log(tmp_path, PLAIN) as log:
        with monkeypatch.context() as disk:
            disk.setattr("slackwater.gateway.writer.os.fdatasync", _failing)
            with pytest.raises(LogFailed):
                log.append([b'{"n":1}']).result(10)
        wait_for(lambda: log.failed is None)
        log.append([b'{"n":1}']).result(10)
    assert len(rows(tmp_path)) == 1


def test_only_a_full_disk_is_called_one(tmp_path, monkeypatch):
    with Log(tmp_path, Limits(segment_size=1, min_free=0, look_every=0.01)) as log:
        log.append([b"{}"]).result(10)
        for number, words in ((errno.EMFILE, "Too many open files"),
                              (errno.ENOSPC, "disk is full")):
            def refuse(*_, number=number, **__):
                raise OSError(number, os.strerror(number))

            with monkeypatch.context() as disk:
                disk.setattr("slackwater.gateway.writer.os.open", refuse)
                with pytest.raises(Backlogged, match=words):
                    log.append([b"{}"]).result(10)
            wait_for(lambda: log.refusing is None)
            log.append([b"{}"]).result(10)
    assert len(rows(tmp_path)) == 3


def test_a_small_disk_is_not_filled_by_default(tmp_path):
    """A file system of 60 MB, where there may be one: retention keeps a share of it free."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", str(disk)],
                             capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("only root can make a small file system")
    try:
        event = b'{"x":"' + b"y" * 100_000 + b'"}'
        limits = Limits(retain_share=0.7, min_free=5 << 20, look_every=0.01)
        with Log(disk / "log", limits) as log:
            for _ in range(150):
                for _ in range(6):
                    log.append([event]).result(10)
                time.sleep(0.012)
            assert log.counters.deleted_segments > 3
            assert log.refusing is None
            # somebody else fills the disk, and makes room again
            with pytest.raises(Backlogged, match="disk is full"):
                fill(disk / "other", lambda: log.append([event] * 5).result(10))
            (disk / "other").unlink()
            wait_for(lambda: log.refusing is None)
            end = log.append([event]).result(10).first
            assert end + 1 == log.end.record
        numbers = [row["record"] for row in rows(disk / "log")]
        assert numbers == list(range(numbers[0], end + 1))
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(file, after_each):
    with file.open("wb") as filler:
        for _ in range(200):
            with contextlib.suppress(OSError):
                filler.write(b"z" * 1_000_000)
                filler.flush()
            after_each()
            time.sleep(0.02)


def _failing(_file):
    raise OSError(errno.EIO, "Input/output error")


# -- large logs --------------------------------------------------------------------------------


def make_log(folder):
    with Log(folder, Limits(segment_size=300, min_free=0)) as log:
        for n in range(60):
            log.append([b'{"n":%d}' % n]).result(10)
    return segments(folder)


def test_a_large_log_is_checked_in_the_background(tmp_path):
    files = make_log(tmp_path / "sound")
    with Log(files[0].parent, PLAIN, verify_all=False) as log:
        checked = [(s.base, s.end, s.size, s.last_arrival) for s in log.segments]
        verifier = Verifier(log)
        verifier.start()
        wait_for(lambda: verifier.left == 0)
        verifier.stop()
        assert log.damaged == []
        assert log.warning is None
    with Log(files[0].parent, PLAIN) as log:
        whole = [(s.base, s.end, s.size) for s in log.segments]
        assert [c[:3] for c in checked] == whole
        # known without reading a segment: its last arrival, or the next one's first
        for quick, slow in zip(checked, log.segments, strict=True):
            assert 0 <= quick[3] - slow.last_arrival < 10 * SECOND


@pytest.mark.parametrize("place", [0.3, 0.99, None])
def test_damage_is_found_and_said_while_events_are_taken(tmp_path, place):
    files = make_log(tmp_path / "log")
    data = bytearray(files[3].read_bytes())
    if place is None:
        data = data[:-5]
    else:
        data[int(len(data) * place)] ^= 1
    files[3].write_bytes(data)
    with Running(tmp_path / "log") as gateway:
        assert gateway.post(b'{"n":60}').status_code == 200
        wait_for(lambda: "warning" in gateway.get("/health").json())
        assert files[3].name in gateway.get("/health").json()["warning"]
        assert gateway.get("/health").status_code == 200
        assert "log_damaged_segments 1" in gateway.get("/metrics").text
        assert gateway.post(b'{"n":61}').status_code == 200


def test_a_crash_while_a_segment_was_made_loses_no_numbers(tmp_path):
    files = make_log(tmp_path)
    whole = len(rows(tmp_path))
    end = LogReader(tmp_path).end().record
    files[-1].write_bytes(files[-1].read_bytes()[:5])
    (tmp_path / "end").unlink()
    for verify_all in (False, True):
        folder = tmp_path.parent / f"copy-{verify_all}"
        shutil.copytree(tmp_path, folder)
        with Log(folder, PLAIN, verify_all=verify_all) as log:
            assert log.end.record == int(files[-1].stem) <= end
            log.append([b"{}"]).result(10)
        assert len(rows(folder)) <= whole
        numbers = [row["record"] for row in rows(folder)]
        assert numbers == list(range(len(numbers)))


def test_the_folders_of_a_new_log_are_synced(tmp_path, monkeypatch):
    synced = []
    real = os.fsync

    def fsync(handle):
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc")
    monkeypatch.setattr("os.fsync", fsync)
    with Log(tmp_path / "a" / "b" / "log", PLAIN, readers=["r"]):
        pass
    folders = {str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b"),
               str(tmp_path / "a" / "b" / "log"), str(tmp_path / "a" / "b" / "log" / "readers")}
    assert folders <= set(synced)


def test_a_lock_probe_does_not_take_the_lock(tmp_path):
    Log(tmp_path, PLAIN).close()
    slot = Slot(tmp_path, "r", patience=0)
    assert is_held(tmp_path, "r")
    slot.close()
    assert not is_held(tmp_path, "r")
    with (tmp_path / "readers" / "r.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_it_imports_little():
    code = ("import sys, slackwater.gateway.check_process; "
            "print([m for m in ('numpy', 'pyarrow', 'uvloop') if m in sys.modules])")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_notes_that_cannot_be_written_do_not_stop_retention(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    now = [NOW]
    limits = Limits(segment_size=200, retain_size=1000, min_free=0, look_every=0.01)
    with Log(tmp_path, limits, readers=["r"], clock=lambda: now[0]) as log:
        monkeypatch.setattr("pathlib.Path.write_text", full)
        monkeypatch.setattr("slackwater.gateway.leases._LOOK_EVERY", 0.0)
        monkeypatch.setattr("slackwater.gateway.clock._NOTE_EVERY", 0)
        for n in range(50):
            log.append([b'{"n":%d}' % n]).result(10)
        monkeypatch.setattr("pathlib.Path.write_text", full)
        commit(tmp_path, "r", log.end)
        wait_for(lambda: log.first > 0)
