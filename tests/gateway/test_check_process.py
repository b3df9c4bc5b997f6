"""The process that checks large bodies dies, or cannot be started: nobody's events are refused."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from slackwater.gateway.admit import Rules
from slackwater.gateway.check import Checker, Unchecked
from tests.gateway.measures import _children
from tests.gateway.running import Running

LARGE = b"[" + b",".join(b'{"n":%d}' % n for n in range(20_000)) + b"]"


@pytest.fixture
def checker():
    made = Checker(Rules(), 100_000)
    yield made
    made.close()


def test_a_process_that_was_killed_is_started_again(checker):
    assert len(checker.check(LARGE).events) == 20_000
    for _ in range(3):
        os.kill(checker._process.pid, signal.SIGKILL)
        assert len(checker.check(LARGE).events) == 20_000


def test_a_kill_at_work_is_not_the_body_s_fault(checker):
    over = threading.Event()

    def kill():
        while not over.wait(0.25):
            process = checker._process
            if process is not None:
                process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for _ in range(5):
            with suppress(Unchecked):  # killed again and again: nothing is known of it
                assert len(checker.check(LARGE).events) == 20_000
    finally:
        over.set()
        killer.join()
    assert len(checker.check(LARGE).events) == 20_000


def test_where_it_cannot_be_started_the_answer_says_so(checker, monkeypatch):
    monkeypatch.setattr("slackwater.gateway.check.sys.executable", "/bin/false")
    monkeypatch.setattr("slackwater.gateway.check._PAUSE", 0.01)
    for _ in range(2):
        with pytest.raises(Unchecked):
            checker.check(LARGE)
    monkeypatch.setattr("slackwater.gateway.check.sys.executable", "/no/such/program")
    with pytest.raises(Unchecked):
        checker.check(LARGE)
    monkeypatch.undo()
    assert len(checker.check(LARGE).events) == 20_000


def test_a_gateway_answers_200_after_its_checking_process_died(tmp_path):
    with Running(tmp_path / "log") as gateway:
        assert gateway.post(LARGE).json()["accepted"] == 20_000
        for child in _children(gateway.process.pid):
            os.kill(child, signal.SIGKILL)
            until = time.monotonic() + 10
            while Path(f"/proc/{child}/cmdline").exists() \
                    and Path(f"/proc/{child}/cmdline").read_bytes():
                assert time.monotonic() < until
                time.sleep(0.01)
        answer = gateway.post(LARGE)
        assert (answer.status_code, answer.json()["accepted"]) == (200, 20_000)
