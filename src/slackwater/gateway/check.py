"""Bodies are checked here if they are small, else in a process of its own.

What is checked here holds up the event loop for a few milliseconds at most.  Of the others the
small ones go first, so that a few senders of large bodies do not slow down everybody; a large one
waits its turn, not for ever.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import asdict, dataclass

import orjson

from slackwater.gateway.admit import BadBody, Rules, TooMany, admit
from slackwater.gateway.check_process import ANSWER, JOB, receive
from slackwater.gateway.store import Packed

__all__ = ["Checked", "Checker", "Unchecked", "is_small"]

_log = logging.getLogger("slackwater.gateway")
_SMALL, _FEW = 64 << 10, 4096
_BYTES_PER_SECOND = 10e6  # a body waits as if it took this long: the small ones pass
_PATIENCE = 30.0
_ATTEMPTS, _PAUSE = 3, 0.5  # of a process that dies, and before it is started again


class Unchecked(Exception):  # noqa: N818
    """Nothing is known of a body: checking it took too long, or the process for that died."""


def is_small(body: bytes, *, lines: bool) -> bool:
    """Whether a body can be checked at once: few bytes, and few events whatever they are."""
    if len(body) > _SMALL:
        return False
    if lines:
        return body.count(b"\n") <= _FEW
    return body.count(b",") + body.count(b"[") + body.count(b"{") <= _FEW


@dataclass(frozen=True)
class Checked:
    """What was found in a body."""

    events: list[bytes] | Packed
    refused: list[tuple[int, str]]
    refused_count: int = 0
    too_large: int = 0

    @property
    def count(self) -> int:
        """How many events there were."""
        return len(self.events) + self.refused_count


class Checker:
    """Looks at bodies by the rules.

    Parameters
    ----------
    rules
        What an event must be.
    most
        Events that are taken at once.
    """

    def __init__(self, rules: Rules, most: int) -> None:
        self._rules, self._most = rules, most
        self._jobs: list[tuple[float, int, bytes, bool, Future[Checked]]] = []
        self._numbers = itertools.count()
        self._wake = threading.Condition()
        self._closing = False
        self._process: subprocess.Popen[bytes] | None = None
        self._plug: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="gateway-check", daemon=True)
        self._thread.start()

    def at_once(self, body: bytes, *, lines: bool = False) -> Checked:
        """Check a small body here.

        Raises
        ------
        BadBody, TooMany
            If it cannot be cut into events, or into too many.
        """
        found = admit(body, self._rules, lines=lines, most=self._most)
        return Checked(found.events, found.refused, found.refused_count, found.too_large)

    def submit(self, body: bytes, *, lines: bool = False) -> Future[Checked]:
        """Check a large body in the other process.

        The future raises what `at_once` would, or `Unchecked`.
        """
        future: Future[Checked] = Future()
        due = time.monotonic() + len(body) / _BYTES_PER_SECOND
        with self._wake:
            if self._closing:
                future.set_exception(Unchecked("the gateway is stopping"))
                return future
            heapq.heappush(self._jobs, (due, next(self._numbers), body, lines, future))
            self._wake.notify()
        return future

    def check(self, body: bytes, *, lines: bool = False) -> Checked:
        """Check a body of any size, and wait for it."""
        if is_small(body, lines=lines):
            return self.at_once(body, lines=lines)
        return self.submit(body, lines=lines).result()

    def close(self) -> None:
        """End the process; what waits is refused."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        self._end()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._jobs or self._closing)
                if self._closing:
                    for *_, waiting in self._jobs:
                        waiting.set_exception(Unchecked("the gateway is stopping"))
                    return
                *_, body, lines, future = heapq.heappop(self._jobs)
            try:
                future.set_result(self._asked(body, lines))
            except Exception as error:  # whatever it was, nobody must wait for ever
                future.set_exception(error)
            del body, future

    def _asked(self, body: bytes, lines: bool) -> Checked:
        """Ask, and again where the process died: that need not be this body's doing."""
        problem: Exception | None = None
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE * (attempt - 1))
            try:
                return self._ask(body, lines)
            except (BadBody, TooMany):
                raise
            except Exception as error:
                self._end()
                problem = error
                if isinstance(error, TimeoutError):
                    break
        _log.error("a body of %d bytes could not be checked: %r", len(body), problem)
        raise Unchecked("it could not be checked now")

    def _ask(self, body: bytes, lines: bool) -> Checked:
        plug = self._plug or self._start()
        plug.sendall(JOB.pack(lines, self._most, len(body)))
        plug.sendall(body)
        summary, lengths, size = ANSWER.unpack(receive(plug, ANSWER.size))
        found = orjson.loads(receive(plug, summary))
        packed = bytes(receive(plug, lengths))
        payload = bytes(receive(plug, size))
        if found["problem"] is not None:
            kind, text = found["problem"]
            raise TooMany(text) if kind == "many" else BadBody(text)
        return Checked(Packed(payload, packed), [tuple(one) for one in found["refused"]],
                       found["refused_count"], found["too_large"])

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "slackwater.gateway.check_process", str(theirs.fileno()),
                 orjson.dumps(asdict(self._rules)).decode()],
                stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        ours.settimeout(_PATIENCE)
        self._plug = ours
        return ours

    def _end(self) -> None:
        if self._plug is not None:
            self._plug.close()
            self._plug = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
