"""A server process of the tests: started on loopback, awaited, killed, started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def free_port() -> int:
    """A port of the loopback interface that nobody uses now.

    Taken below the range that the system gives to outgoing connections: a server that is killed
    and started again would else find its port in use by a client that keeps trying to reach it.
    """
    # a hundred for each process: two that look at the same time would find the same one
    first = 20_000 + os.getpid() % 100 * 100
    for port in (20_000 + (first + i) % 10_000 for i in range(10_000)):
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise RuntimeError("no free port")


_given: set[int] = set()


def wait_until(true: Callable[[], Any], seconds: float, what: str) -> Any:
    """The first true answer, asked for at most so long."""
    until = time.monotonic() + seconds
    while True:
        answer = true()
        if answer:
            return answer
        if time.monotonic() > until:
            raise TimeoutError(f"{what} within {seconds:.0f} s")
        time.sleep(0.05)


def listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Server:
    """One process with a log file; `kill` is SIGKILL for it and what it started."""

    def __init__(self, name: str, command: Sequence[str], log: Path, *, port: int,
                 patience: float = 60, env: dict[str, str] | None = None,
                 **popen: Any) -> None:
        self.name, self.command, self.log, self.port = name, list(command), log, port
        self.patience, self.env, self._popen = patience, env, popen
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env={**os.environ, **(self.env or {})}, **self._popen)
        try:
            wait_until(self._up, self.patience, f"{self.name} answers")
        except BaseException:
            self.kill()
            raise

    def _up(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n"
                               + self.log.read_text(errors="replace")[-3000:])
        return self.ready()

    def ready(self) -> bool:
        """Does it answer?"""
        return listening(self.port)

    def kill(self) -> None:
        """SIGKILL, no goodbye."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end; after ten seconds kill it."""
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        if self.process is None:
            return
        try:
            # the group was made for it: whatever it started ends with it
            os.killpg(self.process.pid, number)
            self.process.wait(timeout=10)
        except ProcessLookupError:
            pass
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=10)
