"""The thread that writes the log: nobody waits for its housekeeping, and nothing ends it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from slackwater.core.errors import ConfigError
from slackwater.gateway import Backlogged, Limits, Log, LogReader, Place
from slackwater.gateway.leases import Leases
from slackwater.gateway.places import commit, readers
from slackwater.gateway.readers import forget
from slackwater.gateway.slots import Slot, is_held, remove_reader
from tests.gateway.test_clock_and_readers import rows, wait_for

PLAIN = Limits(min_free=0, look_every=0.01)


def test_a_disk_that_hangs_does_not_hold_up_those_who_append(tmp_path, monkeypatch):
    """The event loop appends: if it waited for the note of the clock, /health would wait too."""
    hangs, go_on = threading.Event(), threading.Event()
    real = Path.write_text

    def write_text(self, *arguments, **more):
        if "clock" in self.name:
            hangs.set()
            go_on.wait(30)
        return real(self, *arguments, **more)

    monkeypatch.setattr("slackwater.gateway.clock._NOTE_EVERY", 0)
    monkeypatch.setattr("pathlib.Path.write_text", write_text)
    with Log(tmp_path, PLAIN) as log:
        assert hangs.wait(10)
        queued: list[object] = []
        caller = threading.Thread(target=lambda: queued.append(log.append([b"{}"])), daemon=True)
        caller.start()
        caller.join(5)
        go_on.set()
        assert queued, "append waited for the disk"
        queued[0].result(10)


def test_a_disk_that_does_not_answer_is_said_and_heals(tmp_path, monkeypatch):
    go_on, real = threading.Event(), os.fdatasync

    def fdatasync(handle):
        go_on.wait(30)
        real(handle)

    monkeypatch.setattr("slackwater.gateway.log._DISK_PATIENCE", 0.2)
    with Log(tmp_path, PLAIN) as log:
        with monkeypatch.context() as disk:
            disk.setattr("slackwater.gateway.writer.os.fdatasync", fdatasync)
            slow = log.append([b"{}"])
            wait_for(lambda: log.refusing is not None)
            assert "does not answer" in log.refusing
            with pytest.raises(Backlogged, match="does not answer"):
                log.append([b"{}"])
            go_on.set()
            slow.result(10)
        wait_for(lambda: log.refusing is None)
        log.append([b"{}"]).result(10)
    assert len(rows(tmp_path)) == 2


@pytest.mark.parametrize("name", ["two words.json", "ä.json", ".hidden.json"])
def test_a_file_that_is_no_reader_is_nobody(tmp_path, name):
    with Log(tmp_path, PLAIN, readers=["r"]) as log:
        (tmp_path / "readers" / name).write_text("{}")
        time.sleep(0.1)
        log.append([b"{}"]).result(10)
        assert set(log.behind) == {"r"}
    assert len(rows(tmp_path)) == 1


def test_whatever_fails_in_retention_the_log_goes_on(tmp_path, monkeypatch):
    with Log(tmp_path, PLAIN) as log:
        with monkeypatch.context() as broken:
            broken.setattr("slackwater.gateway.keep.readers", lambda folder: 1 // 0)
            time.sleep(0.1)
        log.append([b"{}"]).result(10)


# -- leases ------------------------------------------------------------------------------------


def test_time_before_a_reader_came_is_not_its_absence(tmp_path):
    Log(tmp_path, PLAIN).close()
    leases, now = Leases(tmp_path, 3600), time.monotonic()
    leases.look({}, now=now + 10**6)
    commit(tmp_path, "short", Place(0, 0, 28))  # ran and ended between two looks
    leases.look(readers(tmp_path), now=now + 10**6 + 10)
    assert set(readers(tmp_path)) == {"short"}
    commit(tmp_path, "second", Place(0, 0, 28))
    leases.look(readers(tmp_path), now=now + 10**6 + 20)
    assert leases.away["second"] == 0


def test_a_gateway_that_stood_still_counts_little(tmp_path):
    Log(tmp_path, PLAIN).close()
    commit(tmp_path, "r", Place(0, 0, 28))
    leases, now = Leases(tmp_path, 86_400), time.monotonic()
    leases.look(readers(tmp_path), now=now + 10)
    leases.look(readers(tmp_path), now=now + 10**6)  # whether it was away meanwhile nobody knows
    assert set(readers(tmp_path)) == {"r"}


def test_a_reader_at_work_cannot_be_removed(tmp_path):
    Log(tmp_path, PLAIN).close()
    slot = Slot(tmp_path, "r", patience=0)
    slot.start(Place(0, 0, 28))
    assert not remove_reader(tmp_path, "r")
    with pytest.raises(ConfigError, match="at work"):
        forget(tmp_path, "r")
    assert set(readers(tmp_path)) == {"r"}
    slot.close()
    assert remove_reader(tmp_path, "r")
    assert readers(tmp_path) == {}


def test_a_name_that_is_removed_while_somebody_waits_for_it_is_held_by_one(tmp_path):
    """The lock of a removed file is worth nothing: who gets it has to take the new file's."""
    Log(tmp_path, PLAIN).close()
    over, failures = threading.Event(), []

    def remove():
        while not over.is_set():
            remove_reader(tmp_path, "r")

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        for _ in range(300):
            slot = Slot(tmp_path, "r", patience=5)
            slot.start(Place(0, 0, 28))
            if slot.name != "r" or not is_held(tmp_path, "r") or "r" not in readers(tmp_path):
                failures.append(slot.name)
            slot.close()
    finally:
        over.set()
        remover.join()
    assert failures == []
    assert LogReader(tmp_path).end().record == 0
    assert os.path.isdir(tmp_path / "readers")
