"""One gateway through a clock that jumps, a disk that fails and a disk that is full, without a
restart: a sender that repeats what was not acknowledged has every event in the log exactly once.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from slackwater.gateway import LogReader
from tests.gateway.running import Running

YEAR = 365 * 86_400 * 10**9
# loaded by the gateway's interpreter before anything else: files in a folder say what is broken
TROUBLE = '''
import os, time
_home, _now, _sync = os.environ["TROUBLE"], time.time_ns, os.fdatasync
def _asked(name):
    try:
        with open(os.path.join(_home, name)) as file:
            return file.read()
    except FileNotFoundError:
        return ""
def fdatasync(handle):
    if _asked("sync"):
        raise OSError(5, "Input/output error")
    _sync(handle)
time.time_ns = lambda: _now() + int(_asked("clock") or 0)
os.fdatasync = fdatasync
'''


class Sender(threading.Thread):
    """Sends numbers in batches of ten, each until it is acknowledged."""

    def __init__(self, gateway):
        super().__init__(daemon=True)
        self._gateway, self._over = gateway, threading.Event()
        self.sent, self.statuses = 0, []

    def run(self):
        with httpx.Client(timeout=30) as client:
            while not self._over.wait(0.002):
                numbers = range(self.sent, self.sent + 10)
                body = json.dumps([{"n": n, "x": "y" * 2000} for n in numbers])
                while True:
                    answer = client.post(f"{self._gateway.url}/events", content=body,
                                         headers={"content-type": "application/json"})
                    self.statuses.append(answer.status_code)
                    if answer.status_code == 200:
                        break
                    time.sleep(0.05)
                self.sent += 10

    def goes_on(self, seconds=30):
        """Until it has sent some more."""
        before, until = self.sent, time.monotonic() + seconds
        while self.sent < before + 50:
            assert self.is_alive()
            assert time.monotonic() < until, "it does not heal"
            time.sleep(0.02)

    def stop(self):
        self._over.set()
        self.join(30)


@contextmanager
def small_disk(folder):
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(folder)],
                      capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def until_said(gateway, word, seconds=30):
    end = time.monotonic() + seconds
    while word not in (said := gateway.get("/health").text):
        assert time.monotonic() < end, said
        time.sleep(0.05)


def fill(file):
    with suppress(OSError), file.open("wb") as filler:
        while True:
            filler.write(b"z" * 100_000)
            filler.flush()


def test_a_clock_that_jumps_a_disk_that_fails_and_one_that_is_full(tmp_path):
    trouble, hook = tmp_path / "trouble", tmp_path / "hook"
    trouble.mkdir()
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(TROUBLE)
    path = os.pathsep.join([str(hook), *filter(None, [os.environ.get("PYTHONPATH")])])
    begun = time.time()
    with small_disk(tmp_path / "disk") as disk, \
            Running(disk / "log", "--min-free", "2MB", "--segment-size", "1MB",
                    env={"PYTHONPATH": path, "TROUBLE": str(trouble)}) as gateway:
        sender = Sender(gateway)
        sender.start()
        sender.goes_on()
        for jump in (YEAR, -YEAR):
            (trouble / "clock").write_text(str(jump))
            until_said(gateway, "clock jumped")
            sender.goes_on()
            (trouble / "clock").unlink()
            sender.goes_on()
            assert "warning" not in gateway.get("/health").json()
        assert set(sender.statuses) == {200}
        (trouble / "sync").write_text("fails")
        until_said(gateway, "failed")
        time.sleep(2)  # it has tried again meanwhile
        (trouble / "sync").unlink()
        sender.goes_on()
        assert 503 in sender.statuses
        fill(disk / "other")
        until_said(gateway, "disk is full")
        (disk / "other").unlink()
        sender.goes_on()
        assert 429 in sender.statuses
        sender.stop()
        assert gateway.get("/health").json() == {"status": "ok"}
        numbers, arrivals = kept(disk / "log")
    first = numbers[0]  # retention may have let go of the oldest
    assert numbers == list(range(first, sender.sent))
    assert all(a < b for a, b in pairwise(arrivals))
    assert begun - 1 < arrivals[0].timestamp()
    assert arrivals[-1] < datetime.now(UTC)
    assert set(sender.statuses) == {200, 429, 503}


def kept(folder: Path):
    reader = LogReader(folder)
    rows = [row for span in reader.spans(reader.first(), reader.end())
            for batch in reader.read(span) for row in batch.to_pylist()]
    return [json.loads(row["event"])["n"] for row in rows], [row["arrival"] for row in rows]
