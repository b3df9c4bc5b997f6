"""All connections together: how many there may be, who gives way, and who took too long.

A new connection is always let in if some other one can give way: the one that has waited longest
without a whole request, first of those that never sent one.  So idle or half-open connections,
however many, take nobody's place who has something to say.  Where all are at work, a new one is a
guest for a moment: it may ask for ``/health`` and ``/metrics``.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

__all__ = ["MOST_GUESTS", "Crowd", "Member", "Stage"]

MOST_GUESTS = 64


class Stage(IntEnum):
    """What a connection is about; the lower ones give way first."""

    SILENT = 0  # has never sent a whole request
    LEAVING = 1  # has had its last answer
    IDLE = 2  # has sent a request, and sends nothing now
    HEAD = 3  # has, and sends the next one
    BODY = 4
    BUSY = 5  # its request is being worked on


class Member(Protocol):
    """A connection as the crowd sees it."""

    address: str
    since: float  # when it came to its stage
    deadline: float
    guest: bool  # there was no room for it: it may only ask how the gateway is

    @property
    def stage(self) -> Stage:
        """What it is about."""

    def give_way(self, reason: str) -> None:
        """End it at once."""

    def overdue(self) -> None:
        """Its deadline has passed."""

    def go_on_reading(self) -> None:
        """It was asked to wait, and need not any more."""

    def shake_hands(self) -> None:
        """It is its turn to go on with its TLS handshake."""


@dataclass
class Counts:
    """What became of connections."""

    opened: int = 0
    gave_way: int = 0
    refused: int = 0
    overdue: int = 0


@dataclass
class _Address:
    members: dict[Member, None] = field(default_factory=dict)
    silent: dict[Member, None] = field(default_factory=dict)


class Crowd:
    """The connections of a gateway.

    Parameters
    ----------
    most
        Connections at the same time.
    most_each
        Connections of one address at the same time.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        # dictionaries keep the order of arrival: the first silent one has been silent longest
        self.members: dict[Member, None] = {}
        self._silent: dict[Member, None] = {}
        self._guests: dict[Member, None] = {}
        self._of: defaultdict[str, _Address] = defaultdict(_Address)
        self.counts = Counts()

    def join(self, member: Member) -> None:
        """Let a connection in; another one gives way where that is needed, else it is a guest."""
        own = self._of[member.address]
        if ((len(own.members) >= self._most_each and not self._make_room(own.members, own.silent))
                or (len(self.members) >= self._most
                    and not self._make_room(self.members, self._silent))):
            self.counts.refused += 1
            member.guest = True
            if len(self._guests) >= MOST_GUESTS:
                first = next(iter(self._guests))
                self.leave(first)
                first.give_way("others are waiting")
            self._guests[member] = None
            return
        own = self._of[member.address]  # the last one of an address may just have given way
        for among in (self.members, self._silent, own.members, own.silent):
            among[member] = None
        self.counts.opened += 1

    def spoke(self, member: Member) -> None:
        """A connection has sent a whole request."""
        self._silent.pop(member, None)
        self._of[member.address].silent.pop(member, None)

    def leave(self, member: Member) -> None:
        """A connection is gone."""
        self._guests.pop(member, None)
        own = self._of[member.address]
        for among in (self.members, self._silent, own.members, own.silent):
            among.pop(member, None)
        if not own.members:
            del self._of[member.address]

    def _make_room(self, among: dict[Member, None], silent: dict[Member, None]) -> bool:
        first = next(iter(silent), None)
        if first is None:
            first = min(among, key=lambda member: (member.stage, member.since))
            if first.stage is Stage.BUSY:
                return False
        self.counts.gave_way += 1
        self.leave(first)
        first.give_way("others are waiting")
        return True

    def sweep(self) -> None:
        """End what took too long."""
        now = time.monotonic()
        late = [m for m in (*self.members, *self._guests) if m.deadline < now]
        for member in late:
            self.counts.overdue += 1
            member.overdue()
