"""Checks a log's closed segments in the background, so that a large log does not delay the start.

The segments' headers, their order and the last segment were checked before.  What is found here
cannot be mended; it is said in the log file, in ``/health`` and in a metric, and a reader that gets
there is told as well.
"""

from __future__ import annotations

import logging
import threading
import time

from slackwater.core.errors import DataError
from slackwater.gateway.log import Log
from slackwater.gateway.segments import verify

__all__ = ["Verifier"]

_log = logging.getLogger("slackwater.gateway")


class Verifier:
    """Goes through the segments that a log had when it was opened, newest first.

    Parameters
    ----------
    log
        The open log; damage is added to its `damaged`.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._left = log.segments[:-1]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gateway-verify", daemon=True)

    @property
    def left(self) -> int:
        """Segments that are still to be checked."""
        return len(self._left)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, checked or not."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while self._left:
            segment = self._left[-1]
            begun = time.monotonic()
            try:
                verify(segment)
            except FileNotFoundError:
                pass  # retention was faster
            except (DataError, OSError) as error:
                problem = error.problem if isinstance(error, DataError) else str(error)
                _log.error("%s: %s", segment.path, problem)
                self._log.damaged.append(problem)
            self._left.pop()
            # half of the time at most: those who send now come first
            if self._stop.wait(min(time.monotonic() - begun, 1.0)):
                return
