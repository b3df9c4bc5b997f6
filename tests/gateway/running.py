"""A real gateway process for the tests, on a free port of the loopback interface."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx

COMMAND = [sys.executable, "-c", "from slackwater.cli import main; main()", "gateway"]


class Running:
    """`url` is where it listens; `kill` is SIGKILL, `stop` is SIGTERM."""

    def __init__(self, log: Path | None, *options: str, env: dict[str, str] | None = None,
                 wrapper: tuple[str, ...] = ()) -> None:
        self.log = log
        self.process = subprocess.Popen(
            [*wrapper, *COMMAND, *([] if log is None else ["--log", str(log)]),
             "--http", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **(env or {})})
        self.errors: list[str] = []
        lines: queue.Queue[str] = queue.Queue()
        self._threads = [
            threading.Thread(target=_pass_on, args=(self.process.stdout, lines), daemon=True),
            threading.Thread(target=self.errors.extend, args=(self.process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        try:
            self.said = lines.get(timeout=60)
        except queue.Empty:
            self.said = ""
        if not self.said:
            self.kill()
            raise RuntimeError("".join(self.errors))
        self.url = self.said.split()[2]

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        for thread in self._threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode

    def post(self, content: bytes, kind: str = "application/json", **extra) -> httpx.Response:
        headers = {"content-type": kind, **extra.pop("headers", {})}
        return self._ask("POST", "/events", content=content, headers=headers, **extra)

    def get(self, path: str, **extra) -> httpx.Response:
        return self._ask("GET", path, **extra)

    def _ask(self, method: str, path: str, **extra) -> httpx.Response:
        # reading the system's certificates for every plain request would take most of the time
        trusted = extra.pop("verify", self.url.startswith("https"))
        return httpx.request(method, f"{self.url}{path}", timeout=60, verify=trusted, **extra)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _pass_on(stream, lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")
