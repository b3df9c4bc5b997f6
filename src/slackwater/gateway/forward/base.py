"""What all brokers have in common: how much may wait for them, and what is said meanwhile."""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from slackwater.gateway.store import Appended, Backlogged, LogFailed, Packed, Unkeepable

__all__ = ["Done", "Forward", "largest_event"]

_MOST_WAITING = 32 << 20
_BESIDE_AN_EVENT = 72 << 10  # what a broker counts with it: fields, a topic of MQTT


def largest_event(message: int) -> int:
    """Bytes of an event that surely fit into a message of a broker."""
    return max(message - _BESIDE_AN_EVENT, message // 2)


class Done(Protocol):
    """Told once what became of some events."""

    def __call__(self, problem: str | None, *, for_good: bool = False) -> None:
        """All are kept if there is no problem; `for_good`: sending them again does not help."""


class Forward(ABC):
    """A store that is a broker.

    A thread of its own hands the events to the broker's client, which may wait: those who append
    do not.  It starts with the first of them.

    Parameters
    ----------
    shown
        Its address without secrets.
    largest
        Bytes of an event that the broker can take, as far as that is known.
    """

    def __init__(self, shown: str, largest: int) -> None:
        self.shown, self.largest = shown, largest
        self._lock = threading.Lock()
        self._waiting = 0
        self._away: str | None = None
        self._number = 0
        self._jobs: queue.SimpleQueue[
            tuple[Sequence[bytes] | Packed, int, Sequence[int] | None, Done] | None
        ] = queue.SimpleQueue()
        self._sender = threading.Thread(target=self._send_all, name="gateway-forward", daemon=True)

    @property
    def failed(self) -> str | None:
        """Never: a broker that is away may come back."""
        return None

    @property
    def warning(self) -> str | None:
        """That the broker cannot be reached, or None."""
        return self._away

    @property
    def refusing(self) -> str | None:
        """Why nothing is taken now, or None."""
        if self._waiting > _MOST_WAITING:
            return "the broker is slower than what comes in"
        # one request at a time may still find out that it is back
        return self._away if self._waiting else None

    def append(self, payloads: Sequence[bytes] | Packed, tags: Sequence[int] | None = None
               ) -> Future[Appended]:
        """Send the events; the future is done when the broker has every one of them.

        An error means that some of them may be there all the same.
        """
        if (reason := self.refusing) is not None:
            raise Backlogged(reason, step="forward", hint="send it again later")
        count = len(payloads)
        size = 100 * count + (len(payloads.payload) if isinstance(payloads, Packed)
                              else sum(map(len, payloads)))
        with self._lock:
            self._waiting += size
            first, self._number = self._number, self._number + count
            if self._sender.ident is None:
                self._sender.start()
        future: Future[Appended] = Future()
        future.set_running_or_notify_cancel()

        def done(problem: str | None, *, for_good: bool = False) -> None:
            with self._lock:
                self._waiting -= size
            if problem is None:
                self._away = None
                future.set_result(Appended(first, count))
            else:
                kind = Unkeepable if for_good else LogFailed
                future.set_exception(kind(problem, step="forward"))

        self._jobs.put((payloads, first, tags, done))
        return future

    def close(self) -> None:
        """Wait for what is under way, and let go."""
        self._jobs.put(None)
        if self._sender.ident is not None:
            self._sender.join()
        self._close()

    def _send_all(self) -> None:
        while (job := self._jobs.get()) is not None:
            payloads, first, tags, done = job
            try:
                if events := list(payloads):
                    self._send(events, first, tags, done)
                else:
                    done(None)
            except Exception as error:
                done(f"the broker's client refuses: {error}")
            del job, payloads, tags, done

    @abstractmethod
    def _send(self, events: list[bytes], first: int, tags: Sequence[int] | None,
              done: Done) -> None:
        """Send events that have the numbers from `first` on; call `done` once, with a problem."""

    @abstractmethod
    def _close(self) -> None:
        """Wait for what the broker's client has under way, and let go of it."""
