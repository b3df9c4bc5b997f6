"""The time of arrival: the system's clock, as far as it can be believed.

A steady clock that nobody can set runs beside it.  While both agree, the system's clock is followed
in small steps.  A jump is not followed: time goes on by the steady clock, somebody is told, and
when the system's clock comes back it is followed again.  A jump of less than a month that stays is
believed after a while, for the clock of a board that slept was wrong before, not after.

The last time that was believed is kept in a file together with the steady clock, so that a restart
during a jump is no way around this; after a reboot the system's clock is believed again.  Where it
is then far ahead of the last event it is believed with doubt: for an hour nothing is taken for old
by it, and if it is set back meanwhile, and stays, that is followed.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["STEP", "Clock", "system_micros"]

_log = logging.getLogger("slackwater.gateway")
STEP = 60_000_000  # µs; a larger step at once is a jump
_FAR = 30 * 86_400_000_000
_SETTLED = 600_000_000
_DOUBTED = 3_600_000_000
# a clock that shows less has never been set; whatever it jumps to is better
_NEVER_SET = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1e6)
_NOTE_EVERY = 10_000_000


def system_micros() -> int:
    """The system's clock in microseconds UTC."""
    return time.time_ns() // 1000


def _steady_micros() -> int:
    # CLOCK_BOOTTIME goes on while the machine sleeps, and is the same for every process
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1000


class Clock:
    """Time of arrival in microseconds UTC; one thread at a time.

    Parameters
    ----------
    note
        File that keeps the believed time over restarts; None: it is not kept.
    wall, steady
        The system's clock, and one that cannot be set.
    trust
        Believe the system's clock now, whatever the file says.
    seen
        The last time that is known from before; 0: none is.
    """

    def __init__(self, note: Path | None = None, *, wall: Callable[[], int] = system_micros,
                 steady: Callable[[], int] = _steady_micros, trust: bool = False,
                 seen: int = 0) -> None:
        self._wall, self._steady, self._note = wall, steady, note
        self._at, self._at_steady = wall(), steady()
        self._off = 0  # how far the system's clock is from what is believed
        self._off_since: int | None = None
        self._noted = self._at_steady - _NOTE_EVERY
        kept = None if trust else self._kept()
        if kept is not None:
            self._at, self._at_steady = kept
        self.seen = seen
        self._doubted_until: int | None = None
        if kept is None and not trust and seen and self._at - seen > _FAR:
            self._doubted_until = self._at_steady + _DOUBTED
            _log.error("%s", self.problem)

    @property
    def doubted(self) -> bool:
        """Whether the clock is far ahead of all that is known from before."""
        return self._doubted_until is not None

    @property
    def off(self) -> int:
        """By how much the system's clock is not believed; 0 if it is."""
        return self._off if self._off_since is not None else 0

    @property
    def problem(self) -> str | None:
        """What to tell whoever looks after the machine, or None."""
        if self._off_since is None:
            return None if self._doubted_until is None else (
                f"the system's clock is {(self._at - self.seen) / 86_400e6:.0f} days ahead of the "
                "last event; set it right if it is wrong")
        return (f"the system's clock jumped by {self._off / 1e6:+.0f} s and is not followed; "
                "set it right, or restart with --trust-clock if it is right now")

    def now(self) -> int:
        """The time that is believed."""
        wall, steady = self._wall(), self._steady()
        if self._doubted_until is not None and steady > self._doubted_until \
                and self._off_since is None:
            self._doubted_until = None
        believed = self._at + steady - self._at_steady
        off = wall - believed
        if abs(off) <= STEP or believed < _NEVER_SET <= wall:
            if self._off_since is not None:
                _log.warning("the system's clock is back and followed again")
            return self._follow(wall, steady)
        if self._off_since is None or abs(off - self._off) > STEP:
            self._off, self._off_since = off, steady
            _log.error("%s", self.problem)
        elif steady - self._off_since >= _SETTLED and (
                abs(off) <= _FAR or (self.doubted and self.seen <= wall < believed)):
            self._doubted_until = None
            _log.warning("the system's clock stayed where it jumped to (%+.0f s): followed from "
                         "now on", off / 1e6)
            return self._follow(wall, steady)
        return believed

    def due_note(self) -> str | None:
        """What `keep` is to write for the next run, if some time has passed since the last note."""
        steady = self._steady()
        if self._note is None or steady - self._noted < _NOTE_EVERY:
            return None
        self._noted = steady
        believed = self._at + steady - self._at_steady
        return json.dumps({"boot": _boot(), "micros": believed, "steady": steady})

    def keep(self, note: str | None) -> None:
        """Write a note; takes as long as the disk does, and may run while others ask the time."""
        if self._note is None or note is None:
            return
        draft = self._note.with_name(f".{self._note.name}.{os.getpid()}")
        with suppress(OSError):  # on a full disk the last note has to do
            draft.write_text(note)
            draft.replace(self._note)

    def _follow(self, wall: int, steady: int) -> int:
        self._at, self._at_steady, self._off_since = wall, steady, None
        return wall

    def _kept(self) -> tuple[int, int] | None:
        if self._note is None:
            return None
        try:
            found = json.loads(self._note.read_text())
            if not _boot() or found["boot"] != _boot() or int(found["steady"]) > self._at_steady:
                return None
            return int(found["micros"]), int(found["steady"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
