"""What all connections share: memory for bodies, and the event loop's time."""

from __future__ import annotations

import time
from collections.abc import Callable

from slackwater.gateway.http.crowd import Member, Stage

__all__ = ["Handshakes", "Intake", "Room"]


class Room:
    """Memory for bodies that are not kept yet.

    Parameters
    ----------
    size
        Bytes in all; small bodies may use a quarter more, so that large ones cannot crowd them out.
    """

    _SMALL = 1 << 20
    _PATIENCE, _SLOW = 1.0, 32 << 10  # seconds, bytes per second

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[Member, int] = {}
        self.used = 0

    def grow(self, member: Member, size: int) -> bool:
        """Let a body grow to `size` bytes, if need be at the cost of one that comes too slowly."""
        held = self._held.get(member, 0)
        most = self._size + (self._size // 4 if size <= self._SMALL else 0)
        while self.used + size - held > most:
            slowest = self._slowest(member)
            if slowest is None:
                return False
            self.free(slowest)
            slowest.give_way("its body came too slowly while others were waiting")
        self._held[member] = size
        self.used += size - held
        return True

    def free(self, member: Member) -> None:
        """A body is no longer held."""
        self.used -= self._held.pop(member, 0)

    def _slowest(self, but: Member) -> Member | None:
        now = time.monotonic()
        slow = {member: size / (now - member.since) for member, size in self._held.items()
                if member.stage is Stage.BODY and member is not but
                and now - member.since > self._PATIENCE}
        slowest = min(slow, key=lambda member: slow[member], default=None)
        return slowest if slowest is not None and slow[slowest] < self._SLOW else None


class Intake:
    """How fast large bodies are read: slower while others send small ones.

    Without it a few senders of large bodies would keep the event loop busy with reading alone.
    """

    _FREE = 256 << 10  # of each body
    _ALONE, _BESIDE, _BURST = 256 << 20, 32 << 20, 16 << 20  # bytes per second, and at once
    _BESIDE_SECONDS = 1.0

    def __init__(self) -> None:
        self._left, self._looked = float(self._BURST), time.monotonic()
        self._beside_until = 0.0
        self._waiting: dict[Member, None] = {}

    @property
    def beside(self) -> bool:
        """Whether others send small bodies now."""
        return time.monotonic() < self._beside_until

    def small(self, size: int) -> None:
        """A body was taken whole; if it is a small one, large ones slow down for a while."""
        if size <= self._FREE:
            self._beside_until = time.monotonic() + self._BESIDE_SECONDS

    def take(self, member: Member, size: int, read: int) -> bool:
        """Count bytes of a body that is `size` long so far; False if its sender has to wait."""
        if size <= self._FREE:
            return True
        self._left -= read
        if self._left > 0:
            return True
        self._waiting[member] = None
        return False

    def refill(self) -> None:
        """Time has passed: those who waited go on, as far as it goes."""
        now = time.monotonic()
        rate = self._BESIDE if self.beside else self._ALONE
        self._left = min(self._left + (now - self._looked) * rate, self._BURST)
        self._looked = now
        if self._left > 0:
            for member in list(self._waiting)[:max(int(self._left) >> 16, 1)]:
                del self._waiting[member]
                member.go_on_reading()


class Handshakes:
    """Whose TLS handshake is next: the most expensive thing that a stranger can ask for.

    Without it a few hundred strangers would keep the event loop busy with nothing else.  Addresses
    take turns, so that a single one with many connections keeps nobody else waiting.

    Parameters
    ----------
    beside
        Whether others send events now.
    """

    _ALONE, _BESIDE, _BURST = 0.8, 0.25, 0.02  # shares of the loop's time, and seconds at once

    def __init__(self, beside: Callable[[], bool]) -> None:
        self._beside = beside
        self._left, self._looked = self._BURST, time.monotonic()
        self._waiting: dict[str, dict[Member, None]] = {}

    def ask(self, member: Member) -> None:
        """Let a connection go on now, or when it is its turn."""
        self._waiting.setdefault(member.address, {})[member] = None
        self._work()

    def leave(self, member: Member) -> None:
        """A connection is gone."""
        waiting = self._waiting.get(member.address, {})
        waiting.pop(member, None)
        if not waiting:
            self._waiting.pop(member.address, None)

    def refill(self) -> None:
        """Time has passed: those who waited go on, as far as it goes."""
        now, share = time.monotonic(), self._BESIDE if self._beside() else self._ALONE
        self._left = min(self._left + (now - self._looked) * share, self._BURST)
        self._looked = now
        self._work()

    def _work(self) -> None:
        while self._left > 0 and self._waiting:
            address = next(iter(self._waiting))
            members = self._waiting.pop(address)
            first = next(iter(members))
            del members[first]
            if members:
                self._waiting[address] = members  # behind the other addresses
            begun = time.monotonic()
            first.shake_hands()
            self._left -= time.monotonic() - begun
