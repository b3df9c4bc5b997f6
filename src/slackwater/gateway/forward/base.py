"""What all brokers have in common: how much may wait for them, and what is said meanwhile."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from slackwater.gateway.store import Appended, Backlogged, LogFailed, Packed

__all__ = ["Done", "Forward"]

Done = Callable[[str | None], None]
_MOST_WAITING = 32 << 20


class Forward(ABC):
    """A store that is a broker.

    Parameters
    ----------
    shown
        Its address without secrets.
    """

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self._lock = threading.Lock()
        self._waiting = 0
        self._away: str | None = None
        self._number = 0

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
        events = list(payloads)
        size = sum(map(len, events)) + 100 * len(events)
        with self._lock:
            self._waiting += size
            first, self._number = self._number, self._number + len(events)
        future: Future[Appended] = Future()
        future.set_running_or_notify_cancel()

        def done(problem: str | None) -> None:
            with self._lock:
                self._waiting -= size
            if problem is None:
                self._away = None
                future.set_result(Appended(first, len(events)))
            else:
                future.set_exception(LogFailed(problem, step="forward"))

        if not events:
            done(None)
            return future
        try:
            self._send(events, first, tags, done)
        except Exception as error:
            done(f"the broker's client refuses: {error}")
        return future

    @abstractmethod
    def _send(self, events: list[bytes], first: int, tags: Sequence[int] | None,
              done: Done) -> None:
        """Send events that have the numbers from `first` on; call `done` once, with a problem."""

    @abstractmethod
    def close(self) -> None:
        """Wait for what is under way, and let go."""
