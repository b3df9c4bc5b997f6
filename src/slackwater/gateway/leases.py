"""How long a reader that is gone holds retention back.

A reader is alive while a process holds its lock, or its position moves.  Time without either is
counted while the gateway runs, by a clock that cannot be set, and kept over its restarts.  When it
reaches the lease the reader is forgotten; sooner, if another reader of the same name took its
place: a pipeline that was restarted while its earlier run still hung goes on as ``name~2``.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from slackwater.gateway.places import Place
from slackwater.gateway.slots import is_held, remove_reader

__all__ = ["Leases", "away"]

_log = logging.getLogger("slackwater.gateway")
_REPLACED = 600.0
_LOOK_EVERY, _MOST_AT_ONCE = 5.0, 300.0


class Leases:
    """Counts how long each reader has been away.

    Parameters
    ----------
    folder
        The log.
    lease
        Seconds after which a reader that is away is forgotten; None: never.
    kept
        Readers that are waited for without end.
    """

    def __init__(self, folder: Path, lease: float | None, kept: Collection[str] = ()) -> None:
        self._folder, self._lease, self._kept = folder, lease, frozenset(kept)
        self._looked = time.monotonic()
        self._places: dict[str, Place] = {}
        self.away: dict[str, float] = away(folder)
        self._noted = {name: round(seconds) for name, seconds in self.away.items()}

    def look(self, found: dict[str, Place], *, now: float | None = None) -> None:
        """Count on, and forget readers whose lease has ended; removes them from `found`."""
        now = time.monotonic() if now is None else now
        passed = now - self._looked
        if passed < _LOOK_EVERY:
            return
        self._looked = now
        # of a gateway that stood still nobody knows who read meanwhile
        passed = min(passed, _MOST_AT_ONCE)
        alive = {name for name in found if is_held(self._folder, name)}
        self.away = {
            name: self.away.get(name, 0.0) + passed
            if name not in alive and self._stayed(name, place) else 0.0
            for name, place in found.items()}
        self._places = dict(found)
        for name in self._ended(alive):
            if not remove_reader(self._folder, name, patience=0):
                continue  # it has just come back
            _log.warning("%s: the reader %r has been away for %.0f s and is forgotten; what it has "
                         "not read is no longer kept for it", self._folder, name, self.away[name])
            del found[name], self.away[name]
        self._keep({name: round(seconds) for name, seconds in self.away.items() if seconds})

    def _keep(self, note: dict[str, int]) -> None:
        """Note for the next run who has been away for how long."""
        if note == self._noted:
            return
        file = self._folder / "readers" / ".leases"
        draft = file.with_name(f".leases.{os.getpid()}")
        with suppress(OSError):  # a full disk must not keep retention from making room
            draft.write_text(json.dumps(note))
            draft.replace(file)
            self._noted = note

    def _stayed(self, name: str, place: Place) -> bool:
        """Whether the reader was there before, at the same place."""
        if name in self._places:
            return self._places[name] == place
        return name in self.away  # counted by the gateway's last run

    def _ended(self, alive: set[str]) -> list[str]:
        if self._lease is None:
            return []
        replaced = {name.partition("~")[0] for name in alive}
        return [name for name, seconds in self.away.items() if name not in self._kept and seconds
                > (min(_REPLACED, self._lease) if name.partition("~")[0] in replaced
                   else self._lease)]


def away(folder: Path) -> dict[str, float]:
    """Seconds that each reader has been away, as the gateway last counted them."""
    try:
        found = json.loads((folder / "readers" / ".leases").read_text())
        return {str(name): float(seconds) for name, seconds in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
